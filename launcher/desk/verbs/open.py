"""`paddlectl open`: the page of a gang's leader, in a browser of this machine."""

from __future__ import annotations

import sys
import threading
import webbrowser
from argparse import ArgumentParser, Namespace

from launcher.desk.arguments import flag, of_one_job, whole
from launcher.desk.errors import Problem
from launcher.desk.jobs import lookup
from launcher.desk.live.page_server import LeaderPages, PageServer
from launcher.desk.session import Desk

EXAMPLES = """\
  paddlectl open my-job                    until Ctrl-C; the page renews itself
  paddlectl open -no-browser my-job        only prints the address
  paddlectl open -port 8080 my-job         at a port of one's own, as for `ssh -L 8080:localhost:8080`"""


def arguments(parser: ArgumentParser) -> None:
    """Add which job, and how it is shown."""
    of_one_job(parser)
    flag(parser, "no-browser", action="store_true", help="only print the address")
    flag(parser, "port", type=whole(0, 65535), default=0, metavar="PORT", help="of this machine (any that is free)")


def run(given: Namespace, desk: Desk) -> int:
    """Serve the leader's pages on this machine until Ctrl-C."""
    gang = lookup.found(desk.api, given.job)
    if gang.over:
        raise Problem(f"{gang.told()}, and nobody leads it any more: `paddlectl report {given.job}` makes its page")
    try:
        server = PageServer(LeaderPages(desk.api, given.job), given.port)
    except OSError as error:
        raise Problem(f"-port {given.port}: {error.strerror}: expected another port, or none") from None
    with server:
        desk.terminal.out(f"{server.address}\n")
        desk.terminal.note(
            f"the page of the leader of job {given.job}, also /gang, /metrics and /readyz; until Ctrl-C"
        )
        if not given.no_browser and _has_screen(desk):
            threading.Thread(target=webbrowser.open, args=(server.address,), daemon=True).start()
        server.serve_forever()
    return 0


def _has_screen(desk: Desk) -> bool:
    """Return whether a browser would have a window: one of text would take this terminal."""
    screens = ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER")
    return not sys.platform.startswith("linux") or any(desk.environ.get(name) for name in screens)
