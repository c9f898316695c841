"""What shells complete: commands, flags and the names of jobs, as the API has them; nothing where all is not well."""

from __future__ import annotations

import shutil
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from launcher.job import PaddleJob
from tests.grounds.api.control_plane import ControlPlane
from tests.support.desks import User
from tests.support.shells import completed_by_tab, offered_in_bash, programs
from tests.support.waiting import wait_until

SHELLS = {
    "bash": (("bash", "--norc", "-i"), "source <(paddlectl completion bash)"),
    "zsh": (("zsh", "-f", "-i"), "autoload -U compinit; compinit -u -D; source <(paddlectl completion zsh)"),
    "fish": (("fish", "--no-config", "-i"), "paddlectl completion fish | source"),
}
HERE = [name for name in SHELLS if shutil.which(name)]  # CI has the first


def make_jobs(plane: ControlPlane, namespace: str, *names: str) -> None:
    """Make jobs that a queue would have suspended."""
    for name in names:
        job = PaddleJob(job_name=name, entry_point="python train.py", runtime_image="repo/paddle:1", pservers=1)
        for made in job.manifests():
            if made["kind"] == "Job":
                made["spec"]["suspend"] = True
                plane.make(namespace, made)


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """Programs for a shell's PATH."""
    return programs(tmp_path / "bin")


def test_it_is_tried_in_every_shell_that_is_found(capsys: pytest.CaptureFixture[str]) -> None:
    missing = [name for name in SHELLS if name not in HERE]
    with capsys.disabled():
        print(f" [tried in {', '.join(HERE)}; not found here: {', '.join(missing) or 'none'}]", end="")
    assert "bash" in HERE


@pytest.mark.parametrize("shell", HERE)
def test_tab_completes_the_name_of_a_job(plane: ControlPlane, me: User, place: Path, shell: str) -> None:
    make_jobs(plane, me.namespace, "my-paddlecloud-job")
    words, begin = SHELLS[shell]
    completed_by_tab(me, place, words, begin, "paddlectl describe my-", "paddlecloud-job")


def test_bash_offers_what_the_line_names(plane: ControlPlane, me: User, place: Path) -> None:
    make_jobs(plane, me.namespace, "my-first", "my-second", "other")
    elsewhere = plane.new_namespace(f"{me.namespace}-2")
    make_jobs(plane, elsewhere, "my-third")
    flags = ("-kubeconfig", str(plane.kubeconfig), "-n", elsewhere)

    def offered(*words: str) -> list[str]:
        return sorted(offered_in_bash(me, place, *words))

    wait_until(lambda: offered("paddlectl", "kill", "my") == ["my-first", "my-second"], timeout=60)
    wait_until(lambda: offered("paddlectl", "get", "job", "o") == ["other"], timeout=60)
    wait_until(lambda: offered("paddlectl", *flags, "logs", "-f", "") == ["my-third"], timeout=60)
    wait_until(lambda: offered("paddlectl", "logs", "-n", "20", *flags, "my") == ["my-third"], timeout=60)
    wait_until(lambda: offered("kubectl-paddle", "wait", "ot") == ["other"], timeout=60)
    assert offered("paddlectl", "su") == ["submit", "suspend"]
    assert offered("paddlectl", "get", "jobs", "--all") == ["--all-namespaces"]
    assert "--kubeconfig" in offered("paddlectl", "--")
    assert "get" not in offered("paddlectl", "--")
    assert offered("paddlectl", "get", "jobs", "-o", "=", "y") == ["yaml"]
    assert offered("paddlectl", "cp", "a") == ["[files]"]
    assert offered("paddlectl", "wait", "x", "") == []


@pytest.fixture
def silent() -> Iterator[str]:
    """The address of a server that takes connections and says nothing."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"


def test_where_anything_is_wrong_nothing_is_said_and_soon(me: User, silent: str, tmp_path: Path) -> None:
    """A request would wait for an answer for a minute."""
    broken = tmp_path / "broken"
    broken.write_text("password: [")
    broken.chmod(0o644)  # of which a warning would be said
    for words in (
        me.saying(endpoint=silent),
        me.saying(endpoint="https://127.0.0.1:1"),
        me.saying(password="wrong"),  # noqa: S106  # opens nothing
        ("-config", str(broken)),
        ("-datacenter", "nowhere"),
        ("-kubeconfig", "/nowhere"),
        ("-n", "not a namespace"),
    ):
        said = me("completion", "words", "--", *words, "kill", "", timeout=40)
        assert (said.code, said.out, said.err) == (0, "", ""), words
