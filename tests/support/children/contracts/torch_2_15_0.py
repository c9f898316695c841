"""Meets as a program of torch 2.15.0 does, without torch: a function is named like the one whose reading it follows.

    torch_2_15_0.py FAILS        the rank FAILS raises once all have met, before the first restart

Written from torch/distributed/rendezvous.py, torch/distributed/distributed_c10d.py
and torch/distributed/elastic/multiprocessing/errors/error_handler.py.
"""

from __future__ import annotations

import json
import os
import socket
import sys
import time
import traceback


def get_env_or_raise(name: str) -> str:
    """rendezvous.py, _env_rendezvous_handler._get_env_or_raise."""
    if not os.environ.get(name):
        raise ValueError(f"env:// rendezvous: environment variable {name} expected, but not set")
    return os.environ[name]


def env_rendezvous_handler() -> tuple[int, int, list[int]]:
    """rendezvous.py, _env_rendezvous_handler; then what init_process_group does with the store: all are awaited."""
    rank, size = int(get_env_or_raise("RANK")), int(get_env_or_raise("WORLD_SIZE"))
    address, port = get_env_or_raise("MASTER_ADDR"), int(get_env_or_raise("MASTER_PORT"))
    return rank, size, create_c10d_store(address, port, rank, size)


def create_c10d_store(address: str, port: int, rank: int, size: int) -> list[int]:
    """rendezvous.py, _create_c10d_store: rank 0 serves, at every address, unless torchrun's agent does."""
    if os.environ.get("TORCHELASTIC_USE_AGENT_STORE") == str(True):
        raise ConnectionError("every rank is a client of a store that no agent serves")
    server = socket.create_server(("", port)) if rank == 0 else None
    with connected(address, port) as own:
        own.sendall(f"{rank}\n".encode())
        if server:
            serve(server, size)
        return sorted(map(int, own.makefile().readline().split()))


def serve(server: socket.socket, size: int) -> None:
    """Tell everybody who came, once all have."""
    with server:
        came = [server.accept()[0] for _ in range(size)]
        ranks = [each.makefile().readline().strip() for each in came]
        for each in came:
            each.sendall(" ".join(ranks).encode() + b"\n")
            each.close()


def connected(address: str, port: int) -> socket.socket:
    """TCPStore's client: it tries until the server is there, or its timeout is over."""
    until = time.monotonic() + 60
    while True:
        try:
            return socket.create_connection((address, port), timeout=60)
        except ConnectionRefusedError:
            if time.monotonic() > until:
                raise
            time.sleep(0.01)


def is_torchelastic_launched() -> bool:
    """distributed_c10d.py, is_torchelastic_launched."""
    return os.getenv("TORCHELASTIC_RUN_ID") is not None


def record_exception(error: BaseException) -> None:
    """errors/error_handler.py, ErrorHandler.record_exception, which `record` calls before it raises again."""
    file = os.environ.get("TORCHELASTIC_ERROR_FILE")
    if file:
        extra = {"py_callstack": traceback.format_exc(), "timestamp": str(int(time.time()))}
        with open(file, "w") as opened:  # noqa: PTH123  # as it stands there
            json.dump({"message": {"message": f"{type(error).__name__}: {error}", "extraInfo": extra}}, opened)


def main() -> None:
    """Meet, tell who came, and fail where that is asked for."""
    rank, size, came = env_rendezvous_handler()
    restart, local = int(os.environ["TORCHELASTIC_RESTART_COUNT"]), int(os.environ["LOCAL_RANK"])
    port, launched = os.environ["MASTER_PORT"], is_torchelastic_launched()
    print(f"rank {rank} of {size}, device {local}, restart {restart}, {launched}: met {came} at {port}", flush=True)
    if (str(rank), restart) == (sys.argv[1], 0):
        raise ValueError(f"rank {rank} has no batch")


if __name__ == "__main__":
    try:
        main()
    except Exception as failure:
        record_exception(failure)
        raise
