"""One Docker daemon for all tests here, with the project's images; skipped with the reason where none can be had."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from tests.grounds.docker import Docker, NotHere, image_tar, load, paddle_tar, running
from tests.grounds.docker.remains import remains, surroundings


@pytest.fixture(scope="package")
def docker() -> Iterator[Docker]:
    """Give a daemon that has the project's images."""
    with ExitStack() as stack:
        try:
            image_tar()
            daemon = stack.enter_context(running())
        except NotHere as error:
            pytest.skip(f"no containers here: {error}")
        before = surroundings()
        load(daemon)
        yield daemon
    assert remains(daemon.directory, daemon.group) == [], "nothing is left of the suite's daemon"
    assert surroundings() == before


@pytest.fixture(scope="package")
def with_paddle(docker: Docker) -> Docker:
    """Give the daemon the images that have Paddle as well."""
    try:
        load(docker, paddle_tar)
    except NotHere as error:
        pytest.skip(f"no Paddle in containers here: {error}")
    return docker
