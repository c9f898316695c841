"""A gang of a test: real launchers, each with an address of its own in 127.0.0.0/8, and the programs that they run.

    with gang(3, tmp_path, passes=4, faults=[Fault("pass 2", "exit 7", rank=1)]) as g:
        g.await_training(generation=2)
        assert g.codes() == [0, 0, 0]

The programs are `children/worker.py`: a pserver and a trainer in every pod, or apart (`pservers=2`). What they are to
suffer stands in the script, what they did in `g.trace()`. When the gang is left, nothing of it may be left: every
process ended, no port open, no temporary file; and what its programs noted of themselves is held (`histories.py`): no
two generations and no two runs at once, and no word of a launcher that is not true. Whatever fails is told with all
that the launchers said.
"""

from __future__ import annotations

import json
import random
import socket
import time
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import trustme

from launcher.contract import job_of
from tests.grounds.api.scripted import ApiServer, serving
from tests.support import histories
from tests.support.account import IN_A_POD, LAY_OUT, need_mounts
from tests.support.histories import Life, Waking, Word
from tests.support.hosts import PodNames
from tests.support.launchers import STATUS_PORT, Launcher
from tests.support.leftovers import check
from tests.support.lives import LAUNCHER, WITNESS, Lives, need_namespace
from tests.support.pods import JOB, UID, pod
from tests.support.script import WORKER, told, write
from tests.support.script import Fault as Fault
from tests.support.script import expected as expected
from tests.support.waiting import wait_until
from tests.support.whole_lines import whole_lines

Result = TypeVar("Result")

FIRST_PORT = 7164
# From the waking of a pod to the end of its last program, at most; it is a few milliseconds on an idle machine.
WAKING = 0.5


@dataclass(slots=True, kw_only=True)
class Gang:
    """The launchers of one job, by their place in it; `all` also holds those that others took the place of."""

    top: Path
    lives: Lives
    net: str
    count: int
    pservers: int
    env: Mapping[str, str]
    env_of: Mapping[int, Mapping[str, str]]
    command: tuple[str, ...]
    process_one: bool
    api: ApiServer | None
    names: PodNames | None
    account: Path
    enter: tuple[str, ...] = ()
    indexed: bool = False
    places: list[Launcher] = field(default_factory=list)
    all: list[Launcher] = field(default_factory=list)
    next_host: int = 1
    first: int = 1  # the host of place 0
    prefix: str = "pod"
    owner: str = UID
    run: str = UID

    @property
    def volume(self) -> Path:
        """The shared volume."""
        return self.top / "volume"

    @property
    def output(self) -> Path:
        """The job's output on it."""
        return self.volume / JOB / "output"

    @property
    def shown(self) -> ApiServer | PodNames | None:
        """Where the launchers see which pods there are, if that is no list."""
        return self.api or self.names

    def launcher(self, place: int) -> Launcher:
        """Return the launcher that is in a place now; at the start places are ranks, the pservers' first."""
        return self.places[place]

    def start(self, *places: int) -> None:
        """Start the launchers of some places, of all where none is named."""
        if self.shown:
            given = [(place, f"{self.prefix}-{place}", self.address(place)) for place in places or range(self.count)]
            self.shown.put(*(self._pod(*each) for each in given))
        for place in places or range(self.count):
            self._launch(place, self.address(place), f"{self.prefix}-{place}")
        self.next_host = max(self.next_host, self.first + self.count)

    def again(self, place: int) -> Launcher:
        """Start the launcher of a place again in the same pod, as `restartPolicy: OnFailure` does."""
        before = self.places[place]
        return self._launch(place, before.address, before.name)

    def replace(self, place: int) -> Launcher:
        """Let a pod's place be taken by one with another name, uid and address."""
        assert self.shown, "a list tells of no other pod"
        before = self.places[place]
        host, self.next_host = self.next_host, self.next_host + 1
        address, name = f"{self.net}.{host}", f"{self.prefix}-{host}"
        self.shown.remove(before.name)
        self.shown.put(self._pod(place, name, address))
        return self._launch(place, address, name)

    def join(self, slot: int) -> Launcher:
        """Let a pod with a name, uid and address of its own come to a slot, beside those that are there."""
        assert self.shown, "a list tells of no other pod"
        host, self.next_host = self.next_host, self.next_host + 1
        address, name = f"{self.net}.{host}", f"{self.prefix}-{host}"
        self.shown.put(self._pod(slot, name, address))
        return self._launch(len(self.places), address, name)

    def fade(self, slot: int, launcher: Launcher) -> None:
        """Show a pod as being deleted, until it is hidden."""
        assert self.shown, "a list shows no pod"
        self.shown.put(self._pod(slot, launcher.name, launcher.address, leaving=True))

    def hide(self, launcher: Launcher) -> None:
        """Show a pod no more."""
        assert self.shown, "a list hides no pod"
        self.shown.remove(launcher.name)

    def apply(self, key: str, **env: str) -> list[Launcher]:
        """Apply another Job of this name, with other pods, which `start` starts; return those of the one before."""
        before, self.places = self.places, []
        self.first, self.prefix, self.owner, self.run = self.next_host, f"{key[:4]}-pod", key, key
        self.env = {**self.env, **({} if self.api else {"LAUNCHER_JOB_UID": key}), **env}
        return before

    def address(self, place: int) -> str:
        """Return the address that a place begins with."""
        return f"{self.net}.{self.first + place}"

    def go(self, name: str = "go") -> float:
        """Let those go on that wait for this name, and return when."""
        (self.top / name).touch()
        return time.monotonic()

    def script(self, faults: Sequence[Fault], *, passes: int, seconds: float) -> None:
        """Say what the children that start from now on are to do, and to suffer."""
        write(self.top, faults, passes=passes, seconds=seconds)

    def trace(self, what: str = "", **facts: object) -> list[dict[str, Any]]:
        """Return what the children told so far, of one kind (start, pass, fault, saved, end...), with these facts."""
        return told(self.top, {"what": what, **facts} if what else facts)

    def events(self, name: str = "") -> list[dict[str, Any]]:
        """Return what the gang's own story on the volume holds, all of it or one kind."""
        lines = whole_lines(self.output / "events.jsonl")
        return [line for line in _objects(lines) if line["event"] == name or not name]

    def wait(self, check: Callable[[], Result], timeout: float = 30) -> Result:
        """Wait until something is so."""
        return wait_until(check, timeout)

    def await_trace(self, what: str, count: int = 1, **facts: object) -> list[dict[str, Any]]:
        """Wait until so many children have told this."""
        return self.wait(lambda: len(found := self.trace(what, **facts)) >= count and found) or []

    def await_training(self, generation: int, timeout: float = 30) -> list[dict[str, Any]]:
        """Wait until every trainer has started in this generation, or a later one, and return how, by rank."""
        return self.wait(lambda: self._starts(generation), timeout)

    def codes(self, timeout: float = 30) -> list[int]:
        """Wait for the end of the launchers in all places and return their exit codes."""
        self.wait(lambda: None not in [each.code for each in self.places], timeout)
        return [each.code or 0 for each in self.places]

    def verdict(self, timeout: float = 30) -> tuple[int, str]:
        """Wait for the end of all; return the one code and the one message with which every launcher ended."""
        codes = set(self.codes(timeout))
        # A launcher that comes after a success says whose it is.
        told = {(each.message(), each.reason().partition(histories.RECORDED)[0]) for each in self.places}
        assert len(codes) == len(told) == 1, f"not one verdict: {codes}, {told}"
        (code,), ((message, reason),) = codes, told
        assert message.startswith(reason) if code else not message
        return code, message or reason

    def now(self) -> float:
        """Return the time, as the trace has it."""
        return time.monotonic()

    def last_end(self) -> float:
        """Return when the last launcher was seen to have ended."""
        return max(each.ended for each in self.places)

    def result(self) -> str:
        """Return what the trainers have come to, the same for all."""
        (result,) = {end["state"] for end in self.trace("end")}
        return str(result)

    def history(self) -> tuple[Life, ...]:
        """Return what the programs of this run noted so far, and those of other runs on its volume."""
        path = self.top / "history"
        return histories.lives(path.read_text()) if path.exists() else ()

    def words(self) -> tuple[Word, ...]:
        """Return what each launcher said of how the run ended: a verdict, or a good end."""
        told = [(each, event) for each in self.all for event in each.events()]
        said = {each.name: (each.run, event["code"]) for each, event in told if histories.is_a_word(event)}
        return tuple(Word(run=run, who=who, code=code) for who, (run, code) in said.items())

    def hold(self, words: Sequence[Word]) -> None:
        """Hold what the programs noted, and these words, to be what may be."""
        found = self.history()
        wakings = [(each.address, at) for each in self.all for at in each.wakings]
        may = [Waking(address=address, since=at, until=at + WAKING) for address, at in wakings]
        wrong = histories.wrong(found, words, may)
        assert not wrong, "\n".join(wrong)

    def story(self) -> str:
        """Return all that is known, for whoever has to find out what went wrong."""
        parts = [f"--- trace\n{(self.top / 'trace').read_text() if (self.top / 'trace').exists() else 'none'}"]
        for each in self.all:
            shown = json.dumps(each.status())
            parts.append(f"--- {each.name} at {each.address}: code {each.code}, status {shown}\n{each.life.err()}")
        return "\n".join(parts)

    def _starts(self, generation: int) -> list[dict[str, Any]]:
        found = []
        for each in self.places[self.pservers :]:
            told = each.events()
            begun = [n for n, event in enumerate(told) if event.get("event") == "generation_begins"]
            begun = [n for n in begun if told[n]["generation"] >= generation]
            pids = [event["pid"] for event in told[begun[-1] :] if _is_start(event)] if begun else []
            starts = self.trace("start", address=each.address, role="trainer", session=pids[-1]) if pids else []
            # A process 1 numbers its children from the beginning, as the one before it did.
            starts = [start for start in starts if start["at"] > each.started]
            if not starts:
                return []
            found.append({**starts[-1], "generation": told[begun[-1]]["generation"]})
        return sorted(found, key=lambda start: int(start["rank"]))

    def _role(self, place: int) -> str:
        return "node" if not self.pservers else "pserver" if place < self.pservers else "trainer"

    def _labels(self, place: int) -> dict[str, str]:
        labels = {"pserver": {"paddle-job-pserver": JOB}, "trainer": {"paddle-job": JOB}}
        return labels.get(self._role(place), {})

    def _pod(self, place: int, name: str, address: str, *, leaving: bool = False) -> dict[str, Any]:
        role = self._role(place)
        owner = f"{self.owner}-pservers" if role == "pserver" else self.owner
        index = place if place < self.pservers else place - self.pservers
        host = f"{JOB if role == 'node' else job_of(JOB, role)}-{index}"
        indexed: dict[str, Any] = {"index": index, "hostname": host} if self.indexed else {}
        return pod(name, address, owner=owner, labels=self._labels(place), leaving=leaving, **indexed)

    def _launch(self, place: int, address: str, name: str) -> Launcher:
        work = self.top / "pods" / address
        work.mkdir(parents=True, exist_ok=True)
        found = self.names.environ(name) if self.names else {}
        env = {**self._environ(place, address, work), **found, **self.env, **self.env_of.get(place, {})}
        before = (*self.enter, *((*IN_A_POD, LAY_OUT, str(self.account)) if self.api else ()))
        process_one = self.process_one
        # Words that begin with flags are v1's: there is no command.
        words = LAUNCHER if "".join(self.command[:1]).startswith("--") else (*LAUNCHER, "--")
        life = self.lives.start(*self.command, env=env, process_one=process_one, before=before, launcher=words)
        launcher = Launcher(life, address, name, f"uid-of-{name}", work, self._role(place), self.run)
        self.places[place : place + 1] = [launcher]
        self.all.append(launcher)
        return launcher

    def _environ(self, place: int, address: str, work: Path) -> dict[str, str]:
        addresses = [self.address(each) for each in range(self.count)]
        groups = ";".join(",".join(part) for part in (addresses[: self.pservers], addresses[self.pservers :]) if part)
        counts = {"PSERVERS": str(self.pservers), "TRAINERS": str(self.count - self.pservers)}
        return {
            "LAUNCHER_PEERS": "kubernetes" if self.api else f"static:{groups}",
            "LAUNCHER_RUNTIME": "fleet",
            "LAUNCHER_ROLE": self._role(place),
            "LAUNCHER_WORKDIR": str(work),
            "LAUNCHER_PEER_TIMEOUT": "5",
            "LAUNCHER_JOIN_TIMEOUT": "40",
            "LAUNCHER_REJOIN_TIMEOUT": "40",
            "LAUNCHER_GRACE": "1",
            "JOB_NAME": JOB,
            "JOB_PATH": str(self.volume),
            "POD_IP": address,
            "TMPDIR": str(self.top / "tmp"),
            "GANG_SCRIPT": str(self.top / "script.json"),
            "GANG_HISTORY": str(self.top / "history"),
            "GANG_RUN": self.run,
            "PYTHONPATH": str(WITNESS),
            **(counts if self.pservers else {"CONF_PADDLE_GRADIENT_NUM": str(self.count)}),
        }


@contextmanager
def gang(
    count: int,
    top: Path,
    *,
    passes: int = 3,
    seconds: float = 0.02,
    faults: Sequence[Fault] = (),
    api: bool = False,
    key: str = UID,
    pservers: int = 0,
    process_one: bool = False,
    start: bool = True,
    command: Sequence[str] = WORKER,
    env: Mapping[str, str] | None = None,
    env_of: Mapping[int, Mapping[str, str]] | None = None,
    enter: Sequence[str] = (),
    indexed: bool = False,
    names: bool = False,
) -> Iterator[Gang]:
    """Start a gang, give it away, and hold at the end that nothing of it is left.

    The pods meet by a list of addresses, by the scripted API server, or by the `names` of Indexed Jobs. Their key is
    the Job's UID, which gives them a record; without one (`key=""`, not by the API) there is none. `pservers` of them
    are pservers' pods, the first ones. Several gangs may follow each other in one `top`: it is one volume, with its
    passes. `enter` are the words that lead each launcher to where it is to be. By the API pods may have completion
    indexes (`indexed`); by names they have.
    """
    with ExitStack() as stack:
        made = _made(stack, top, count, api, names, process_one)
        made.pservers, made.command, made.owner = pservers, tuple(command), key or UID
        made.enter, made.indexed = (*enter, *(made.names.hosts.enter if made.names else ())), indexed or names
        made.run = key or uuid.uuid4().hex
        made.env = {**made.env, **({} if api or not key else {"LAUNCHER_JOB_UID": key}), **(env or {})}
        made.env_of = env_of or {}
        made.script(faults, passes=passes, seconds=seconds)
        try:
            if start:
                made.start()
            yield made
            words = made.words()
            began = any(_is_start(event) for each in made.all for event in each.events())
        except BaseException as error:
            error.add_note(made.story())
            raise
    check(made.net, top / "tmp", made.output)
    assert made.history() or not began, f"trainers ran, and noted nothing: PYTHONPATH of each needs {WITNESS}"
    made.hold(words)


def _made(stack: ExitStack, top: Path, count: int, api: bool, names: bool, process_one: bool) -> Gang:
    if process_one:
        need_namespace()
    for name in ("volume", "tmp", "account"):
        (top / name).mkdir(parents=True, exist_ok=True)
    (top / "trace").unlink(missing_ok=True)
    server, environ = None, {}
    if api or names:
        need_mounts()
    if api:
        authority = trustme.CA()
        server = stack.enter_context(contextmanager(serving)(ApiServer(), authority))
        environ = server.environ(top / "account", authority)
    return Gang(
        top=top,
        lives=stack.enter_context(Lives()),
        net=_free_net(),
        count=count,
        pservers=0,
        env=environ,
        env_of={},
        command=(),
        process_one=process_one,
        api=server,
        names=PodNames(top / "etc") if names else None,
        account=top / "account",
    )


def _free_net() -> str:
    """Return three numbers of addresses that nobody here uses."""
    while True:
        net = f"127.{random.randint(10, 250)}.{random.randint(0, 250)}"  # noqa: S311  # no secret
        with suppress(OSError), socket.create_server((f"{net}.1", STATUS_PORT)):
            return net


def _objects(lines: Iterable[str]) -> Iterator[dict[str, Any]]:
    """Yield those that are whole: on a full volume, and by one that died, there are others."""
    for line in lines:
        with suppress(ValueError):
            yield json.loads(line)


def _is_start(event: Mapping[str, Any]) -> bool:
    return event.get("event") == "child_started" and str(event.get("child")).startswith("trainer")
