"""The rehearsal's first address: `python -m launcher.desk.local` is `paddlectl local`."""

from __future__ import annotations

import sys

from launcher.desk.cli import main

if __name__ == "__main__":
    sys.stderr.write("python -m launcher.desk.local is `paddlectl local` now: run that, its flags are the same\n")
    sys.exit(main(("local", *sys.argv[1:])))
