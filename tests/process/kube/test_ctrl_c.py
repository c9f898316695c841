"""Ctrl-C at any step of what the desk asks ends it: none is lost, and none leaves a lock that its end waits for."""

from __future__ import annotations

import gc
import json
import ssl
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import FrameType

import pytest
import urllib3

from launcher.desk.config.datacenters import Storage
from launcher.desk.files.paths import Remote
from launcher.desk.files.visit import had
from launcher.desk.jobs.api_calls import Api
from launcher.desk.jobs.logs import Following, Wanted
from launcher.desk.session import Desk, DeskFlags
from launcher.job.values import LogLine
from launcher.kube.server import ApiServer
from launcher.kube.transport import Transport
from tests.support.serving import served
from tests.support.waiting import wait_until

STATUS = {"phase": "Running", "containerStatuses": [{"state": {"running": {"startedAt": "now"}}}]}
PODS = [{"metadata": {"name": "p"}, "status": STATUS}]
LIST = json.dumps({"metadata": {"resourceVersion": "1"}, "items": PODS}).encode()


class _Lists(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Length", str(len(LIST)))
        self.end_headers()
        self.wfile.write(LIST)

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.do_GET()

    do_DELETE = do_GET  # noqa: N815  # the name that http.server looks for

    def log_message(self, *_: object) -> None:
        """Say nothing."""


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, *_: object) -> None:
        """Say nothing of clients that hang up."""


@pytest.fixture
def host() -> Iterator[str]:
    """The address of an API of one pod, which runs."""
    with served(_Server(("127.0.0.1", 0), _Lists)) as host:
        yield f"http://{host}"


def interrupted(step: int, ask: Callable[[], object]) -> bool | None:
    """Have Ctrl-C at a step of what is asked; return whether that ended it, None where it has fewer steps.

    Python runs the handler of a signal, which raises, where a function begins or one of C has returned.
    """
    steps = 0

    def look(_frame: FrameType, event: str, _what: object) -> None:
        nonlocal steps
        steps += event in ("call", "c_return")
        if steps == step:
            sys.setprofile(None)
            raise KeyboardInterrupt

    try:
        sys.setprofile(look)
        ask()
    except KeyboardInterrupt:
        return True
    finally:
        sys.setprofile(None)
    return None if steps < step else False


@contextmanager
def asking(host: str) -> Iterator[Desk]:
    """A desk that has a connection."""
    with urllib3.PoolManager(retries=False) as pool:
        server = ApiServer(host=host, pool=pool, bearer=dict, tls=ssl.create_default_context)
        desk = Desk(DeskFlags())
        desk.api = Api(namespace="n", transport=Transport(server, agent="test", connect=5, silence=5))
        assert len(list(desk.api.listed("Pod"))) == 1
        yield desk


def have_a_pod(desk: Desk) -> None:
    manifest = {"kind": "Pod", "metadata": {"name": "p"}}
    with had(desk, manifest, Remote(top="/pfs", path="", storage=Storage(), read_only=False, inside=True)):
        pass


@pytest.mark.timeout(60)
@pytest.mark.filterwarnings("ignore::ResourceWarning")  # a process that ends closes no connection that it just took
@pytest.mark.parametrize(
    ("ask", "every"), [(lambda desk: list(desk.api.listed("Pod")), 1), (have_a_pod, 10)], ids=["request", "pod"]
)
def test_ctrl_c_at_any_step_of_a_request_ends_it(host: str, ask: Callable[[Desk], object], every: int) -> None:
    """Or at every tenth of many."""
    with asking(host) as desk:
        ask(desk)  # what it imports is there
    ended: list[bool | None] = []
    while not ended or ended[-1] is not None:
        with asking(host) as desk:
            ended.append(interrupted(every * len(ended) + 1, lambda: ask(desk)))  # at once
    gc.collect()  # those connections, or another test would be warned of them
    assert len(ended) > 200
    assert [every * number + 1 for number, end in enumerate(ended[:-1]) if not end] == []


class _Written(Following):
    """A follow of two lines that are there at once."""

    def _watch(self) -> None:
        for text in ("one", "two"):
            self._hand(LogLine(role="trainer", rank=0, pod="p", text=text))


@pytest.mark.timeout(60)
def test_ctrl_c_at_any_step_of_a_line_that_is_followed_ends_it() -> None:
    ended: list[bool | None] = []
    while not ended or ended[-1] is not None:
        follow = _Written(desk=Desk(DeskFlags()), name="j", wanted=Wanted())
        lines = follow.lines()
        assert next(lines).text == "one"
        wait_until(lambda: follow.found.qsize() == 1)  # noqa: B023  # at once
        ended.append(interrupted(len(ended) + 1, lambda: next(lines)))  # noqa: B023  # at once
    assert len(ended) > 3
    assert all(ended[:-1]), ended
