"""Real containers under the tests: a Docker daemon of their own, and images without a registry.

`running()` is the daemon; `image_tar()` the project's images as a file, for it or for any other container runtime;
`paddle_tar()` those that have Paddle.
"""

from tests.grounds.docker.daemon import Docker, running
from tests.grounds.docker.images import (
    BASE,
    DATA,
    INIT,
    LAUNCHER,
    PADDLE,
    QUICKSTART,
    STAND_IN,
    image_tar,
    load,
    paddle_tar,
)
from tests.grounds.docker.machine import NotHere, need

__all__ = [
    "BASE",
    "DATA",
    "INIT",
    "LAUNCHER",
    "PADDLE",
    "QUICKSTART",
    "STAND_IN",
    "Docker",
    "NotHere",
    "image_tar",
    "load",
    "need",
    "paddle_tar",
    "running",
]
