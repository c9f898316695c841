"""Makes the tree that brings the launcher into any image: `PYTHON bundle.py TREE`, by the launcher's own Python.

In it are that Python, its loader, its C library and all others that it needs, of the standard library and of the
packages what the launcher imports, and the starter. It may lie anywhere. It needs nothing of the image where it is
used; to make it takes gcc, strip and ldd.
"""

from __future__ import annotations

import py_compile
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Iterable
from pathlib import Path

HERE = Path(__file__).resolve().parent
LIMIT = 50e6  # bytes on a disk with blocks of 4 KiB
BLOCK = 4096
STARTER = (
    *("gcc", "-Os", "-s", "-static", "-nostdlib", "-ffreestanding", "-fno-pie", "-no-pie", "-fno-stack-protector"),
    *("-fno-asynchronous-unwind-tables", "-fno-tree-loop-distribute-patterns", "-Wall", "-Wextra", "-Werror"),
    *("-Wl,-z,noseparate-code", "-Wl,--build-id=none"),
)
LOADER, PYTHON = "python-ld.so", "python"  # as docker/starter.c has them
# The file by which an image preloads libraries into every program, in our loader: LD_PRELOAD is not the only way.
PRELOADED, NO_FILE = b"/etc/ld.so.preload\0", b"/dev/null/preload\0\0"
START_PADDLE = "#!/launcher/bin/python -I\nfrom launcher.pod.__main__ import main\n\nmain()\n"
# Of the standard library: what neither a launcher nor a small program asks for.
LEFT_OUT = (
    *("_distutils_hack", "curses", "dbm", "dist-packages", "distutils", "ensurepip", "idlelib", "lib2to3", "msilib"),
    *("pydoc_data", "site-packages", "sitecustomize.py", "sqlite3", "test", "tkinter", "turtle.py", "turtledemo"),
    *("aifc.py", "asynchat.py", "asyncore.py", "cgi.py", "cgitb.py", "doctest.py", "ftplib.py", "imaplib.py"),
    *("mailbox.py", "nntplib.py", "poplib.py", "smtpd.py", "smtplib.py", "telnetlib.py", "unittest", "venv"),
    *("wsgiref", "xmlrpc", "__pycache__", "config-*", "readline.*", "ossaudiodev.*", "nis.*", "audioop.*"),
    # What later Pythons have no more, and what is for a person at a prompt.
    *("chunk.py", "crypt.py", "imghdr.py", "mailcap.py", "msilib", "pipes.py", "sndhdr.py", "sunau.py", "uu.py"),
    *("xdrlib.py", "antigravity.py", "pdb.py", "this.py", "tabnanny.py", "pyclbr.py", "zipapp.py"),
    *("_crypt.*", "_curses*", "_dbm.*", "_gdbm.*", "_sqlite3.*", "_test*", "_tkinter.*", "_xx*", "xx*"),
)
# Of packages: what is there for other tools.
OF_TOOLS = (
    *("__pycache__", "*.pth", "*.pyi", "*_test.py", "_distutils_hack", "pip", "setuptools"),
    *("INSTALLER", "RECORD", "REQUESTED", "WHEEL", "entry_points.txt", "sboms", "top_level.txt"),
)
NEEDED = "import launcher.desk.jobs.control, launcher.files.__main__, launcher.kube.packaged, launcher.pod.gang.node"
# Of the launcher: what programs of other Pythons import or run, which cannot read what this one compiles.
FOR_PROGRAMS = (
    *("__init__.py", "contract.py", "here.py", "text.py", "bridge", "dataset", "importable", "job"),
    "stackable",
    "pod/programs/runtimes/xgboost_tracker.py",
)
THREADS_NEED = "libgcc_s.so.1"  # the C library loads it when a thread ends: no file asks for it


def main(tree: Path) -> None:
    """Make the tree, and say what it takes."""
    library = tree / "lib"
    modules, packages = library / _version(), Path(tree, *_packages())
    (tree / "bin").mkdir(parents=True)
    shutil.copytree(sysconfig.get_path("stdlib"), modules, ignore=shutil.ignore_patterns(*LEFT_OUT))
    shutil.copytree(sysconfig.get_path("purelib"), packages, ignore=shutil.ignore_patterns(*OF_TOOLS))
    shutil.rmtree(packages / "pydantic" / "v1")  # for programs that still ask for its version 1
    shutil.copy(_interpreter(), library / PYTHON)
    for path in _libraries(_binaries(library)):
        shutil.copy(path, library / path.name)
    _make_loader(library)
    _compile(tree, packages / "launcher")
    for path in _binaries(library):
        subprocess.run(("strip", "--strip-unneeded", str(path)), check=True)
    subprocess.run((*STARTER, "-o", str(tree / "bin" / "python"), str(HERE / "starter.c")), check=True)
    _start_paddle(tree / "bin" / "start_paddle")
    subprocess.run((str(tree / "bin" / "python"), "-I", "-c", NEEDED), check=True)
    taken = sum(-(-path.lstat().st_size // BLOCK) * BLOCK for path in tree.rglob("*"))
    print(f"{tree} takes {taken / 1e6:.1f} MB, {sum(1 for path in tree.rglob('*') if path.is_file())} files")
    if taken > LIMIT:
        _refuse(f"{tree} takes {taken / 1e6:.1f} MB: expected {LIMIT / 1e6:.0f} at most")


def _version() -> str:
    return f"python{sys.version_info.major}.{sys.version_info.minor}"


def _interpreter() -> Path:
    return Path(sys.executable).resolve()


def _packages() -> tuple[str, ...]:
    """Return where the interpreter itself looks for packages, without a virtual environment: Debian has own names."""
    asked = f"import site; print([path for path in site.getsitepackages(['/']) if {_version()!r} in path][-1])"
    said = subprocess.run((str(_interpreter()), "-I", "-c", asked), capture_output=True, text=True, check=True)
    return Path(said.stdout.strip()).parts[1:]


def _binaries(library: Path) -> list[Path]:
    return [path for path in sorted(library.rglob("*")) if path.is_file() and _is_binary(path)]


def _is_binary(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(4) == b"\x7fELF"


def _libraries(binaries: Iterable[Path]) -> tuple[Path, ...]:
    """Return the shared libraries that these need, the loader among them."""
    found: dict[str, Path] = {}
    for binary in binaries:
        said = subprocess.run(("ldd", str(binary)), capture_output=True, text=True, check=True).stdout
        for line in said.splitlines():
            name, _, path = line.strip().rpartition(" (")[0].partition(" => ")
            if "not found" in line:
                _refuse(f"{binary}: {line.strip()}: expected it to be installed here")
            if name.startswith("/") or path.startswith("/"):
                found[Path(name).name] = Path(path or name)
    return (*found.values(), found["libc.so.6"].with_name(THREADS_NEED))


def _make_loader(library: Path) -> None:
    """Give the loader its name, and no file by which the image preloads."""
    loader = next(library.glob("ld-linux*"))
    content = loader.read_bytes()
    if PRELOADED not in content:
        _refuse(f"{loader} does not name {PRELOADED[:-1].decode()}: expected the loader of a glibc")
    (library / LOADER).write_bytes(content.replace(PRELOADED, NO_FILE))
    (library / LOADER).chmod(0o755)
    loader.unlink()


def _compile(tree: Path, launcher: Path) -> None:
    """Compile all modules, whatever the times of the files will be; leave the sources alone that others import."""
    unchecked = py_compile.PycInvalidationMode.UNCHECKED_HASH
    kept = {path for name in FOR_PROGRAMS for path in launcher.glob(name)}
    for path in sorted(tree.rglob("*.py")):
        theirs = not kept.isdisjoint((path, *path.parents))
        compiled = None if theirs else str(path.with_suffix(".pyc"))
        shown = f"/launcher/{path.relative_to(tree)}"
        py_compile.compile(str(path), compiled, shown, doraise=True, invalidation_mode=unchecked)
        if not theirs:
            path.unlink()


def _start_paddle(path: Path) -> None:
    path.write_text(START_PADDLE)
    path.chmod(0o755)


def _refuse(sentence: str) -> None:
    sys.exit(f"docker build: {sentence}")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
