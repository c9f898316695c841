"""Kills when memory ran out, named: cgroups of both versions as files, and one that is real."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path

import pytest

from launcher.pod.programs.memory import RECENT, Memory, RecentMemory, explain
from tests.support.lives import Lives, shell
from tests.support.waiting import wait_until

MIB = 2**20
ENDLESS = "9223372036854771712"
KILLS = {
    "memory.oom_control": "oom_kill_disable 0\nunder_oom 0\noom_kill {}\n",
    "memory.events": "low 0\nhigh 0\nmax 41\noom 9\noom_kill {}\noom_group_kill 7\n",
}


def v1(kills: int = 2, limit: object = 512 * MIB, peak: object = 511 * MIB) -> dict[str, str]:
    return {
        "memory.oom_control": KILLS["memory.oom_control"].format(kills),
        "memory.limit_in_bytes": f"{limit}\n",
        "memory.max_usage_in_bytes": f"{peak}\n",
    }


def v2(kills: int = 2, limit: object = 512 * MIB, peak: object = 511 * MIB) -> dict[str, str]:
    return {
        "memory.events": KILLS["memory.events"].format(kills),
        "memory.max": f"{limit}\n",
        "memory.peak": f"{peak}\n",
    }


V1 = "9:name=systemd:{0}\n5:cpu,cpuacct:{0}\n4:memory:{0}\n0::/\n"
V2 = "0::{}\n"
MOUNT_V1 = "35 31 0:32 {} /sys/fs/cgroup/memory ro,relatime shared:9 - cgroup cgroup rw,memory\n"
MOUNT_V2 = "31 23 0:28 {} /sys/fs/cgroup ro,nosuid - cgroup2 cgroup rw,nsdelegate\n"
OTHERS = (
    "22 1 254:0 / / rw,relatime - ext4 /dev/root rw\n"
    "33 31 0:30 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu,cpuacct\n"
    "40 1 0:70 / /data/\udcff\r\u2028\\040- rw - ext4 /dev/memory rw,memory\n"
)
UNIFIED = "41 31 0:38 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw\n"
POD = "/kubepods/burstable/pod1/c1"
TOP_V1, TOP_V2 = "sys/fs/cgroup/memory", "sys/fs/cgroup"


def tree(root: Path, cgroup: str, mounts: str, files: Mapping[str, Mapping[str, str]]) -> Path:
    """Make /proc/self and the cgroups of a machine below a directory."""
    (root / "proc/self").mkdir(parents=True)
    (root / "proc/self/cgroup").write_text(cgroup)
    (root / "proc/self/mountinfo").write_bytes((OTHERS + mounts).encode(errors="surrogateescape"))
    for place, contents in files.items():
        (root / place).mkdir(parents=True, exist_ok=True)
        for name, text in contents.items():
            (root / place / name).write_text(text)
    return root


VIEWS = {
    "v1, the container's own mount under the machine's name": (V1.format(POD), MOUNT_V1.format(POD), {TOP_V1: v1()}),
    "v1, a namespace of its own": (V1.format("/"), MOUNT_V1.format("/"), {TOP_V1: v1()}),
    "v1, a name that leads out of the namespace": (V1.format("/../c1"), MOUNT_V1.format("/"), {TOP_V1: v1()}),
    "v1, mounted from outside the namespace": (V1.format("/"), MOUNT_V1.format("/../.."), {TOP_V1: v1()}),
    "v1, a name that is not there": (V1.format("/other"), MOUNT_V1.format("/"), {TOP_V1: v1()}),
    "v1, the machine's view": (
        V1.format(POD),
        MOUNT_V1.format("/"),
        {TOP_V1: v1(900, ENDLESS, 1), TOP_V1 + "/kubepods": v1(7, ENDLESS, 1), TOP_V1 + POD: v1()},
    ),
    "v1, beside a v2 without memory": (
        V1.format(POD),
        UNIFIED + MOUNT_V1.format("/"),
        {"sys/fs/cgroup/unified": {"cgroup.procs": ""}, TOP_V1 + POD: v1()},
    ),
    "v1, a name with a backslash": (
        V1.format(r"/pod\x2d1/c1"),
        MOUNT_V1.format(r"/pod\134x2d1"),
        {TOP_V1: v1(5, ENDLESS, 1), TOP_V1 + "/c1": v1()},
    ),
    "v2, a namespace of its own": (V2.format("/"), MOUNT_V2.format("/"), {TOP_V2: v2()}),
    "v2, the machine's view": (
        V2.format(POD),
        MOUNT_V2.format("/"),
        {TOP_V2: {"cgroup.procs": ""}, TOP_V2 + "/kubepods": v2(9, 64 * 2**30, 1), TOP_V2 + POD: v2()},
    ),
    "v2, the limit stands above": (
        V2.format("/c1/inner"),
        MOUNT_V2.format("/"),
        {TOP_V2 + "/c1": v2(3), TOP_V2 + "/c1/inner": v2(2, "max", 77)},
    ),
}


@pytest.mark.parametrize(("cgroup", "mounts", "files"), VIEWS.values(), ids=VIEWS)
def test_the_cgroup_is_found_from_within_and_from_without(
    tmp_path: Path, cgroup: str, mounts: str, files: dict[str, dict[str, str]]
) -> None:
    root = tree(tmp_path, cgroup, mounts, files)
    assert Memory.now(root) == Memory(kills=2, limit=512 * MIB, peak=511 * MIB)


@pytest.mark.parametrize(
    ("cgroup", "mounts", "files"),
    [
        (V1.format("/"), MOUNT_V1.format("/"), {TOP_V1: v1(limit=ENDLESS, peak="")}),
        (V2.format("/"), MOUNT_V2.format("/"), {TOP_V2: {"memory.events": v2()["memory.events"]}}),
        (V2.format("/"), MOUNT_V2.format("/"), {TOP_V2: v2(limit="max", peak="much")}),
    ],
    ids=["v1, no limit and no peak", "v2, neither file", "v2, no limit and nonsense"],
)
def test_what_is_not_said_is_not_known(
    tmp_path: Path, cgroup: str, mounts: str, files: dict[str, dict[str, str]]
) -> None:
    assert Memory.now(tree(tmp_path, cgroup, mounts, files)) == Memory(kills=2, limit=None, peak=None)


NOTHING = {
    "no such mount": (V2.format("/"), "", {}),
    "nothing in the cgroup": (V2.format("/"), MOUNT_V2.format("/"), {TOP_V2: {"cgroup.procs": ""}}),
    "an old kernel that does not count": (
        V1.format("/"),
        MOUNT_V1.format("/"),
        {TOP_V1: {"memory.oom_control": "oom_kill_disable 0\nunder_oom 0\n"}},
    ),
    "no cgroup at all": ("", MOUNT_V2.format("/"), {}),
    "nonsense": ("nonsense\n", "nonsense\n", {}),
    "half a line of mounts": (V2.format("/"), "31 23 - cgroup2 cgroup rw\n", {}),
}


@pytest.mark.parametrize(("cgroup", "mounts", "files"), NOTHING.values(), ids=NOTHING)
def test_where_nothing_can_be_seen_nothing_is_said(
    tmp_path: Path, cgroup: str, mounts: str, files: dict[str, dict[str, str]]
) -> None:
    assert Memory.now(tree(tmp_path, cgroup, mounts, files)) is None


def test_without_proc_nothing_is_said(tmp_path: Path) -> None:
    assert Memory.now(tmp_path) is None


@pytest.mark.parametrize(
    ("limit", "peak", "expected"),
    [
        (
            512 * MIB,
            512 * MIB - 100_000,
            "limit 512.0 MiB, peak 511.9 MiB; raise resources.limits.memory, or use less",
        ),
        (16 * 2**30, None, "limit 16.0 GiB; raise resources.limits.memory, or use less"),
        (
            2**30,
            100 * MIB,
            "limit 1.0 GiB, peak 100.0 MiB, so it was not this limit but the node that ran out; "
            "set resources.requests.memory to what it needs, or use less",
        ),
        (
            None,
            2**30,
            "no limit was set, peak 1.0 GiB, so the node ran out; "
            "set resources.requests.memory to what it needs, or use less",
        ),
    ],
)
def test_the_sentence_says_what_ran_out_and_what_to_do(limit: int | None, peak: int | None, expected: str) -> None:
    before = Memory(kills=3, limit=limit, peak=MIB)
    said = explain(before, Memory(kills=4, limit=limit, peak=peak))
    assert said == f"the kernel killed it (out of memory): {expected}"
    other = explain(before, Memory(kills=4, limit=limit, peak=peak), victim="a process of it")
    assert other.startswith("the kernel killed a process of it (out of memory): ")


def test_nothing_is_said_where_nothing_was_killed_or_nothing_was_seen() -> None:
    look = Memory(kills=3, limit=None, peak=None)
    assert explain(look, look) == explain(None, look) == explain(look, None) == explain(None, None) == ""


@pytest.mark.parametrize(
    ("killed", "failed", "explained"),
    [
        (RECENT / 2, RECENT / 2 + 1, True),
        (RECENT - 1, RECENT + 1, True),
        (RECENT - 1, 2 * RECENT - 2, True),
        (RECENT - 1, 2 * RECENT + 1, False),
        (RECENT - 1, 99 * RECENT, False),
    ],
    ids=["at once", "with a look between", "a minute later", "two minutes later", "hours later"],
)
def test_a_kill_of_long_ago_explains_nothing(killed: float, failed: float, explained: bool) -> None:
    def look(now: float) -> Memory:
        return Memory(kills=4 if now >= killed else 3, limit=None, peak=None)

    recent = RecentMemory.begin(0.0, lambda: look(0.0))
    while recent.due < failed:
        now = recent.due
        recent = recent.again(now - 1, lambda: look(failed)).again(now, lambda now=now: look(now))  # type: ignore[misc]
    assert bool(explain(recent.older, look(failed))) is explained


@pytest.fixture
def cgroup() -> Iterator[Path]:
    """Make a memory cgroup of 64 MiB on this machine, without swap, and remove it afterwards."""
    mount = Path("/sys/fs/cgroup")
    first = not (mount / "cgroup.controllers").exists()
    place = (mount / "memory" if first else mount) / f"paddle-launcher-memory-{os.getpid()}"
    names = ("memory.limit_in_bytes", "memory.memsw.limit_in_bytes") if first else ("memory.max", "memory.swap.max")
    try:
        place.mkdir()
    except OSError as error:
        pytest.skip(f"a memory cgroup cannot be made: {error}")
    try:
        try:
            (place / names[0]).write_text(str(64 * MIB))
            if (place / names[1]).exists():
                (place / names[1]).write_text(str(64 * MIB) if first else "0")
        except OSError as error:
            pytest.skip(f"a memory cgroup cannot be limited: {error}")
        yield place
    finally:
        wait_until(lambda: _removed(place))


def _removed(place: Path) -> bool:
    with suppress(OSError):  # what was killed a moment ago is still leaving it
        place.rmdir()
    return not place.exists()


# The launcher's part: it lives in the cgroup, looks, has a child that takes too much (or does not), and looks again.
LIFE = """
import json, os, pathlib, subprocess, sys
pathlib.Path(sys.argv[1], "cgroup.procs").write_text(str(os.getpid()))
from launcher.pod.programs.memory import Memory, explain
before = Memory.now()
child = subprocess.run([sys.executable, "-I", "-S", "-c", "x = b'x' * int(" + repr(sys.argv[2]) + ")"])
after = Memory.now()
print(json.dumps([child.returncode, before.kills, after.kills, after.limit, after.peak, explain(before, after)]))
"""


@pytest.mark.parametrize(("takes", "killed"), [(MIB, False), (512 * MIB, True)], ids=["little", "too much"])
def test_a_real_child_that_takes_too_much_is_named(cgroup: Path, takes: int, killed: bool) -> None:
    lived = subprocess.run(
        [sys.executable, "-c", LIFE, str(cgroup), str(takes)], capture_output=True, check=True, timeout=60
    )
    code, before, after, limit, peak, said = json.loads(lived.stdout)
    assert (code, after - before, limit) == ((-9, 1, 64 * MIB) if killed else (0, 0, 64 * MIB))
    assert 0 < peak <= 64 * MIB
    assert said.startswith("the kernel killed it (out of memory): limit 64.0 MiB, peak 6") is killed
    assert said.endswith("; raise resources.limits.memory, or use less") is killed


ROOM = 256 * MIB
# One of two takes too much itself, or has a helper that does, whereupon the other one ends by itself.
ITSELF = '[ "$LOCAL_RANK" = 1 ] && exec python3 -c "x = b\'x\' * (1 << 29)"; sleep 60'
ITS_HELPER = """
case "$LOCAL_RANK" in
0) python3 -c "x = b'x' * (1 << 29)"; touch killed; sleep 60 ;;
1) while [ ! -e killed ]; do sleep 0.05; done; exit 3 ;;
esac
"""


@pytest.mark.parametrize(
    ("script", "code", "said"),
    [
        (ITSELF, 137, "trainer 1 was ended by SIGKILL: the kernel killed it (out of memory): limit 256.0 MiB"),
        (
            ITS_HELPER,
            3,
            "trainer 1 exited with 3: the kernel killed a process of this pod (out of memory): limit 256",
        ),
    ],
)
def test_of_two_programs_that_share_a_pod_s_memory_the_right_one_is_named(
    cgroup: Path, tmp_path: Path, script: str, code: int, said: str
) -> None:
    for name in ("memory.memsw.limit_in_bytes", "memory.limit_in_bytes", "memory.max"):
        if (cgroup / name).exists():
            (cgroup / name).write_text(str(ROOM))
    env = {"LAUNCHER_RUNTIME": "env", "LAUNCHER_PROCESSES": "2", "LAUNCHER_MAX_RESTARTS": "0", "POD_IP": "127.0.0.1"}
    before = shell(f'echo $$ > {cgroup}/cgroup.procs && exec "$@"')
    with Lives() as lives:
        life = lives.start(*shell(script), env={**env, "LAUNCHER_WORKDIR": str(tmp_path)}, before=before)
        assert life.end(30) == code
        (told,) = (line for line in life.err().splitlines() if line.startswith("start_paddle: "))
        assert said in told
