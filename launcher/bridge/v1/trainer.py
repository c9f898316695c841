"""`paddle train`: trains the config's network on its data, writes v1's log, and saves the passes."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from launcher import here
from launcher.bridge import config as configs
from launcher.bridge import parts, passes
from launcher.bridge.config import ConfigFile, Network
from launcher.bridge.engine import Session, hold_finite
from launcher.bridge.failure import SETTINGS, TrainingFailure
from launcher.bridge.v1 import names, pass_stats
from launcher.bridge.v1.flags import V1Flags
from launcher.bridge.v1.log import V1Log
from launcher.bridge.v1.pass_stats import PassStats, Sums
from launcher.bridge.v1.role import trainer_role
from launcher.contract import PASS_PREFIX, pass_directory


def train(flags: V1Flags, log: V1Log) -> None:
    """Train every pass, with all other trainers."""
    if not flags.config:
        raise TrainingFailure(
            SETTINGS, "--config is not given: expected --config=FILE, a Python file with the network"
        )
    role = trainer_role(flags, os.environ)
    if flags.trainer_count > 1 and not os.environ.get("OMP_NUM_THREADS"):
        log.tell(f"--trainer_count={flags.trainer_count}: one thread computes: set OMP_NUM_THREADS for more")
    session = Session(role, flags.save_dir)
    config = configs.load(Path(flags.config))
    directory = _first(flags)
    data = config.data()
    network = config.network(session, data)
    log.tell(f"The input order is [{', '.join(network.inputs)}]")
    log.tell(f"The output order is [{network.told.name}]")
    log.tell("trainer mode: Normal")
    for number, (host, port) in enumerate(_ports(role.pservers, flags)):
        log.tell(f"pserver {number} {host}:{port}")
    session.minimize(network.cost, config.learning_rate)
    log.tell(f"Initing parameters from {directory}.." if directory else "Initing parameters..")
    session.begin(directory)
    log.tell("Init parameters done.")
    training = Training(flags, log, session, config, network, data)
    try:
        for number in range(flags.start_pass, flags.num_passes):
            training.run(number)
        session.finish()
    finally:
        log.end_dots()


@dataclass
class Training:
    """One training, pass by pass."""

    flags: V1Flags
    log: V1Log
    session: Session
    config: ConfigFile
    network: Network
    data: Any

    def run(self, number: int) -> None:
        """Train, test and save one pass."""
        role, flags = self.session.role, self.flags
        self.course = PassStats(number, tuple(self.network.evaluators))
        feeds = self.config.train(self.data, number, role, self.network)
        cost = self.session.learn(number, feeds, self._report, self.network.told, tuple(self._evaluators))
        self.session.together(f"{PASS_PREFIX}{number}")
        self.log.tell(self.course.end())
        here.progress(pass_=number, cost=cost)
        if self.config.tests:
            self._test(number)
        if flags.save_dir and ((number + 1) % flags.saving_period == 0 or number + 1 == flags.num_passes):
            self.session.save(number, beside=self._by_v1_names)

    @property
    def _evaluators(self) -> tuple[Any, ...]:
        return tuple(self.network.evaluators.values())

    def _report(self, batch: int, samples: int, *means: float) -> None:
        """Report a batch, as often as the flags want."""
        flags, log = self.flags, self.log
        self.course.add(batch, samples, means)
        here.progress(pass_=self.course.number, step=batch, cost=means[0])
        if _due(batch, flags.dot_period):
            log.dot()
        if _due(batch, flags.log_period):
            log.tell(self.course.line())
        if _due(batch, flags.show_parameter_stats_period):
            for name, values in self.session.held():
                told = f"avg_abs_val={abs(values).mean():.6g} max_val={abs(values).max():.6g}"
                log.tell(f" Para={names.v1_name(name)} {told}")
        if _due(batch, flags.test_period) and self.config.tests:
            log.tell(pass_stats.tested(self._held_out(), self.course.evaluators))

    def _test(self, number: int) -> None:
        """Log the cost over all trainers' held-out samples, while none of them learns."""
        mine = self._held_out()
        here.share("held-out", [mine.samples, *mine.sums])
        here.barrier(f"held-out-{number}")
        found = [here.get("held-out", rank=rank) for rank in range(self.session.role.trainers)]
        every = pass_stats.sum_of([Sums(samples, tuple(sums)) for samples, *sums in found])
        self.log.tell(pass_stats.tested(every, self.course.evaluators))
        if every.samples:
            hold_finite("the test cost", every.means[0], f"after pass {number}")
            here.progress(pass_=number, test_cost=every.means[0])

    def _held_out(self) -> Sums:
        sums = Sums()
        for feed in self.config.test(self.data, self.network):
            found = self.session.predict(feed, self.network.told, *self._evaluators)
            sums = sums.plus(len(next(iter(feed.values()))), [float(each.reshape(-1)[0]) for each in found])
        return sums

    def _by_v1_names(self, directory: Path, facts: Mapping[str, Any]) -> None:
        found = parts.parameters(directory, facts)
        names.write_v1_files(directory, {name: found[name] for name in self.session.names})


def _first(flags: V1Flags) -> str:
    """Return the pass to continue from, checked to be complete; nothing at the start of a training."""
    before = str(Path(flags.save_dir) / pass_directory(flags.start_pass - 1))
    directory = before if flags.start_pass else flags.init_model_path
    if directory:
        passes.read_pass(Path(directory))
    return directory


def _ports(pservers: tuple[str, ...], flags: V1Flags) -> list[tuple[str, int]]:
    """Return every pserver's ports in v1's order; only the first one serves."""
    hosts = [endpoint.rpartition(":")[0] for endpoint in pservers]
    return [(host, flags.port + number) for host in hosts for number in range(flags.ports_num)]


def _due(batch: int, period: int) -> bool:
    return bool(period) and batch % period == 0
