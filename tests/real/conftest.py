"""What the tests on real parameter servers share: the Python that has Paddle."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.real import install


@pytest.fixture(scope="session")
def paddle_python() -> Path:
    """Return it, installed if need be; where that cannot be, the tests are skipped with the reason."""
    try:
        return install.python()
    except install.NotHere as error:
        pytest.skip(f"no Paddle: {error}")
