"""The parameters on Paddle's own servers: asynchronous, the one mode that works in 2.6.2.

Each oddity here answers one of Paddle, which hides its failures and its demands.
"""

from __future__ import annotations

import math
import os
import signal
import socket
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from launcher.bridge import native, parts, passes
from launcher.bridge.failure import CANNOT_START, SETTINGS, STORAGE, TrainingFailure
from launcher.bridge.fleet_role import FleetRole
from launcher.bridge.native import Untyped

_FAREWELL = 2.0
_LOOK_AGAIN = 0.02
# The client would merge twelve pushes into one, and Adam would lose their steps; the rest are its defaults.
CLIENT = (
    "-max_body_size=314217728 -bthread_concurrency=40 -socket_max_unwritten_bytes=2048000000 "
    "-max_connection_pool_size=1950 -pserver_push_dense_merge_limit=1 -pserver_push_sparse_merge_limit=1"
)


class Servers:
    """The parameters of a network, held by pservers."""

    def __init__(self, role: FleetRole) -> None:
        os.environ.update(role.environment())
        self._role = role
        self._paddle = native.paddle()
        self._numpy = native.module("numpy")
        self._fleet = native.module("paddle.distributed.fleet")
        self._tables: dict[str, tuple[int, int]] = {}

    @property
    def elsewhere(self) -> frozenset[str]:
        """The tables that this process does not have."""
        return frozenset(self._tables)

    @property
    def shards(self) -> int:
        """The files of a sparse table: as many on each pserver, since one without any dies of SIGFPE in a load."""
        return parts.shards(len(self._role.pservers))

    def embedding(self, ids: Untyped, rows: int, dim: int, attributes: Untyped) -> Untyped:
        """Return the vectors of a column of ids."""
        name = self._paddle.utils.unique_name.generate("embedding")  # counted in a training without pservers, too
        attributes.name = attributes.name or f"{name}.w_0"
        self._tables[attributes.name] = (rows, dim)
        return self._paddle.static.nn.sparse_embedding(ids, size=[rows, dim], param_attr=attributes)

    def minimize(self, cost: Untyped, learning_rate: float) -> None:
        """Make the program train; a trainer waits here until every pserver accepts connections."""
        with native.quiet():
            strategy = self._fleet.DistributedStrategy()
            strategy.a_sync = True  # with False every trainer dies of SIGSEGV at its first step
            strategy.sparse_table_configs = {name: self._table(name) for name in self._tables}
            self._fleet.init(is_collective=False)
            # Others than Adam and SGD do not exist there, and a sparse table always has Adam.
            adam = self._paddle.optimizer.Adam(learning_rate)
            self._fleet.distributed_optimizer(adam, strategy).minimize(cost)
        self._runtime = self._fleet.fleet._runtime_handle

    def _table(self, name: str) -> dict[str, object]:
        own = f"table_parameters.{name}."
        return {own + "shard_num": self.shards, own + "table_class": "MemorySparseTable"}

    def serve(self) -> None:
        """Serve until trainer 0 ends the training."""
        endpoint = self._role.pservers[self._role.rank]
        check_port(endpoint)
        with native.quiet():
            self._fleet.init_server()
            self._fleet.run_server()
        # After its stop this pserver has done its work: a TERM for the others must not make a failure of it.
        signal.signal(signal.SIGTERM, signal.SIG_IGN)

    def connect(self) -> None:
        """Connect to the pservers; trainer 0 first, since it sends the first weights."""
        public = native.module("paddle.distributed.ps.utils.public")
        self._runtime.ps_desc_builder.ps_desc.init_gflags = CLIENT
        with native.quiet():
            self._fleet.init_worker()
            context = self._runtime.context
            self._received = public.get_the_one_recv_context(context, split_dense_table=False)
            self._sent = public.get_the_one_send_context(
                context, split_dense_table=False, ep_list=self._runtime.endpoints
            )

    def pull(self) -> None:
        """Fetch the dense weights; a step by itself only pushes their gradients."""
        self._runtime._pull_all_dense(self._runtime.scopes, self._sent, self._received)

    def flush(self) -> None:
        """Wait until all pushes have arrived."""
        self._runtime._worker.client_flush()

    def save(self, directory: Path) -> dict[str, Any]:
        """Let the pservers write their parameters, and return the facts for `done`."""
        self._runtime._worker.save_all_model(str(passes.safe(str(directory))), 0)
        passes.await_files(directory, self._expected())
        facts = self._facts()
        _check_dense(directory, facts["tables"])
        return facts

    def load(self, directory: Path, facts: Mapping[str, Any]) -> None:
        """Let the pservers load a pass, also of another number of pservers, where theirs can read it."""
        mine = self._facts()
        parts.check_readers(directory, facts, mine["pservers"])
        passes.check_same(directory, facts, {"shards": mine["shards"], "tables": mine["tables"]})
        parts.check_parts(directory)
        self._runtime._worker.load_model(str(passes.safe(str(directory))), 0)
        self.pull()
        scope = self._paddle.static.global_scope()
        for name, value in parts.parameters(directory, facts, sparse=False).items():
            held = self._numpy.array(scope.find_var(name).get_tensor())
            if not self._numpy.allclose(held, value, rtol=1e-4, atol=1e-6):
                raise TrainingFailure(
                    STORAGE,
                    f"{directory}: the pservers hold other values of {name} after loading it: check that every "
                    "pserver's pod mounts the same volume at the same path",
                )

    def end(self, leads: bool) -> None:
        """Stop the pservers, from one trainer only."""
        if leads:
            self._runtime._worker.stop_server()
            for endpoint in self._role.pservers:
                _await_close(endpoint)

    def leave(self) -> None:
        """Disconnect from the pservers."""
        with native.quiet():
            self._fleet.stop_worker()

    def _facts(self) -> dict[str, Any]:
        tables = {f"{context.table_id():03}": self._described(context) for context in self._sent.values()}
        return {"pservers": len(self._role.pservers), "shards": self.shards, "tables": tables}

    def _described(self, context: Untyped) -> dict[str, Any]:
        """Return the facts for reading a table, as JSON takes them."""
        if context.is_sparse():
            name = self._runtime.context["grad_name_to_param_name"][context.origin_varnames()[0]]
            rows, dim = self._tables[name]
            return {"sparse": name, "rows": rows, "dim": dim}
        variables = self._paddle.static.default_main_program().global_block().vars
        return {"dense": [[name, list(variables[name].shape)] for name in self._received[context.table_id()]]}

    def _expected(self) -> dict[str, int]:
        """Return how many files each table has."""
        return {
            f"{context.table_id():03}": self.shards if context.is_sparse() else len(self._role.pservers)
            for context in self._sent.values()
        }


def _check_dense(directory: Path, tables: Mapping[str, Any]) -> None:
    """Check that the pservers have as many numbers as the trainers push: they drop any others without a message."""
    for table, told in tables.items():
        if "dense" in told:
            mine, theirs = sum(math.prod(shape) for _, shape in told["dense"]), len(parts.dense(directory / table))
            if mine != theirs:
                raise TrainingFailure(
                    SETTINGS,
                    f"the pservers hold {theirs} numbers of the layers, the trainers have {mine}: expected the same "
                    "network in every process: no layer's shape may depend on the data",
                )


def _await_close(endpoint: str) -> None:
    """Wait a moment until a pserver has closed its port: it is killed if the trainers leave first."""
    host, _, port = endpoint.rpartition(":")
    deadline = time.monotonic() + _FAREWELL
    while time.monotonic() < deadline:
        try:
            socket.create_connection((host, int(port)), timeout=_FAREWELL).close()
        except OSError:
            return
        time.sleep(_LOOK_AGAIN)


def check_port(endpoint: str) -> None:
    """Check that the port is free: a pserver without its port ends with 0 at once."""
    host, _, port = endpoint.rpartition(":")
    try:
        socket.create_server((host, int(port))).close()
    except OSError as error:
        raise TrainingFailure(CANNOT_START, f"a pserver cannot listen on {endpoint}: {error.strerror}") from None
