"""Every variable and flag of a pod: its name, its default and its check, each said once, in `_settings`.

No I/O here. Values in, `Settings` out, or one `SettingsError` that tells every problem.
"""

from __future__ import annotations

import re
import shlex
import signal
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath

from launcher.contract import MEETING_PORT, MOST_PROCESSES, OUTPUT, PSERVER_PORT, RECORD, STATUS_PORT
from launcher.pod.outcome import SettingsError
from launcher.pod.settings import arguments as command_line
from launcher.pod.settings.conflicts import contradictions
from launcher.pod.settings.nouns import (
    NODE_NAME,
    Notice,
    Peers,
    PeersFrom,
    Ports,
    Resize,
    Role,
    Runtime,
    Settings,
    Timing,
    Width,
)
from launcher.pod.settings.reader import Reader

MOST_TRAINERS = 100_000
# What a launcher gives to its programs, one of which may be a launcher again.
GIVEN_TO_PROGRAMS = (
    *("LAUNCHER_RESUME_DIR", "LAUNCHER_START_PASS", "LAUNCHER_HERE", "LAUNCHER_LIFE", "LAUNCHER_NODE_RANK"),
    "LAUNCHER_FRAMES",
)


def read_settings(environ: Mapping[str, str], arguments: Sequence[str], *, here: str = "/") -> Settings:
    """Return the settings in the environment and the arguments, or raise with every problem in them."""
    reader = Reader(environ)
    settings = _settings(reader, arguments, PurePosixPath(here))
    reader.refuse_unknown("LAUNCHER_", but=GIVEN_TO_PROGRAMS)
    if reader.problems:
        raise SettingsError(reader.problems)
    return settings


def known(environ: Mapping[str, str] | None = None) -> Mapping[str, str]:
    """Return each variable's name with its default as text, as the documentation's table has them."""
    reader = Reader(environ or {})
    _settings(reader, (), PurePosixPath("/"))
    return reader.asked


def _settings(reader: Reader, arguments: Sequence[str], here: PurePosixPath) -> Settings:
    flags, command = command_line.parse_arguments(arguments, reader.problems)
    command = _command(reader, command)
    runtime = _runtime(reader, command)
    role = reader.choice("LAUNCHER_ROLE", Role, default=Role.NODE)
    peers = _peers(reader)
    # An init for one command: nothing about a job is asked for, and nothing of one is in the way.
    init = peers.source is PeersFrom.SELF and bool(command) and not reader.environ.get("LAUNCHER_RUNTIME")
    counts = Counts.read(reader, peers, role, runtime)
    _whole_or(reader, "LAUNCHER_KEEP_PASSES", "all", high=1000)  # `launcher.here` reads it, when a pass is complete
    settings = Settings(
        runtime=runtime,
        role=role,
        peers=peers,
        pservers=counts.pservers,
        trainers=counts.trainers,
        width=_width(reader, counts),
        counted_by=counts.by,
        job=reader.label("JOB_NAME"),
        gang=reader.label("LAUNCHER_GANG", shown="JOB_NAME") or reader.environ.get("JOB_NAME", ""),
        namespace=reader.label("JOB_NAMESPACE", shown="the pod's own"),
        job_uid=reader.word("LAUNCHER_JOB_UID"),
        job_path=reader.absolute("JOB_PATH"),
        config_dir=reader.directory("TRAIN_CONFIG_DIR"),
        workdir=reader.absolute("LAUNCHER_WORKDIR", shown="the current directory") or here,
        address=reader.address("POD_IP"),
        node=_node(reader),
        index=reader.index("JOB_COMPLETION_INDEX"),
        ports=_ports(reader),
        processes=_processes(reader, runtime),
        threads=reader.whole("TRAINER_COUNT", default=0, low=1, high=4096, shown="4 in start.sh"),
        stage_threads=_whole_or(reader, "LAUNCHER_STAGE_THREADS", "auto", high=64),
        timing=_timing(reader),
        max_restarts=reader.whole("LAUNCHER_MAX_RESTARTS", default=3, low=0, high=1000),
        nan_fails=not reader.switch("LAUNCHER_NAN", on="tell", off="fail"),
        status_port=reader.whole("LAUNCHER_STATUS_PORT", default=STATUS_PORT, low=1, high=65535),
        record=reader.absolute_or_none("LAUNCHER_RECORD", shown=f"{OUTPUT}/{RECORD} in the job's directory"),
        resume=reader.switch("LAUNCHER_RESUME", on="auto", off="never"),
        prefix=reader.switch_or_auto("LAUNCHER_LOG_PREFIX"),
        importable=not reader.switch("LAUNCHER_IMPORTABLE", on="off", off="on"),
        stacks=reader.switch("LAUNCHER_STACKS", on="on", off="off"),
        notice=_notice(reader),
        command=command,
        flags=flags,
        plain_init=init,
    )
    if init:
        reader.forget_all_but("LAUNCHER_")
    else:
        reader.problems.extend(
            contradictions(settings, given={name for name, value in reader.environ.items() if value})
        )
    return settings


def _node(reader: Reader) -> str:
    """Return the node's name; the variable is not the launcher's alone, and what is no name is another's."""
    found = reader.text("NODE_NAME", shown="what the API shows")
    return found if NODE_NAME.fullmatch(found) else ""


def _command(reader: Reader, command: tuple[str, ...]) -> tuple[str, ...]:
    entry = reader.text("LAUNCHER_ENTRY")
    if command and entry:
        reader.problem("LAUNCHER_ENTRY", entry, "no command after `--` as well: give the command once")
    if command or not entry:
        return command
    try:
        words = tuple(shlex.split(entry))
    except ValueError as error:
        reader.problem("LAUNCHER_ENTRY", entry, f"words quoted as for a shell ({error})")
        return ()
    if not words:
        reader.problem("LAUNCHER_ENTRY", entry, "a command")
    return words


def _runtime(reader: Reader, command: tuple[str, ...]) -> Runtime:
    # With a command but no word about it, fleet: taken for plain `env`, a parameter-server program would
    # find no pservers in its environment and train silently alone.
    runtime = reader.choice("LAUNCHER_RUNTIME", Runtime, default=Runtime.FLEET if command else Runtime.V1, shown="v1")
    if runtime is Runtime.V1 and command:
        reader.problem(
            "LAUNCHER_RUNTIME",
            runtime,
            " or ".join(each for each in Runtime if each is not Runtime.V1) + ", since a command is given",
        )
    if runtime is not Runtime.V1 and not command:
        reader.problem("LAUNCHER_RUNTIME", runtime, "a command after `--`, or in LAUNCHER_ENTRY")
    return runtime


def _peers(reader: Reader) -> Peers:
    inside = "KUBERNETES_SERVICE_HOST" in reader.environ
    given = reader.text("LAUNCHER_PEERS", default="kubernetes" if inside else "", shown="kubernetes")
    source, _, names = given.partition(":")
    if given in (PeersFrom.KUBERNETES, PeersFrom.SELF):
        return Peers(source=PeersFrom(given))
    if source in (PeersFrom.DNS, PeersFrom.STATIC) and names:
        # One list for all, or the pservers' before a semicolon and the trainers' after it.
        pservers, apart, trainers = names.partition(";")
        first, second = reader.hosts("LAUNCHER_PEERS", pservers), reader.hosts("LAUNCHER_PEERS", trainers)
        if not first or (apart and not second):
            reader.problem("LAUNCHER_PEERS", given, "names on both sides of the semicolon")
        if source == PeersFrom.DNS and max(len(first), len(second)) > 1:
            reader.problem("LAUNCHER_PEERS", given, "one name, or dns:PSERVERS;TRAINERS")
        return Peers(source=PeersFrom(source), pservers=first, trainers=second if apart else first)
    expected = "kubernetes, dns:NAME, static:ADDRESS,ADDRESS or self"
    reader.problem("LAUNCHER_PEERS", given, expected if given else f"{expected} (this process is in no cluster)")
    return Peers(source=PeersFrom.SELF)


def _ports(reader: Reader) -> Ports:
    return Ports(
        nic=reader.word("CONF_PADDLE_NIC", shown="eth0 for v1"),
        first=reader.whole("CONF_PADDLE_PORT", default=PSERVER_PORT, low=1, high=65535),
        dense=reader.whole("CONF_PADDLE_PORTS_NUM", default=1, low=1, high=1000),
        sparse=reader.whole("CONF_PADDLE_PORTS_NUM_SPARSE", default=1, low=0, high=1000),
        meeting=reader.whole("LAUNCHER_PORTS", default=MEETING_PORT, low=1, high=65535),
    )


def _processes(reader: Reader, runtime: Runtime) -> int:
    given = reader.text("LAUNCHER_PROCESSES", default="1")
    if runtime.has_pservers and given != "1":
        expected = f"1 with LAUNCHER_RUNTIME={runtime}, which has pservers (torch, jax, env and so on have none)"
        reader.problem("LAUNCHER_PROCESSES", given, expected)
        return 1
    if given == "gpu":
        return 0
    if not re.fullmatch(r"[0-9]{1,9}", given) or not 1 <= int(given) <= MOST_PROCESSES:
        reader.problem("LAUNCHER_PROCESSES", given, f"gpu, or a whole number from 1 to {MOST_PROCESSES}")
        return 1
    return int(given)


def _whole_or(reader: Reader, name: str, word: str, *, high: int) -> int:
    """Return a whole number, 0 for the word."""
    if reader.text(name, default=word) == word:
        return 0
    return reader.whole(name, default=0, low=1, high=high, shown=word)


def _timing(reader: Reader) -> Timing:
    return Timing(
        grace=reader.seconds("LAUNCHER_GRACE", default=25),
        join=reader.seconds("LAUNCHER_JOIN_TIMEOUT", default=600),
        rejoin=reader.seconds("LAUNCHER_REJOIN_TIMEOUT", default=900),
        peer=reader.seconds("LAUNCHER_PEER_TIMEOUT", default=15),
        stall=_seconds_or_off(reader, "LAUNCHER_STALL_TIMEOUT"),
        progress=_seconds_or_off(reader, "LAUNCHER_PROGRESS_TIMEOUT"),
    )


def _seconds_or_off(reader: Reader, name: str) -> float | None:
    if reader.text(name, default="off") == "off":
        return None
    return reader.seconds(name, default=0, shown="off")


def _width(reader: Reader, counts: Counts) -> Width:
    return Width(
        least=counts.least,
        most=counts.trainers,
        settle=reader.seconds("LAUNCHER_SETTLE", default=30),
        shrink_after=reader.seconds("LAUNCHER_SHRINK_AFTER", default=60),
        resize=reader.choice("LAUNCHER_RESIZE", Resize, default=Resize.PASS),
        spares=reader.whole("LAUNCHER_SPARES", default=0, low=0, high=1000),
        unit=reader.whole("LAUNCHER_UNIT", default=1, low=1, high=MOST_TRAINERS),
    )


def _notice(reader: Reader) -> int | None:
    """Return the signal that tells programs that their generation ends soon, as planned."""
    signals = {Notice.TERM: signal.SIGTERM, Notice.USR1: signal.SIGUSR1}
    return signals.get(reader.choice("LAUNCHER_NOTICE", Notice, default=Notice.NONE))


def _members(reader: Reader) -> tuple[int, int]:
    """Return the least and the most of LAUNCHER_MEMBERS, zeros where it is not given."""
    given = reader.text("LAUNCHER_MEMBERS", shown="as many as are waited for")
    if not given:
        return 0, 0
    found = re.fullmatch(r"([0-9]{1,6})(?::([0-9]{1,6}))?", given)
    least, most = (int(found[1]), int(found[2] or found[1])) if found else (0, 0)
    if 1 <= least <= most <= MOST_TRAINERS:
        return least, most
    expected = f"MIN:MAX, such as 2:5, from 1 to {MOST_TRAINERS} and the smaller one first"
    reader.problem("LAUNCHER_MEMBERS", given, expected)
    return 1, 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Counts:
    """How many are expected, and which variable says so: it comes from settings, never from what is there."""

    pservers: int
    trainers: int  # at the most
    least: int  # trainers that are enough
    by: str  # the variable that tells how many trainers

    @classmethod
    def read(cls, reader: Reader, peers: Peers, role: Role, runtime: Runtime) -> Counts:
        """Take the numbers from their variables; a list of addresses has its own, a pod by itself is one."""
        together = reader.whole("CONF_PADDLE_GRADIENT_NUM", default=0, low=1, high=MOST_TRAINERS, shown="")
        trainers = reader.whole("TRAINERS", default=0, low=1, high=MOST_TRAINERS, shown="") or together
        pservers = reader.whole("PSERVERS", default=0, low=1, high=MOST_TRAINERS, shown="")
        least, most = _members(reader)
        trains = "CONF_PADDLE_GRADIENT_NUM" if role is Role.NODE else "TRAINERS"
        if role is Role.NODE:
            asked = {"CONF_PADDLE_GRADIENT_NUM": (together, peers.trainers)}
        else:
            asked = {"PSERVERS": (pservers, peers.pservers), "TRAINERS": (trainers, peers.trainers)}
        found = []
        for name, (given, listed) in asked.items():
            if most and name == trains:
                if given not in (0, most):
                    reader.problem(name, str(given), f"{most}, the most of LAUNCHER_MEMBERS, or nothing")
                given = most
            itself = 1 if peers.source is PeersFrom.SELF else 0
            own = len(listed) if peers.source is PeersFrom.STATIC else itself
            if not given and not own and not reader.environ.get(name):
                reader.problem(name, "", "the number of pods to wait for")
            if given and own and given != own:
                reader.problem(name, str(given), f"{own}, the number in LAUNCHER_PEERS")
            found.append(given or own)
        least = min(least, most) or found[-1]
        # In the trainers' pods as many as there always are: a run's pservers keep their number.
        together = role is Role.NODE and runtime.has_pservers
        by = "LAUNCHER_MEMBERS" if most else trains
        return cls(pservers=least if together else found[0], trainers=found[-1], least=least, by=by)
