#!/usr/bin/env python
"""Becomes the launcher, wherever it is installed; any Python, also 2.7, can run this file.

`python /root/start_paddle.py --dot_period=10 ...` is what existing manifests and scripts say.
"""

# ruff: noqa: PTH100, PTH120, RUF005  # neither pathlib nor unpacking is in Python 2.7

import os
import sys

INSTALLED = "/opt/launcher/bin/start_paddle"

# What lies beside this file is the job's: no module of it is to be taken for one of the launcher's.
here = os.path.dirname(os.path.abspath(__file__))
sys.path = [path for path in sys.path if os.path.abspath(path) != here]

for program in (INSTALLED, "start_paddle"):
    try:
        os.execvp(program, [program] + sys.argv[1:])
    except OSError:
        continue  # it is not there

try:
    from importlib.util import find_spec

    found = find_spec("launcher") is not None
except ImportError:
    found = False
if found:
    os.execv(sys.executable, [sys.executable, "-EP", "-m", "launcher.pod"] + sys.argv[1:])

sys.stderr.write(
    "start_paddle.py: the launcher is not installed: expected " + INSTALLED + ", or start_paddle on PATH, "
    "or the package paddle-launcher in " + sys.executable + "\n"
)
sys.exit(71)
