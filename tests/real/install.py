"""The Pythons that these tests train in, as `make demo` installs the one with Paddle 2.6.2.

python -m tests.real.install [EXTRA ...]     installs those that tests need, or these, and prints their paths
"""

from __future__ import annotations

import sys
from pathlib import Path

from launcher.desk.rehearsal import python_env
from launcher.desk.rehearsal.python_env import PADDLE, Environment
from launcher.desk.rehearsal.python_env import NotHere as NotHere
from launcher.desk.terminal import ProgressLine

FRAMEWORKS = Environment(
    extra="frameworks",
    title="JAX, LightGBM, Paddle 3 and XGBoost",
    first="paddlepaddle 3.3.1",
    imports=("jax", "lightgbm", "paddle", "xgboost"),
    pythons=(11, 12, 13),
    download=330e6,
    stays=1430e6,
    machines=("x86_64",),
)
LARGE = Environment(
    extra="large-frameworks",
    title="torch and TensorFlow",
    first="torch 2.15.0",
    imports=("torch", "tensorflow"),
    pythons=(11, 12, 13),
    download=3000e6,
    stays=7000e6,
    machines=("x86_64",),
)
OF_IMAGES = "python3.11"
ALL = (PADDLE, FRAMEWORKS, LARGE)


def python(environment: Environment = PADDLE) -> Path:
    """Return it, installed if need be."""
    return python_env.python(environment, ProgressLine(sys.stderr))


def packages(environment: Environment) -> Path:
    """Return the directory of its packages, for a pod of the images, which have one Python."""
    (found,) = python(environment).parents[1].glob("lib/python3.*/site-packages")
    if found.parent.name != OF_IMAGES:
        raise NotHere(f"the packages are {found.parent.name}'s, and the image has {OF_IMAGES}")
    return found


if __name__ == "__main__":
    try:
        for each in ALL:
            if each.extra in (sys.argv[1:] or (PADDLE.extra, FRAMEWORKS.extra)):
                print(python(each))
    except NotHere as error:
        sys.exit(str(error))
