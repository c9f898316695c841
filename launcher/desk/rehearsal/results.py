"""What there is to see when a rehearsal is over: its tables, its page, and who failed."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from launcher import contract
from launcher.desk.rehearsal import show
from launcher.desk.rehearsal.processes import EndedPod
from launcher.desk.rehearsal.rehearsal import Rehearsal, RehearsalPod
from launcher.desk.rehearsal.show import LastWord, Learned

_TAIL = 12  # lines


def tell_results(
    rehearsal: Rehearsal, pods: Sequence[RehearsalPod], ended: Sequence[EndedPod], seconds: float
) -> int:
    """Tell all there is to see, and return the exit code."""
    words = {pod.address: show.last_word(_text(pod.stderr)) for pod in pods}
    codes = {each.pod.address: each.code for each in ended}
    learned = _learned(rehearsal)
    if any(learned.costs.values()):
        print(f"\n{show.pass_table(learned)}")
    _tell_output(rehearsal)
    print(show.life_table({address: (codes[address], word) for address, word in words.items()}))
    if again := show.restarts(_text(pods[0].stderr)):
        print("\n" + "\n".join(again))
    serves = rehearsal.example.has_pservers
    several = rehearsal.example.processes != "1"
    one = "train*.log" if several else contract.TRAIN_LOG
    whose, logs = ("trainers' and pservers'", "{train,server}.log") if serves else ("trainers'", one)
    print(f"\n{whose} logs: {shown_path(rehearsal.output)}/{contract.NODE_PREFIX}*/{logs}")
    print(f"launchers' own: {shown_path(rehearsal.directory)}/pods/*/stderr.log")
    if _report(rehearsal):
        print(f"the run as a page, with its timeline and curves: {shown_path(rehearsal.report)}")
    failed = _culprit([each for each in ended if each.code], words)
    if failed:
        print("\n".join(_failure(failed, words[failed.pod.address])))
        return failed.code
    who = f"all {len(pods)} pods" if len(pods) > 1 else "the pod"
    print(f"{who} ended with 0 after {seconds:.1f} s")
    return 0


def train_log(rehearsal: Rehearsal, rank: int) -> str:
    """Return a trainer's log so far."""
    return _text(rehearsal.output / contract.node_directory(rank) / contract.TRAIN_LOG)


def _text(path: Path) -> str:
    """Return a file's text, empty where there is no file."""
    return path.read_text(errors="replace") if path.exists() else ""


def shown_path(path: Path) -> str:
    """Return a path as seen from here, where it is below."""
    return str(path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path)


def _learned(rehearsal: Rehearsal) -> Learned:
    """Return each pass's results from the logs; every trainer reports the same RMSE, that of all."""
    logs = [train_log(rehearsal, rank) for rank in range(rehearsal.pods)]
    learned, held_out = ([*_scores(rehearsal, name)] for name in ("ratings.dat", "held_out.dat"))
    return Learned(
        costs={contract.node_directory(rank): show.costs(log) for rank, log in enumerate(logs)},
        errors=show.errors(logs[0]),
        constant=show.constant_error(learned, held_out) if learned and held_out else None,
    )


def _scores(rehearsal: Rehearsal, name: str) -> Iterator[float]:
    for path in rehearsal.job_dir.glob(f"*/{contract.DATA}/{name}"):
        for line in path.read_text(encoding="latin-1").splitlines():
            yield float(line.split("::")[2])


def _report(rehearsal: Rehearsal) -> bool:
    """Have the page of the run made, and return whether there is one: a gang that never began has no events."""
    words = (sys.executable, "-m", "launcher.report", rehearsal.output, "-o", rehearsal.report)
    return subprocess.run(words, capture_output=True, check=False).returncode == 0


def _tell_output(rehearsal: Rehearsal) -> None:
    files = [path.relative_to(rehearsal.output) for path in rehearsal.output.rglob("*") if path.is_file()]
    if files:
        print(f"\n{show.tree(shown_path(rehearsal.output), files)}")
    print()


def _culprit(failed: Sequence[EndedPod], words: Mapping[str, LastWord | None]) -> EndedPod | None:
    """Return the pod that the verdict names, else the one that ended first."""
    for each in failed:
        word = words[each.pod.address]
        if word and f"({each.pod.address})" in word.reason:
            return each
    return failed[0] if failed else None


def _failure(failed: EndedPod, word: LastWord | None) -> list[str]:
    """Return which pod failed first, why, and the last lines of it."""
    told = (
        f"{failed.pod.address} ended with {failed.code}: {word.reason if word else 'its launcher left no last word'}"
    )
    source = failed.pod.stdout if _text(failed.pod.stdout).strip() else failed.pod.stderr
    tail = [f"  {line}" for line in _text(source).splitlines()[-_TAIL:]]
    return [f"\n{told}", f"the last lines of {shown_path(source)}:", *tail]
