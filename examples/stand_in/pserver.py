"""`paddle pserver`: holds a block of the parameters behind each of its ports, until it is told to end.

In every step it takes one message of each trainer in the order of their ids, so that the sum of the gradients is
the same whatever the timing. Like v1's, it waits for ever for a trainer that is gone.
"""

from __future__ import annotations

import logging
import os
import signal
import socket
import sys
import threading
from array import array
from collections.abc import Sequence

from flags import Flags
from wire import Kind, Line, Message

HELLO_LIMIT = 10.0  # seconds that a connection may stay silent: it may be a probe, or nobody


def serve(flags: Flags) -> None:
    """Serve until a signal ends the process."""
    address = os.environ.get("POD_IP") or "0.0.0.0"  # noqa: S104  # v1 took the address of --nics
    ports = [flags.port + number for number in range(flags.ports_num + flags.ports_num_for_sparse)]
    listeners = [_listen(address, port) for port in ports]
    # The ports for sparse parameters are opened, as v1's were; this model has none, so nobody comes.
    for listener in listeners[: flags.ports_num]:
        threading.Thread(target=_serve_block, args=(listener, flags.num_gradient_servers), daemon=True).start()
    logging.info("pserver started: %s:%d, %d ports", address, flags.port, len(ports))
    while True:
        signal.pause()


def _listen(address: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    try:
        return socket.create_server((address, port), family=family, backlog=1024)
    except OSError as error:
        sys.exit(f"paddle pserver: cannot listen on {address}:{port}: {error.strerror}")


def _serve_block(listener: socket.socket, trainers: int) -> None:
    """Serve one training after the other."""
    while True:
        lines, hellos = _meet(listener, trainers)
        rate, *first = hellos[0].values
        try:
            _train(lines, rate, array("d", first))
        except OSError as error:
            logging.info("a trainer is lost: %s; waiting for it until told to end", error)
            threading.Event().wait()  # the others' connections stay open: like v1, they hang


def _meet(listener: socket.socket, trainers: int) -> tuple[list[Line], list[Message]]:
    """Wait until every trainer has said hello; a later hello of the same id replaces the earlier."""
    found: dict[int, tuple[Line, Message]] = {}
    while len(found) < trainers:
        line = Line(listener.accept()[0])
        line.connection.settimeout(HELLO_LIMIT)
        try:
            hello = line.receive()
        except OSError:
            line.close()  # somebody who only looked whether the port is open
            continue
        if hello.kind is not Kind.HELLO or hello.sender >= trainers:
            logging.info("trainer_id %d is not one of %d trainers", hello.sender, trainers)
            line.close()
            continue
        line.connection.settimeout(None)
        found[hello.sender] = (line, hello)
    met = [found[trainer] for trainer in range(trainers)]
    return [line for line, _ in met], [hello for _, hello in met]


def _train(lines: Sequence[Line], rate: float, values: array[float]) -> None:
    _answer(lines, Kind.HELLO, values)
    kind = Kind.PUSH
    while kind is not Kind.BYE:
        messages = [line.receive() for line in lines]
        kind = min(message.kind for message in messages)
        for message in messages:
            for index, slope in enumerate(message.values):
                values[index] -= rate * slope
        _answer(lines, kind, values)
    for line in lines:
        line.close()
    logging.info("every trainer is done")


def _answer(lines: Sequence[Line], kind: Kind, values: array[float]) -> None:
    for line in lines:
        line.send(Message(kind=kind, values=values))
