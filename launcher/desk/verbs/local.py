"""`paddlectl local`: a rehearsal on this machine, described here; `paddlectl` hands all its words on."""

from __future__ import annotations

from argparse import ArgumentParser

EXAMPLES = "  paddlectl local --pods 3 --passes 10\n  paddlectl local --help                  its own flags"


def arguments(parser: ArgumentParser) -> None:
    """Leave the flags to the rehearsal."""
    parser.add_argument("flags", nargs="*", help="as for `python -m launcher.desk.local`")
