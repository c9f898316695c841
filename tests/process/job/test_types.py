"""Who imports the installed package gets its types: the Python of the pages passes `mypy --strict`."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
FENCED = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
# What the reader of a page has already; a config of the bridge (docs/bridge.md) is Paddle's, which has no types.
GIVEN = {
    "job": "def train() -> None: ...",
    "data": """\
from collections.abc import Iterator, Sequence

def reader() -> Iterator[tuple[float, ...]]:
    yield (1.0,)

def load(path: str) -> Sequence[str]:
    return [path]

def train(row: str) -> None: ...

epoch, number = 0, 0
""",
    "here": """\
from collections.abc import Iterator

class Model:
    def save(self, path: str) -> None: ...

def load(directory: str) -> Model:
    return Model()

def train(number: int) -> float:
    return 0.5

def save(number: int) -> None: ...
def average(model: Model) -> None: ...

batches: Iterator[int] = iter(range(10))
steps, passes, number, step, loss, rate, host, port = 10, 10, 0, 0, 0.5, 100.0, "10.0.0.1", 80
""",
}
WRONG = "from launcher import job\n\nstate: int = job.get('a').status().state\n"


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a Python in which the package is as a wheel has it."""
    top = tmp_path_factory.mktemp("typed")
    subprocess.run((sys.executable, "-m", "venv", "--without-pip", str(top / "env")), check=True, timeout=60)
    (packages,) = (top / "env" / "lib").glob("python*/site-packages")
    words = ("-c", "import setuptools; setuptools.setup()", "-q", "build_py", "--build-lib", str(packages))
    subprocess.run((sys.executable, *words), cwd=ROOT, check=True, timeout=60, capture_output=True)
    return top / "env" / "bin" / "python"


def checked(python: Path, directory: Path, program: str) -> str:
    """Return what mypy says of a program of somebody who installed the package."""
    (directory / "program.py").write_text(program)
    words = (
        sys.executable, "-m", "mypy", "--strict", "--config-file=", "--python-executable", str(python),
        "--cache-dir", str(python.parents[2] / "cache"), "program.py",
    )  # fmt: skip
    return subprocess.run(words, cwd=directory, capture_output=True, text=True, timeout=100, check=False).stdout


@pytest.mark.parametrize("page", GIVEN)
def test_the_python_of_the_pages_has_types(python: Path, tmp_path: Path, page: str) -> None:
    snippets = FENCED.findall((ROOT / "docs" / f"{page}.md").read_text())
    assert snippets
    assert "Success" in checked(python, tmp_path, "\n".join((GIVEN[page], *snippets)))


def test_the_types_are_the_packages_and_not_any(python: Path, tmp_path: Path) -> None:
    assert 'Incompatible types in assignment (expression has type "str", variable has type "int")' in checked(
        python, tmp_path, WRONG
    )
