"""The figures of a pass for the log: means by sample, of the whole pass and since the last line.

No I/O here.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Sums:
    """Sums over samples: of the cost first, then of each evaluator."""

    samples: int = 0
    sums: tuple[float, ...] = ()

    def plus(self, samples: int, means: Sequence[float]) -> Sums:
        """Return the sums with a batch added, whose means are given."""
        before = self.sums or (0.0,) * len(means)
        sums = tuple(old + mean * samples for old, mean in zip(before, means))  # noqa: B905  # Python 3.8
        return Sums(self.samples + samples, sums)

    @property
    def means(self) -> tuple[float, ...]:
        """The mean cost, then each evaluator's."""
        return tuple(each / self.samples for each in self.sums)


def sum_of(all_sums: Iterable[Sums]) -> Sums:
    """Return the sums of several trainers as one."""
    found = [each for each in all_sums if each.samples]
    sums = zip(*(each.sums for each in found))  # noqa: B905  # Python 3.8
    return Sums(sum(each.samples for each in found), tuple(map(sum, sums)))


@dataclass
class PassStats:
    """A pass so far."""

    number: int
    evaluators: tuple[str, ...]
    batches: int = 0
    whole: Sums = Sums()
    lately: Sums = Sums()

    def add(self, batch: int, samples: int, means: Sequence[float]) -> None:
        """Add a batch."""
        self.batches = batch
        self.whole, self.lately = self.whole.plus(samples, means), self.lately.plus(samples, means)

    def line(self) -> str:
        """Return the line of every `--log_period` batches, and start new sums for its current values."""
        cost, *values = self.whole.means
        current, *current_values = self.lately.means
        self.lately = Sums()
        told = f" Batch={self.batches} samples={self.whole.samples} AvgCost={cost:.6g} CurrentCost={current:.6g}"
        return told + evaluated(self.evaluators, values) + evaluated(self.evaluators, current_values, "CurrentEval")

    def end(self) -> str:
        """Return the line at the end of a pass."""
        cost, *values = self.whole.means
        told = f" Pass={self.number} Batch={self.batches} samples={self.whole.samples} AvgCost={cost:.6g}"
        return told + evaluated(self.evaluators, values)


def tested(sums: Sums, evaluators: Sequence[str]) -> str:
    """Return the line about held-out samples."""
    if not sums.samples:
        return " Test samples=0"
    cost, *values = sums.means
    return f" Test samples={sums.samples} cost={cost:.6g}" + evaluated(evaluators, values)


def evaluated(names: Sequence[str], values: Sequence[float], title: str = "Eval") -> str:
    """Return the evaluators' values in v1's form, nothing without evaluators."""
    told = " ".join(f"{name}={value:.6g}" for name, value in zip(names, values))  # noqa: B905  # Python 3.8
    return f" {title}: {told}" if told else ""
