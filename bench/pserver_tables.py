"""Whether a pass of Paddle's pservers goes on with another number of them: as it is, and dealt anew; as Markdown.

`python -m bench.pserver_tables DIRECTORY`, an empty one, whose path Paddle can take (letters, digits, `_ . / -`).
"""

from __future__ import annotations

import gzip
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

from bench.pserver_child import FIRST
from bench.pserver_deal import deal, part, tell
from bench.pserver_gang import ROOT, Ended, train
from launcher.bridge.parts import shards as shards_for
from launcher.bridge.passes import DONE
from launcher.contract import pass_directory
from tests.real import install

EXAMPLE = ROOT / "examples" / "recommendation"
DATA = ("--shards=1", "--ratings=20000", "--users=500", "--movies=400")
LEARNED, MORE = 3, 2  # passes before and after
ROWS, WIDTH = 200_000, 33  # of the table that is timed: rows as large as the example's
Row = Sequence[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    """A training that can be begun and gone on with by any number of pservers."""

    title: str
    words: Sequence[str]
    shards: int | None = None  # as the bridge has it


BRIDGE = Program(title="on the bridge", words=("bridge",))
FLEET = Program(title="fleet, Adam", words=("fleet",), shards=1000)  # Paddle's own number
SGD = Program(title="fleet, SGD", words=("fleet", "--sgd"))
SMALL = Program(title="fleet, 9 numbers in the layers", words=("fleet", "--small"))
V1 = "v1 config"
AS_IS, DEALT = "as it is", "dealt anew"
CASES: Sequence[tuple[Program, int, int, Sequence[str]]] = (
    *((BRIDGE, 2, 2, (AS_IS,)) for _ in range(3)),  # what a run differs from the next
    (BRIDGE, 2, 3, (AS_IS, DEALT)),
    (BRIDGE, 3, 2, (AS_IS, DEALT)),
    (BRIDGE, 3, 1, (AS_IS, DEALT)),
    (BRIDGE, 3, 5, (AS_IS, DEALT)),
    (BRIDGE, 5, 3, (AS_IS, DEALT)),
    *((FLEET, 2, 2, (AS_IS,)) for _ in range(2)),
    (FLEET, 2, 3, (AS_IS, DEALT)),
    (FLEET, 3, 2, (AS_IS,)),
    (FLEET, 3, 1, (AS_IS,)),
    (SGD, 2, 3, (AS_IS,)),
    (SMALL, 3, 3, (AS_IS,)),
    (SMALL, 3, 2, (AS_IS,)),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Ground:
    """Where all is written, and the Python that has Paddle."""

    directory: Path
    python: Path

    def run(self, program: Program, pservers: int, output: Path, *words: str) -> Ended:
        data = f"--data={self.directory / 'job' / '0' / 'data'}"
        argv = (
            str(self.python),
            str(ROOT / "bench" / "pserver_child.py"),
            *program.words,
            data,
            f"--output={output}",
            *words,
        )
        return train(argv, argv, pservers, output / "logs")

    def paddle(self, *flags: str) -> tuple[str, ...]:
        return (str(self.python), "-m", "launcher.bridge", *flags)


def programs(ground: Ground, progress: Callable[[str], None]) -> Iterator[Row]:
    """Yield a row for each change of the number of pservers."""
    begun: dict[tuple[str, int], tuple[Path, Ended]] = {}
    for number, (program, before, after, ways) in enumerate(CASES):
        name = f"{'-'.join(program.words).replace('--', '')}-{before}"
        if (name, 0) not in begun:
            progress(f"{program.title}: {before} pservers")
            output = ground.directory / name
            begun[name, 0] = output, ground.run(program, before, output, f"--passes={LEARNED}")
        output, first = begun[name, 0]
        made = output / pass_directory(LEARNED - 1)
        for way in ways:
            progress(f"{program.title}: {before} to {after}, {way}")
            given = ground.directory / f"{number}-{way.replace(' ', '-')}"
            if way is AS_IS:
                as_is(made, given, after)
            else:
                deal(made, given, after, program.shards)
            then = given.with_name(f"{given.name}-then")
            ended = ground.run(program, after, then, f"--load={given}", f"--passes={MORE}")
            went = _went(ended, given, then, first.errors[LEARNED - 1])
            yield program.title, f"{before} → {after}", way, *went


def as_is(made: Path, into: Path, pservers: int) -> None:
    """Make the same pass, but for what `done` says of pservers and shards."""
    shutil.copytree(made, into, copy_function=os.link, ignore=shutil.ignore_patterns(DONE))
    if (made / DONE).exists():
        for left in [path for path in into.iterdir() if path.is_file()]:
            left.unlink()
        tell(made, into, pservers, shards_for(pservers))


def _went(ended: Ended, given: Path, then: Path, was: float) -> Iterator[str]:
    """Yield what differs in the tables after the load, the errors before, after and in the end, and the codes."""
    saved = then / pass_directory(FIRST)
    yield differing(given, saved) if ended.errors else "nothing was saved"
    yield f"{was:.6f}"
    yield f"{ended.errors[FIRST]:.6f}" if FIRST in ended.errors else ""
    yield f"{ended.errors[MORE - 1]:.4f}" if MORE - 1 in ended.errors else ""
    yield f"{ended.trainer}; {', '.join(map(str, ended.pservers))}".replace("None", "runs on").replace(
        "124", "still runs"
    )


def differing(before: Path, after: Path) -> str:
    """Return how many rows and numbers of the layers there are, and how many differ in anything that is saved."""
    found = []
    for table in sorted(path.name for path in before.iterdir() if path.is_dir()):
        mine, theirs = _content(before / table), _content(after / table)
        wrong = sum(theirs.get(key) != value for key, value in mine.items()) + len(theirs.keys() - mine.keys())
        found.append((len(mine), wrong))
    return f"{sum(wrong for _, wrong in found)} of {sum(lines for lines, _ in found):,}"


def _content(table: Path) -> dict[bytes | int, bytes]:
    """Return the rows of a sparse table by their ids, the numbers of a dense one in their order."""
    parts = sorted(table.glob("part-*"))
    lines = [line for path in parts for line in gzip.decompress(path.read_bytes()).splitlines()]
    if parts[0].name.count("-") == 1:
        return dict(enumerate(lines))
    return {line.split(b" ", 1)[0]: line for line in lines}


def v1(ground: Ground, progress: Callable[[str], None]) -> Iterator[Row]:
    """Yield the same for `paddle train` and `paddle pserver`, which nobody asks to save before they go on."""
    job = ground.directory / "v1"
    shutil.copytree(EXAMPLE, job, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copytree(ground.directory / "job" / "0" / "data", job / "data")
    made = {}
    for pservers in (2, 3):
        progress(f"{V1}: {pservers} pservers")
        made[pservers] = _v1(ground, job, pservers, f"v1-{pservers}", LEARNED)
    for number, (before, after) in enumerate(((2, 2), (2, 3), (3, 2), (3, 1), (2, 5))):
        for way in (AS_IS,) if before == after else (AS_IS, DEALT):
            progress(f"{V1}: {before} to {after}, {way}")
            last = pass_directory(LEARNED - 1)
            source, output = ground.directory / f"v1-{before}" / last, f"v1-to-{number}-{way.replace(' ', '-')}"
            given = ground.directory / output / last
            given.parent.mkdir()
            if way is AS_IS:
                shutil.copytree(source, given)
            else:
                deal(source, given, after)
            ended = _v1(ground, job, after, output, LEARNED + MORE, f"--start_pass={LEARNED}")
            was, then = made[before].errors[LEARNED - 1], ended.errors.get(LEARNED + MORE - 1)
            code = f"{ended.trainer}" + ("" if ended.trainer else f"; {', '.join(map(str, ended.pservers))}")
            yield V1, f"{before} → {after}", way, "", f"{was:.6f}", "", f"{then:.4f}" if then else "", code


def _v1(ground: Ground, job: Path, pservers: int, output: str, passes: int, *words: str) -> Ended:
    directory = ground.directory / output
    config = "--config=trainer_config.py"
    serve = ground.paddle("pserver", config, "--pservers={hosts}", "--port={port}")
    learn = ground.paddle(
        "train", config, "--local=0", "--pservers={hosts}", "--port={port}", f"--save_dir={directory}",
        f"--num_passes={passes}", *words,
    )  # fmt: skip
    return train(serve, learn, pservers, directory / "logs", job)


def timed(directory: Path) -> Iterator[Row]:
    """Yield how long a table of made-up rows takes, in files such as a pserver writes."""
    draw = random.Random(1)  # noqa: S311  # no secret
    made = directory / "timed"
    (made / "000").mkdir(parents=True)
    for shard in range(12):
        with gzip.open(made / "000" / part(shard, 12, 2), "wb") as file:
            for row in range(shard, ROWS, 12):
                numbers = " ".join(f"{draw.gauss(0, 0.1):.6g}" for _ in range(4 * WIDTH))
                file.write(f"{row} 0 0 1 10 0 {numbers}\n".encode())
    (made / "001").mkdir()
    for rank in range(2):
        with gzip.open(made / "001" / f"part-{rank:03}.gz", "wb") as file:
            file.writelines(b"%g %g %g\n" % tuple(draw.gauss(0, 0.1) for _ in range(3)) for _ in range(ROWS))
    for table, pservers in (("000", 3), ("000", 5), ("001", 3)):
        given = directory / f"timed-{table}-{pservers}"
        shutil.copytree(made / table, given / table)
        size = sum(path.stat().st_size for path in given.rglob("part-*")) / 1e6
        begun, cpu = time.monotonic(), time.process_time()
        deal(given, given.with_name(f"{given.name}-dealt"), pservers)
        took, cpu = time.monotonic() - begun, time.process_time() - cpu
        what = "layers" if table == "001" else f"rows, {shards_for(2)} to {shards_for(pservers)} files"
        yield what, f"2 → {pservers}", f"{size:.1f}", f"{took:.2f}", f"{cpu / size:.3f}"


def main() -> None:
    """Measure, and print."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that every gang is ended
    directory = Path(sys.argv[1]).absolute()
    directory.mkdir(parents=True, exist_ok=True)
    ground = Ground(directory=directory, python=install.python())
    make = (sys.executable, str(EXAMPLE / "make_data.py"), str(directory / "job"), *DATA)
    subprocess.run(make, check=True, capture_output=True)

    def progress(what: str) -> None:
        print(what, file=sys.stderr, flush=True)

    heads = ("program", "pservers", "the pass", "differ", "before", "loaded", f"{MORE} passes later", "exit codes")
    table(heads, chain(v1(ground, progress), programs(ground, progress)))
    progress("how long it takes")
    table(("table", "pservers", "MB", "s", "CPU s a MB"), timed(directory))


def table(heads: Row, rows: Iterator[Row]) -> None:
    """Print each row once it is known."""
    print(f"| {' | '.join(heads)} |\n| {' | '.join('---' for _ in heads)} |")
    for row in rows:
        print(f"| {' | '.join(row)} |", flush=True)
    print()


if __name__ == "__main__":
    main()
