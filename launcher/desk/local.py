"""The rehearsal's first address, `python -m launcher.desk.local`."""

from __future__ import annotations

import runpy

if __name__ == "__main__":
    runpy.run_module("launcher.desk.rehearsal.local", run_name="__main__", alter_sys=True)
