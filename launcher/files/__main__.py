"""The copy agent's first address, `python -m launcher.files`, which desks of any version call."""

from __future__ import annotations

import runpy

if __name__ == "__main__":
    runpy.run_module("launcher.transfer", run_name="__main__", alter_sys=True)
