"""`paddlectl open` of real launchers: their leader's pages on this machine, and nothing else."""

from __future__ import annotations

import http.client
import json
import signal
import socket
import subprocess
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from urllib.parse import urlsplit

import psutil
import pytest
from prometheus_client.parser import text_string_to_metric_families

from launcher.contract import own_python
from tests.support.seen import Seen, seen
from tests.support.waiting import wait_until

pytestmark = pytest.mark.timeout(90)


@pytest.fixture(scope="module")
def gang_of_two(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Seen]:
    with seen(2, tmp_path_factory.mktemp("seen")) as found:
        yield found


@pytest.fixture
def two(gang_of_two: Seen) -> Seen:
    gang_of_two.api.begin_anew()
    wait_until(lambda: gang_of_two.gang.launcher(0).phase == "training", timeout=40)
    return gang_of_two


@dataclass(frozen=True, slots=True, kw_only=True)
class Opened:
    """What `open` serves."""

    process: subprocess.Popen[str]
    port: int

    def ask(self, path: str = "/", *, host: str = "", method: str = "GET", at: str = "127.0.0.1") -> tuple[int, str]:
        with closing(http.client.HTTPConnection(at, self.port, timeout=20)) as wire:
            wire.request(method, path, headers={"Host": host or f"127.0.0.1:{self.port}"})
            with wire.getresponse() as answer:
                assert answer.headers["Content-Security-Policy"] or answer.status == 501
                return answer.status, answer.read().decode()


@contextmanager
def opened(found: Seen, *words: str) -> Iterator[Opened]:
    with found.me.started("open", *words, "job") as process:
        assert process.stdout
        address = urlsplit(process.stdout.readline().strip())
        assert (address.scheme, address.hostname, address.path) == ("http", "127.0.0.1", "/")
        assert address.port
        yield Opened(process=process, port=address.port)


def test_it_serves_the_leaders_pages_and_nothing_else(two: Seen) -> None:
    with opened(two, "-no-browser") as at:
        code, page = at.ask()
        assert (code, page.count("<h1>paddle-cluster-job</h1>")) == (200, 1)
        assert json.loads(at.ask("/gang?x=1")[1])["word"]["stage"] == "training"
        names = {family.name for family in text_string_to_metric_families(at.ask("/metrics")[1])}
        assert "launcher_members" in names
        assert at.ask("/readyz", host=f"localhost:{at.port}") == (200, "training\n")
        for path in ("/status", "/healthz", "/../api", "/%2e"):
            assert at.ask(path)[0] == 404
        assert at.ask(method="POST")[0] == 501
        assert at.ask(method="DELETE")[0] == 501


def test_a_page_of_elsewhere_whose_name_leads_here_is_refused(two: Seen) -> None:
    with opened(two, "-no-browser") as at:
        before = len(two.api.asked)
        for host in ("evil.example.com", f"evil.example.com:{at.port}", "127.0.0.1", f"127.0.0.1:{at.port}.evil"):
            assert at.ask(host=host) == (403, f"expected http://127.0.0.1:{at.port}/\n")
        assert len(two.api.asked) == before
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection(("127.0.0.2", at.port))


def test_a_browser_is_opened_where_there_is_one(two: Seen, tmp_path: Path) -> None:
    browser, note = tmp_path / "browser", tmp_path / "note"
    browser.write_text(f'#!/bin/sh\nprintf %s "$1" >{note}.new && mv {note}.new {note}\n')
    browser.chmod(0o700)
    environ = two.me.environ(BROWSER=f"{browser} %s")
    with subprocess.Popen(
        two.me.words("open", "job"), env=environ, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout
        address = process.stdout.readline().strip()
        wait_until(note.exists, timeout=20)
        process.send_signal(signal.SIGINT)
        assert process.wait(10) == 128 + signal.SIGINT
    assert note.read_text() == address


def test_it_follows_the_leader_to_the_pod_that_takes_its_place(two: Seen) -> None:
    first = two.api.pods[0]
    with opened(two, "-no-browser") as at:
        assert at.ask()[0] == 200
        two.api.pods[0] = replace(first, name="another", phase="Pending")
        wait_until(lambda: at.ask()[0] == 502, timeout=20)
        assert "job job has no pod that leads it yet" in at.ask()[1]
        assert at.ask("/gang") == (502, "job job has no pod that leads it yet\n")
        two.api.pods[0] = replace(first, name="another")
        wait_until(lambda: at.ask()[0] == 200, timeout=20)
    two.api.pods[0] = first


def test_where_the_network_keeps_the_api_server_out_the_page_says_so(two: Seen) -> None:
    two.api.hidden = True
    with opened(two, "-no-browser") as at:
        code, page = at.ask()
        assert (code, "dial tcp: i/o timeout" in page, '<meta http-equiv="refresh"' in page) == (502, True, True)


def test_where_a_program_can_be_run_in_a_pod_the_pages_come_through_it(two: Seen) -> None:
    two.api.hidden, two.api.pythons = True, (own_python(),)
    with opened(two, "-no-browser") as at:
        assert at.ask()[0] == 200
        assert at.ask("/readyz") == (200, "training\n")
        assert len(two.api.run) == 1
        assert len(json.loads(at.ask("/gang")[1])["members"]) == 2
    wait_until(lambda: not [each for each in psutil.process_iter(["cmdline"]) if "http.client" in str(each.info)])


def test_a_job_that_is_over_has_a_report_in_its_place(two: Seen) -> None:
    two.api.ended = "Complete"
    said = two.me("open", "-no-browser", "job")
    assert said.code == 1
    assert "job job is complete" in said.err
    assert "`paddlectl report job` makes its page" in said.err


def test_a_port_that_is_taken_is_told(two: Seen) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        said = two.me("open", "-no-browser", "-port", str(port), "job")
    assert (said.code, said.err) == (
        1, f"paddlectl: -port {port}: Address already in use: expected another port, or none\n",
    )  # fmt: skip
