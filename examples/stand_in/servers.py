"""The parameters as a trainer sees them: divided over the pservers' ports, or alone in its own process."""

from __future__ import annotations

import logging
import select
import socket
import sys
import time
from array import array
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

from flags import Flags
from wire import Kind, Line, Message

CONNECT_LIMIT = 60.0
# A pserver's own launcher tells why it died; a trainer that fell over at once would only hide that.
LOSS_DELAY = 1.0


class Lost(Exception):
    """A pserver is gone."""


class Parameters(Protocol):
    """What a trainer asks of its parameters."""

    def begin(self, rate: float, values: array[float]) -> array[float]:
        """Bring the first values, and return those that count."""

    def exchange(self, kind: Kind, slopes: array[float]) -> tuple[Kind, array[float]]:
        """Bring a gradient, or none, and return what all trainers did, and the values after it."""

    def end(self) -> None:
        """Wait until every trainer is done."""


class Alone:
    """`--local=1`: the parameters of a trainer that trains alone."""

    def begin(self, rate: float, values: array[float]) -> array[float]:
        """Keep them."""
        self._rate, self._values = rate, values
        return values

    def exchange(self, kind: Kind, slopes: array[float]) -> tuple[Kind, array[float]]:
        """Step down the slope."""
        for index, slope in enumerate(slopes):
            self._values[index] -= self._rate * slope
        return kind, self._values

    def end(self) -> None:
        """Do nothing: nobody else is there."""


class Servers:
    """The parameters divided over every port of every pserver, in the order of `--pservers`."""

    def __init__(self, flags: Flags) -> None:
        """Connect to all of them."""
        hosts = [host for host in flags.pservers.split(",") if host]
        self._me = flags.trainer_id
        self._addresses = [(host, flags.port + number) for host in hosts for number in range(flags.ports_num)]
        for number, (host, port) in enumerate(self._addresses):
            logging.info("pserver %d %s:%d", number, host, port)
        self._lines = [Line(_connect(host, port)) for host, port in self._addresses]

    def begin(self, rate: float, values: array[float]) -> array[float]:
        """Wait for all trainers; the first one's values count."""
        self._size = len(values)
        parts = [array("d", [rate]) + values[part] for part in self._parts()] if self._me == 0 else []
        return self._round(Kind.HELLO, parts)[1]

    def exchange(self, kind: Kind, slopes: array[float]) -> tuple[Kind, array[float]]:
        """Push a gradient and pull the values, one step with all other trainers."""
        return self._round(kind, [slopes[part] for part in self._parts()])

    def end(self) -> None:
        """Say bye until all have; a pserver that is gone by then was told to go by somebody who heard it all."""
        try:
            while min(message.kind for message in self._ask(Kind.BYE, [])) is not Kind.BYE:
                continue
        except Lost:
            return

    def _parts(self) -> list[slice]:
        count = len(self._addresses)
        return [slice(n * self._size // count, (n + 1) * self._size // count) for n in range(count)]

    def _round(self, kind: Kind, parts: list[array[float]]) -> tuple[Kind, array[float]]:
        try:
            answers = self._ask(kind, parts)
        except Lost as error:
            time.sleep(LOSS_DELAY)
            sys.exit(f"paddle train: {error}")
        values = array("d")
        for answer in answers:
            values.extend(answer.values)
        return answers[0].kind, values

    def _ask(self, kind: Kind, parts: list[array[float]]) -> list[Message]:
        """Ask every pserver and return their answers; the first that is lost ends the waiting for the others."""
        for number, line in enumerate(self._lines):
            with self._lost(number):
                line.send(Message(kind=kind, sender=self._me, values=parts[number] if parts else array("d")))
        answers: dict[int, Message] = {}
        while len(answers) < len(self._lines):
            waiting = {line.connection: n for n, line in enumerate(self._lines) if n not in answers}
            ready, _, _ = select.select(waiting, [], [])
            for number in (waiting[connection] for connection in ready):
                with self._lost(number):
                    answers[number] = self._lines[number].receive()
        return [answers[number] for number in sorted(answers)]

    @contextmanager
    def _lost(self, number: int) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            host, port = self._addresses[number]
            raise Lost(f"pserver {number} {host}:{port} is lost: {error}") from error


def _connect(host: str, port: int) -> socket.socket:
    """Connect to a pserver, which may still be starting."""
    deadline = time.monotonic() + CONNECT_LIMIT
    pause = 0.02
    while True:
        try:
            connection = socket.create_connection((host, port), timeout=CONNECT_LIMIT)
        except OSError as error:
            if time.monotonic() + pause > deadline:
                sys.exit(f"paddle train: no pserver at {host}:{port} within {CONNECT_LIMIT:.0f} s: {error}")
            time.sleep(pause)
            pause = min(2 * pause, 1.0)
        else:
            connection.settimeout(None)
            return connection
