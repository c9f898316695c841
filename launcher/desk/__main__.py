"""`python -m launcher.desk` is `paddlectl`."""

from __future__ import annotations

import sys

from launcher.desk.cli import main

if __name__ == "__main__":
    sys.exit(main())
