"""`paddle train`: reads its shard in ./data, pulls parameters, pushes gradients, tells the cost, saves the passes."""

from __future__ import annotations

import logging
import math
import sys
from array import array
from dataclasses import dataclass
from pathlib import Path

import model
from flags import Flags
from model import Config, Sample
from servers import Alone, Parameters, Servers
from wire import Kind

DATA = Path("data")
NOTHING = array("d")


def train(flags: Flags) -> None:
    """Train every pass, with all other trainers."""
    if flags.use_gpu:
        sys.exit("paddle train: --use_gpu=1: this stand-in knows no GPU")
    config = model.read_config(flags.config)
    logging.info("The input order is [user_id, movie_id, rating]")
    logging.info("The output order is [__square_error_cost_0__]")
    logging.info("trainer mode: Normal")
    samples = model.read_samples(DATA, config)
    logging.info("loading dataprovider: %d samples", len(samples))
    logging.info("Initing parameters..")
    first = _first_values(flags, config)
    logging.info("Init parameters done.")
    parameters: Parameters = Alone() if flags.local else Servers(flags)
    values = parameters.begin(config.learning_rate, first)
    for number in range(flags.start_pass, flags.num_passes):
        config.before_pass(number)
        values = Pass(number=number, flags=flags, config=config).run(samples, values, parameters)
        if flags.trainer_id == 0 and flags.save_dir and (number + 1) % flags.saving_period == 0:
            model.save(_directory(flags, number), config, values)
    parameters.end()


def _first_values(flags: Flags, config: Config) -> array[float]:
    if flags.start_pass:
        return model.load(_directory(flags, flags.start_pass - 1), config)
    if flags.init_model_path:
        return model.load(Path(flags.init_model_path), config)
    return model.initial(config)


def _directory(flags: Flags, number: int) -> Path:
    return Path(flags.save_dir) / f"pass-{number:05}"


@dataclass(slots=True, kw_only=True)
class Pass:
    """One pass over the samples, and what is told of it."""

    number: int
    flags: Flags
    config: Config
    batches: int = 0
    samples: int = 0
    cost: float = 0.0
    dotted: bool = False

    def run(self, samples: list[Sample], values: array[float], parameters: Parameters) -> array[float]:
        """Train one pass and return the values after it."""
        for start in range(0, len(samples), self.config.batch_size):
            batch = samples[start : start + self.config.batch_size]
            cost, slopes = model.gradient(self.config, values, batch)
            _, values = parameters.exchange(Kind.PUSH, slopes)
            self._count(len(batch), cost)
        kind = Kind.PUSH
        while kind is Kind.PUSH:  # others may have more data
            kind, values = parameters.exchange(Kind.PASS, NOTHING)
        self._log(f" Pass={self.number} Batch={self.batches} samples={self.samples} AvgCost={self._average:.6g}")
        return values

    @property
    def _average(self) -> float:
        return self.cost / max(1, self.samples)

    def _count(self, size: int, cost: float) -> None:
        self.batches += 1
        self.samples += size
        self.cost += cost
        if not math.isfinite(cost):
            self._log(f"the cost is {cost} in pass {self.number}, batch {self.batches}: is learning_rate too high?")
            sys.exit(65)
        if self.flags.dot_period and self.batches % self.flags.dot_period == 0:
            sys.stderr.write(".")
            sys.stderr.flush()
            self.dotted = True
        if self.flags.log_period and self.batches % self.flags.log_period == 0:
            told = f" Batch={self.batches} samples={self.samples}"
            self._log(f"{told} AvgCost={self._average:.6g} CurrentCost={cost / size:.6g}")

    def _log(self, text: str) -> None:
        if self.dotted:
            sys.stderr.write("\n")
            self.dotted = False
        logging.info(text)
