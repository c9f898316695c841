"""A pserver or a trainer, by TRAINING_ROLE, small and deterministic, which has the faults that GANG_SCRIPT gives it.

A trainer's pass asks every pserver, works for a moment, and meets the others at a barrier; rank 0 then writes the
checkpoint, whose content follows from the passes so far, and all wait for that. `tests/support/script.py` says which
faults there are.
"""

import hashlib
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn

sys.path.insert(0, str(Path(__file__).parents[3]))
sys.path.insert(0, str(Path(__file__).with_name("witness")))

import sitecustomize  # type: ignore[import-not-found]  # the witness, before anything that can fail

from launcher import here

FIRST_PORT = 7164
SCRIPT = Path(os.environ["GANG_SCRIPT"])
TOLD = json.loads(SCRIPT.read_text())
ROLE = os.environ.get("TRAINING_ROLE", "TRAINER").lower()
PORT = int(os.environ.get("PADDLE_PORT", FIRST_PORT))
ME: dict[str, Any] = {"role": ROLE, "rank": here.rank(), "generation": PORT - FIRST_PORT + 1}
if ROLE == "pserver":
    names = os.environ["PADDLE_PSERVERS_IP_PORT_LIST"].split(",")
    ME["rank"] = names.index(f"{os.environ['POD_IP']}:{PORT}")
OUTPUT = Path(os.environ["JOB_PATH"], os.environ["JOB_NAME"], "output")


def tell(what: str, **facts: object) -> None:
    """Add a line to what all children of the gang tell the test."""
    who = {**ME, "address": os.environ["POD_IP"], "pid": os.getpid(), "session": os.getsid(0)}
    line = {"at": time.monotonic(), "what": what, **who, **facts}
    with SCRIPT.with_name("trace").open("ab", buffering=0) as trace:
        trace.write(json.dumps(line).encode() + b"\n")


def meet(place: str) -> list[str]:
    """Have the faults of this place, each as often as it is given; return their names."""
    had = []
    for number, fault in enumerate(TOLD["faults"]):
        wanted = {key: fault.get(key) for key in ME if fault.get(key) is not None}
        if fault["at"] == place and all(ME[key] == value for key, value in wanted.items()) and take(number, fault):
            tell("fault", do=fault["do"], place=place)
            had.append(fault["do"])
            name, _, argument = fault["do"].partition(" ")
            VERBS.get(name, str)(argument)
    return had


def take(number: int, fault: dict[str, Any]) -> bool:
    """Return whether this fault is still to be had: each of its times is a file that one child can make."""
    times = fault.get("times", 1)
    for turn in range(times or 0):
        try:
            SCRIPT.with_name(f"had-{number}-{turn}").touch(exist_ok=False)
        except FileExistsError:
            continue
        return True
    return not times


def hang(_: str = "") -> NoReturn:
    """Do nothing, for ever."""
    while True:
        signal.pause()


def deaf(_: str) -> None:
    """Never mind TERM from now on."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)


def wait(name: str) -> None:
    """Wait until the test says so."""
    while not SCRIPT.with_name(name or "go").exists():
        time.sleep(0.005)


def helper(_: str) -> None:
    """Leave a process behind that stays in this group and is deaf."""
    words = [sys.executable, "-I", "-S", "-c", "import signal; signal.signal(15, signal.SIG_IGN); signal.pause()"]
    tell("helper", helper=subprocess.Popen(words).pid)


def lie(code: str) -> None:
    """Note an end with this code, and go on: what comes of it is not what was noted."""
    sitecustomize.WITNESS.code = int(code)
    sitecustomize.WITNESS.end()


def double(run: str) -> None:
    """Leave a process behind that notes that it is this program in the next generation, or in another run."""
    other = {"GANG_RUN": run} if run else {"PADDLE_PORT": str(PORT + 1)}
    following = {**other, sitecustomize.FIRST_HERE: ""}
    subprocess.Popen([sys.executable, "-S", sitecustomize.__file__], env={**os.environ, **following})


def allocate(megabytes: str) -> NoReturn:
    """Hold so much memory, for ever."""
    TOLD["memory"] = b"x" * (int(megabytes) << 20)
    hang()


def saver(seconds: str) -> None:
    """On TERM save for so long, and then end well."""

    def save_and_end(*_: object) -> NoReturn:
        time.sleep(float(seconds))
        tell("farewell")
        os._exit(0)

    signal.signal(signal.SIGTERM, save_and_end)


def fail(words: str) -> NoReturn:
    """Say why, as the last line, and exit with 3; `#` in the words is another number each time."""
    print(words.replace("#", str(time.monotonic_ns())), file=sys.stderr, flush=True)
    os._exit(3)


VERBS: dict[str, Callable[[str], object]] = {
    "exit": lambda code: os._exit(int(code)),
    "fail": fail,
    "kill": lambda _: os.kill(os.getpid(), signal.SIGKILL),
    "hang": hang,
    "stop": lambda _: os.kill(os.getpid(), signal.SIGSTOP),
    "deaf": deaf,
    "wait": wait,
    "saver": saver,
    "helper": helper,
    "lie": lie,
    "double": double,
    "allocate": allocate,
}


def after(state: str, number: int) -> str:
    """Return the model after one more pass."""
    return hashlib.sha256(f"{state}/{number}/{here.trainers()}".encode()).hexdigest()


def save(number: int, state: str) -> None:
    """Write a checkpoint, `done` last; torn if the script says so."""
    had = meet(f"save {number}")
    at = OUTPUT / f"pass-{number:05}"
    at.mkdir(parents=True, exist_ok=True)
    (at / "model").write_text(state[: 10 if "torn" in had else None])
    if "undone" not in had:
        (at / "done").write_text(json.dumps({"files": {"model": len(state)}}))
    tell("saved", number=number)
    meet(f"saved {number}")


def ask(endpoint: str, number: int) -> bool:
    """Give a pserver this pass's news, and return whether it took it."""
    address, _, port = endpoint.rpartition(":")
    try:
        with socket.create_connection((address, int(port)), timeout=1) as wire:
            wire.sendall(b"%d\n" % number)
            return wire.recv(2) == b"ok"
    except OSError:
        return False


def ask_all(number: int) -> None:
    """Ask each pserver, and try for ever where it is not there: so does Paddle; but not after the last pass."""
    for endpoint in filter(None, os.environ.get("PADDLE_PSERVERS_IP_PORT_LIST", "").split(",")):
        while not ask(endpoint, number) and number < TOLD["passes"]:
            time.sleep(0.02)


def train() -> None:
    """Train from where the launcher says to the last pass."""
    start, directory = here.resume()
    state = Path(directory, "model").read_text() if directory else "nothing"
    tell("start", first=start, state=state)
    meet("start")
    for number in range(start, TOLD["passes"]):
        print("pass", number, flush=True)
        here.progress(pass_=number, cost=1.0 / (number + 1))
        tell("pass", number=number)
        meet(f"pass {number}")
        ask_all(number)
        time.sleep(TOLD["seconds"])
        state = after(state, number)
        here.barrier(f"pass-{number}")
        if here.rank() == 0:
            save(number, state)
        here.barrier(f"saved-{number}")  # so that whatever comes next finds this checkpoint whole
    meet("end")
    if any(fault["at"] == f"pass {TOLD['passes']}" for fault in TOLD["faults"]):
        ask_all(TOLD["passes"])
    tell("end", state=state)


def serve() -> None:
    """Serve until told to end."""
    signal.signal(signal.SIGTERM, lambda *_: os._exit(0))
    tell("start")
    meet("start")
    with socket.create_server((os.environ["POD_IP"], PORT), backlog=64) as server:
        meet("serving")
        while True:
            wire, _ = server.accept()
            with wire:
                wire.settimeout(1)
                try:
                    number = wire.recv(16).strip()
                    if number:
                        meet(f"pass {int(number)}")
                        wire.sendall(b"ok")
                except OSError:
                    continue


serve() if ROLE == "pserver" else train()
