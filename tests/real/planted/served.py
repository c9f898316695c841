"""The same training with parameter servers in plain Python: each has a part of the line, and steps it."""

from __future__ import annotations

import json
import os
import selectors
import socket
from pathlib import Path

from launcher import here
from tests.real.planted.acts import planted
from tests.real.planted.plain import PASSES, RATE, STEPS, points, slope

NUMBERS = 2  # of the line; a pserver has those that its rank comes to, the others have none


class Number:
    """One number of the line at one pserver, which answers one trainer after the other."""

    def __init__(self) -> None:
        """Begin with nothing."""
        self.value = 0.0

    def answer(self, wire: socket.socket) -> bool:
        """Take a step's slope, or a value to begin with, and say the value; return whether the trainer is there."""
        line = wire.makefile("rb").readline()
        if not line:
            return False
        said = json.loads(line)
        PLANTED.asked(said["pass"], said["step"])
        self.value = said["value"] if "value" in said else self.value - RATE * said["slope"]
        wire.sendall(json.dumps(self.value).encode() + b"\n")
        return True


class Line:
    """The line as a trainer has it: at the pservers."""

    def __init__(self) -> None:
        """Connect to all."""
        names = [name.split(":") for name in os.environ["PADDLE_PSERVERS_IP_PORT_LIST"].split(",")]
        wires = [socket.create_connection((host, int(port))) for host, port in names]
        self.files = [wire.makefile("rw") for wire in wires]

    def ask(self, number: int, step: int, what: str, values: list[float]) -> list[float]:
        """Say something to each pserver, and return their values."""
        for at, file in enumerate(self.files):
            told = {"pass": number, "step": step, what: values[at] if at < NUMBERS else 0.0}
            file.write(json.dumps(told) + "\n")
            file.flush()
        return [json.loads(file.readline()) for file in self.files]


PLANTED = planted()


def serve() -> None:
    number, ready = Number(), selectors.DefaultSelector()
    with socket.create_server((os.environ["POD_IP"], int(os.environ["PADDLE_PORT"]))) as server:
        ready.register(server, selectors.EVENT_READ)
        while True:
            for key, _ in ready.select():
                if key.data is None:
                    wire = server.accept()[0]
                    ready.register(wire, selectors.EVENT_READ, wire)
                elif not number.answer(key.data):
                    ready.unregister(key.data)


def train() -> None:
    some, line = points(here.rank()), Line()
    start, directory = here.resume()
    values = json.loads(Path(directory, "line.json").read_text()) if directory else [0.0, 0.0]
    if here.rank() == 0:
        line.ask(-1, -1, "value", values)
    here.barrier("begin")
    for number in range(start, PASSES):
        for step in range(STEPS):
            *down, cost = slope(values, some)
            values = line.ask(number, step, "slope", down)[:NUMBERS]
            here.progress(pass_=number, step=step, cost=cost)
        print(f" Pass={number} AvgCost={cost:.6g}", flush=True)
        here.barrier(f"pass-{number}")
        with here.saving(number) as directory:
            if directory:
                Path(directory, "line.json").write_text(json.dumps(values))


if __name__ == "__main__":
    serve() if PLANTED.role == "pserver" else train()
