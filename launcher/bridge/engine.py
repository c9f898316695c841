"""Training with or without parameter servers, in an order that loses no step and leaves no process waiting.

    session = Session(role, output)            # every process, pservers too: they need the same network
    ...                                         # the network: large tables by session.embedding, layers by Paddle;
                                                # no layer's shape may depend on the data
    session.minimize(cost, learning_rate)
    if role.serves:
        session.serve()
        return
    session.begin(directory)                    # from a pass's directory, or from the beginning
    for number in range(start, passes):
        mean = session.learn(number, feeds)     # one pass over this trainer's data
        session.together(f"pass-{number}")      # all have learned, and the servers have it
        session.save(number)
    session.finish()

Barriers are the launcher's (`launcher.here`): Paddle's own, gloo's, hang or crash when a rank dies.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from launcher import here
from launcher.bridge import native, parts, passes
from launcher.bridge.alone import Alone
from launcher.bridge.failure import BAD_DATA, SETTINGS, TrainingFailure
from launcher.bridge.fleet_role import FleetRole
from launcher.bridge.native import Untyped
from launcher.bridge.servers import Servers
from launcher.contract import OUTPUT


def _nothing(_batch: int, _size: int, _cost: float, *_also: float) -> None:
    pass


def _nobody(_directory: Path, _facts: Mapping[str, Any]) -> None:
    pass


def hold_finite(what: str, number: float, when: str) -> None:
    """Refuse a value that is infinite or no number."""
    if not math.isfinite(number):
        raise TrainingFailure(BAD_DATA, f"{what} is {number} {when}: is the learning rate too high?")


class Session:
    """One training of one process, from its network to its end."""

    def __init__(self, role: FleetRole, output: str = OUTPUT, seed: int = 1) -> None:
        self.role = role
        self._output = Path(output).absolute() if role.alone or role.serves else passes.safe(output)
        self.parameters = Alone() if role.alone else Servers(role)
        self.paddle = native.paddle()
        self._numpy = native.module("numpy")
        self.paddle.seed(seed)
        self._executor = self.paddle.static.Executor(self.paddle.CPUPlace())
        self._forward: dict[tuple[str, ...], Any] = {}

    @property
    def place(self) -> FleetRole:
        """The role, by its name in 0.1.0, whose examples stand on users' volumes."""
        return self.role

    def embedding(self, ids: Untyped, rows: int, dim: int, name: str | None = None, spread: float = 0.05) -> Untyped:
        """Return a column of vectors for ids of any number of columns, as [-1, columns, dim].

        A row begins within the spread; on servers the first number of each begins at 0. Without a name of its own the
        table is called `embedding_0.w_0` and so on, as Paddle calls those that it makes itself.
        """
        initial = self.paddle.nn.initializer.Uniform(-spread, spread)
        attributes = self.paddle.ParamAttr(name=name, initializer=initial)
        # Under servers Paddle takes ids of one column only.
        vectors = self.parameters.embedding(self.paddle.reshape(ids, [-1, 1]), rows, dim, attributes)
        return self.paddle.reshape(vectors, [-1, ids.shape[-1], dim])

    def minimize(self, cost: Untyped, learning_rate: float) -> None:
        """Set the cost to minimize; the network must be complete."""
        self._cost = cost
        self.names = tuple(each.name for each in self._program().all_parameters())
        self.parameters.minimize(cost, learning_rate)

    def serve(self) -> None:
        """Be a pserver until the trainers have finished."""
        if isinstance(self.parameters, Servers):
            self.parameters.serve()

    def begin(self, directory: str | None) -> None:
        """Load the first weights, or those of a complete pass, before any trainer trains."""
        facts = dict(passes.read_pass(Path(directory))) if directory else {}
        self._executor.run(self.paddle.static.default_startup_program())
        if self.role.leads:
            self.parameters.connect()
            if directory:
                self.parameters.load(Path(directory), facts)
        here.barrier("begin")  # a trainer that connects earlier would train against zeros
        if not self.role.leads:
            self.parameters.connect()
        here.barrier("ready")

    def open(self, directory: str) -> None:
        """Load a pass's parameters to predict in this process, also one that was saved by pservers."""
        if isinstance(self.parameters, Servers):
            raise TrainingFailure(SETTINGS, f"{directory} can only be opened by a process without pservers")
        facts = passes.read_pass(Path(directory))
        self._executor.run(self.paddle.static.default_startup_program())
        self.parameters.fill(parts.parameters(Path(directory), facts))

    def learn(
        self,
        number: int,
        feeds: Iterable[Mapping[str, Any]],
        after: Callable[..., None] = _nothing,
        cost: Untyped = None,
        also: Sequence[Untyped] = (),
    ) -> float:
        """Train one pass over feeds and return the mean cost, by sample; `after` is called for each batch.

        `cost` is the reported cost, if it differs from the minimized one (a penalty left out). `after` receives its
        mean over the batch, then the means of `also`.
        """
        wanted = (self._cost if cost is None else cost, *also, self._cost)
        total, samples = 0.0, 0
        for batch, feed in enumerate(feeds, start=1):
            size = len(next(iter(feed.values())))
            mean, *others, minimized = self._step(feed, wanted)
            for each in (minimized, mean):
                hold_finite("the cost", each, f"in pass {number}, batch {batch}")
            total, samples = total + mean * size, samples + size
            after(batch, size, mean, *others)
        if not samples:
            raise TrainingFailure(
                BAD_DATA, f"trainer {self.role.rank} has no batch in pass {number}: its data is empty"
            )
        return total / samples

    def _step(self, feed: Mapping[str, Any], wanted: Sequence[Untyped]) -> list[float]:
        self.parameters.pull()
        found = self._executor.run(self._program(), feed=dict(feed), fetch_list=list(wanted))
        return [float(each.reshape(-1)[0]) for each in found]

    def _program(self) -> Untyped:
        return self.paddle.static.default_main_program()  # another one after `minimize`

    def together(self, name: str) -> None:
        """Wait until all trainers are here and all their pushes are on the servers."""
        self.parameters.flush()
        here.barrier(name)
        self.parameters.pull()

    def predict(self, feed: Mapping[str, Any], *wanted: Untyped) -> Sequence[Any]:
        """Return values of the network for a feed, without learning from it."""
        names = tuple(each.name for each in wanted)
        if names not in self._forward:
            # A copy for tests still pushes to servers; prune removes every operation that the values do not need.
            self._forward[names] = self._program().clone(for_test=True)._prune(list(wanted))
        program = self._forward[names]
        known = {name: value for name, value in feed.items() if program.global_block().has_var(name)}
        found: Sequence[Any] = self._executor.run(program, feed=known, fetch_list=list(names))
        return found

    def held(self) -> Iterator[tuple[str, Any]]:
        """Yield the name and the values of each parameter that this process has: on servers those of the layers."""
        scope = self.paddle.static.global_scope()
        for name in self.names:
            if name not in self.parameters.elsewhere:
                yield name, self._numpy.array(scope.find_var(name).get_tensor())

    def save(self, number: int, beside: Callable[[Path, Mapping[str, Any]], None] = _nobody) -> None:
        """Save a pass, complete with `done`, once all trainers are here; `beside` may add files of its own.

        It does not return where the gang is about to end, or others are ready to take part: as `here.saving`.
        """
        if self.role.leads:
            for name, values in self.held():  # the last batch may have ruined them, and no cost shows it
                hold_finite(name, float(abs(values).max()), f"after pass {number}")

            def fill(directory: Path) -> Mapping[str, Any]:
                facts = self.parameters.save(directory)
                beside(directory, facts)
                return facts

            passes.write_pass(self._output, number, fill)
        here.barrier(here.COMPLETE.format(f"pass {number}"))

    def finish(self) -> None:
        """End together with all trainers: the pservers last, stopped by one trainer."""
        self.together("trained")
        self.parameters.end(self.role.leads)
        here.barrier("stopped")
        self.parameters.leave()
