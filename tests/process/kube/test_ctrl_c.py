"""Ctrl-C at any step of a request or of a follow ends it: none is lost, and none leaves a lock for which the end waits."""

from __future__ import annotations

import ssl
import sys
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from types import FrameType

import pytest
import urllib3

from launcher.desk.jobs.api_calls import Api
from launcher.desk.jobs.logs import Following, Wanted
from launcher.desk.session import Desk, DeskFlags
from launcher.job.values import LogLine
from launcher.kube.server import ApiServer
from launcher.kube.transport import Transport
from tests.support.waiting import wait_until

LIST = b'{"metadata": {"resourceVersion": "1"}, "items": []}'


class _Lists(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Length", str(len(LIST)))
        self.end_headers()
        self.wfile.write(LIST)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, *_: object) -> None:
        """Say nothing of clients that hang up."""


@pytest.fixture
def host() -> Iterator[str]:
    """The address of an API without objects."""
    with _Server(("127.0.0.1", 0), _Lists) as server:
        thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()
        thread.join()


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


@pytest.mark.timeout(60)
@pytest.mark.filterwarnings("ignore::ResourceWarning")  # a process that ends closes no connection that it just took
def test_ctrl_c_at_any_step_of_a_request_ends_it(host: str) -> None:
    ended: list[bool | None] = []
    while not ended or ended[-1] is not None:
        with urllib3.PoolManager(retries=False) as pool:
            server = ApiServer(host=host, pool=pool, bearer=dict, tls=ssl.create_default_context)
            api = Api(namespace="n", transport=Transport(server, agent="test", connect=5, silence=5))
            assert list(api.listed("Pod")) == []  # a connection is there
            ended.append(interrupted(len(ended) + 1, lambda: list(api.listed("Pod"))))  # noqa: B023  # at once
    assert len(ended) > 200
    assert [step for step, end in enumerate(ended[:-1], 1) if not end] == []


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
