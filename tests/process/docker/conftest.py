"""The tree that brings the launcher into images: made once, where one of these tests runs."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support import brought


@pytest.fixture(scope="session")
def tree() -> Iterator[Path]:
    """Give the tree, in a directory that every user may enter."""
    top = Path(tempfile.mkdtemp(prefix="brought-"))
    top.chmod(0o755)
    yield brought.make_tree(top)
    shutil.rmtree(top)


@pytest.fixture(scope="session")
def alone(tree: Path) -> Path:
    """Give the static program beside it."""
    return brought.make_alone(tree.parent / "alone")


@pytest.fixture(scope="session")
def broken(tree: Path) -> Path:
    """Give a library that no program survives."""
    return brought.make_broken_library(tree.parent / "libbroken.so")
