"""A Kubernetes without nodes, for the tests of the desk; started once, where one of them runs."""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.grounds.api.control_plane import ControlPlane, control_plane
from tests.support.desks import User, user


@pytest.fixture(scope="session")
def plane(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    """The control plane that these tests share; each has namespaces of its own."""
    with control_plane(tmp_path_factory.mktemp("plane")) as found:
        yield found


@pytest.fixture
def me(plane: ControlPlane, tmp_path: Path, request: pytest.FixtureRequest) -> User:
    """A user with a namespace named after the test."""
    which = f"{zlib.crc32(request.node.nodeid.encode()):x}"  # two modules may have a test of one name
    return user(plane, tmp_path, re.sub(r"[^a-z0-9]+", "-", request.node.name)[:48].strip("-") + f"-{which}")
