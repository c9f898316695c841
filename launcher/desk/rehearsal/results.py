"""What there is to see when a rehearsal is over: its tables, its pictures, and who failed."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path

from launcher import contract
from launcher.desk.rehearsal import curve, show
from launcher.desk.rehearsal.processes import Ended
from launcher.desk.rehearsal.rehearsal import Pod, Rehearsal
from launcher.desk.rehearsal.show import LastWord, Learned

TAIL = 12  # lines
DRAWING = Path(__file__).with_name("drawing.py")  # not imported here, where no Pillow is


def tell(rehearsal: Rehearsal, pods: Sequence[Pod], ended: Sequence[Ended], seconds: float) -> int:
    """Tell all there is to see, and return the exit code."""
    words = {pod.address: show.last_word(text(pod.stderr)) for pod in pods}
    codes = {each.pod.address: each.code for each in ended}
    learned = _learned(rehearsal)
    if any(learned.costs.values()):
        print(f"\n{show.pass_table(learned)}")
    _tell_output(rehearsal)
    print(show.life_table({address: (codes[address], word) for address, word in words.items()}))
    print(
        f"\ntrainers' and pservers' logs: {shown_path(rehearsal.output)}/{contract.NODE_PREFIX}*/{{train,server}}.log"
    )
    print(f"launchers' own: {shown_path(rehearsal.directory)}/pods/*/stderr.log")
    for what, path in (*_drawn(rehearsal, learned), *_report(rehearsal)):
        print(f"{what}: {shown_path(path)}")
    failed = _culprit([each for each in ended if each.code], words)
    if failed:
        print("\n".join(_failure(failed, words[failed.pod.address])))
        return failed.code
    print(f"all {len(pods)} pods ended with 0 after {seconds:.1f} s")
    return 0


def train_log(rehearsal: Rehearsal, rank: int) -> str:
    """Return what a trainer's log says so far."""
    return text(rehearsal.output / contract.node_directory(rank) / contract.TRAIN_LOG)


def text(path: Path) -> str:
    """Return what is in a file, nothing where there is none."""
    return path.read_text(errors="replace") if path.exists() else ""


def shown_path(path: Path) -> str:
    """Return a path as seen from here, where it is below."""
    return str(path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path)


def _learned(rehearsal: Rehearsal) -> Learned:
    """Return what the logs tell of each pass; the RMSE is of all trainers, and told by each."""
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


def _drawn(rehearsal: Rehearsal, learned: Learned) -> list[tuple[str, Path]]:
    """Let the curve be drawn, where there are errors to show and a Python that can."""
    if not (learned.errors and rehearsal.example.painter):
        return []
    picture = curve.of(f"Recommendation on {rehearsal.pods} pservers", learned)
    words = (rehearsal.example.painter, DRAWING, rehearsal.curve)
    done = subprocess.run(words, input=json.dumps(asdict(picture)), stderr=subprocess.PIPE, text=True, check=False)
    if done.returncode:
        print(f"the curve cannot be drawn: {done.stderr.strip().splitlines()[-1]}")
        return []
    return [("the curve", rehearsal.curve)]


def _report(rehearsal: Rehearsal) -> list[tuple[str, Path]]:
    """Let the gang's story be made a page; a gang that never began has none."""
    words = (sys.executable, "-m", "launcher.report", rehearsal.output, "-o", rehearsal.report)
    done = subprocess.run(words, capture_output=True, check=False)
    return [] if done.returncode else [("the gang's story", rehearsal.report)]


def _tell_output(rehearsal: Rehearsal) -> None:
    files = [path.relative_to(rehearsal.output) for path in rehearsal.output.rglob("*") if path.is_file()]
    if files:
        print(f"\n{show.tree(shown_path(rehearsal.output), files)}")
    print()


def _culprit(failed: Sequence[Ended], words: Mapping[str, LastWord | None]) -> Ended | None:
    """Return the pod that the verdict names, else the one that ended first."""
    for each in failed:
        word = words[each.pod.address]
        if word and f"({each.pod.address})" in word.reason:
            return each
    return failed[0] if failed else None


def _failure(failed: Ended, word: LastWord | None) -> list[str]:
    """Return which pod failed first, why, and the last lines of it."""
    told = (
        f"{failed.pod.address} ended with {failed.code}: {word.reason if word else 'its launcher left no last word'}"
    )
    source = failed.pod.stdout if text(failed.pod.stdout).strip() else failed.pod.stderr
    tail = [f"  {line}" for line in text(source).splitlines()[-TAIL:]]
    return [f"\n{told}", f"the last lines of {shown_path(source)}:", *tail]
