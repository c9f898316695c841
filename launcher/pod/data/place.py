"""The places of staged files in the working directory, and how older ones make way for them.

Killed between any two steps, the next start comes to the same end. Only what has a token that the marker file knows
is ever deleted; a `data` of the image or the user is moved to `data.before`.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import stat
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from itertools import count
from pathlib import Path
from typing import Any

from launcher.contract import DATA
from launcher.pod.data.copy import REFUSAL, Copier, remove_tree
from launcher.pod.data.earlier import Copied, Copies, Earlier
from launcher.pod.data.mark import mark, token_of
from launcher.pod.outcome import ShardError
from launcher.safefs.dirs import directory
from launcher.safefs.refusals import naming

_Identity = tuple[int, int]  # device and inode, by which 0.1.0 knew what it had staged
_DIGEST = 12  # letters of the digest in a name of ours


@dataclass(frozen=True, slots=True, kw_only=True)
class _Marker:
    """Which tokens are on staged directories, and which on the user's that has a whole copy as `data.before`."""

    staged: frozenset[str] = frozenset()
    copied: frozenset[str] = frozenset()
    made_of: str = ""  # the sources of `data`, as a digest of their paths
    doubtful: frozenset[_Identity] = frozenset()

    def text(self) -> str:
        """Return the marker as its file has it."""
        staged = [*sorted(self.staged), *sorted(self.doubtful)]
        return json.dumps({"staged": staged, "copied": sorted(self.copied), "made_of": self.made_of}) + "\n"

    @classmethod
    def parse(cls, text: str) -> _Marker:
        """Return the marker in a file; one that cannot be read knows nothing, so that nothing is deleted."""
        try:
            found = json.loads(text)
            staged, copied = list(found["staged"]), list(found["copied"])
            return cls(
                staged=_tokens(staged),
                copied=_tokens(copied),
                made_of=str(found.get("made_of", "")),
                doubtful=frozenset((int(device), int(inode)) for device, inode in _others(staged)),
            )
        except (ValueError, KeyError, TypeError):
            return cls()


@dataclass(frozen=True, slots=True, kw_only=True)
class StagingPlace:
    """A working directory and its `data`."""

    workdir: Path
    copier: Copier
    rename: Callable[[Path, Path], None] = os.rename
    remove: Callable[[Path], None] = remove_tree

    @property
    def data(self) -> Path:
        """The directory that the trainer reads."""
        return self.workdir / DATA

    @property
    def before(self) -> Path:
        """The `data` of the image or the user, as it was before the first staging."""
        return self.workdir / "data.before"

    @property
    def old(self) -> Path:
        """Staged data that has made way, not deleted yet."""
        return self.workdir / ".data.old"

    def staging(self, what: str, *sources: str) -> Path:
        """Return where something of these sources is put together, and delete what was begun from others."""
        digest = hashlib.sha256("\0".join(sources).encode(errors="surrogateescape")).hexdigest()[:_DIGEST]
        mine = self.workdir / f".{what}.staging-{digest}"
        for other in self.workdir.glob(f".{what}.staging-{'[0-9a-f]' * _DIGEST}"):
            if other != mine:
                self._delete(other)
        return mine

    def underlay(self) -> Path | None:
        """Return the image's or the user's directory that the shard is laid over, where there is one."""
        kept = self.before if _exists(self.before) else None
        if not _exists(self.data):
            return kept
        info = self.data.lstat()
        if not stat.S_ISDIR(info.st_mode):
            raise ShardError(
                f"{self.data} is not a directory: expected a directory, or nothing; remove it from the image"
            )
        if info.st_dev != self.workdir.stat().st_dev:
            raise self._mounted()
        marker = self._marker()
        if self._is_ours(marker) or self._is_doubtful(marker):
            return kept
        if kept:
            raise ShardError(
                f"{self.data} was not staged here, and {kept} is there already: "
                "expected only one of them; move one away"
            )
        return self.data

    def take_back(self, staged: Path) -> None:
        """Go on from a `data` that was staged from the same sources: what is unchanged is not copied again."""
        if _exists(staged) or not _exists(self.data):
            return
        marker = self._marker()
        if marker.made_of == staged.name and token_of(self.data) in marker.staged:
            with suppress(_OtherDeviceError):
                self._move(self.data, staged)

    @contextmanager
    def earlier(self) -> Iterator[Earlier]:
        """Open the `data` that was staged last, from other sources, with what is noted of the copies in it."""
        if not _exists(self.data) or not (token := token_of(self.data)) or token not in self._marker().staged:
            yield Earlier()
            return
        copies = Copies.parse(self._text(self._copies))
        with directory(self.data, REFUSAL, trusted=True) as tree:
            yield Earlier(tree=tree, files=copies.files) if copies.token == token else Earlier()

    def put(self, staged: Path, copies: Mapping[str, Copied] | None = None) -> None:
        """Make a directory that is complete the working directory's `data`, and note the copies in it."""
        self._drop_old()
        marker, token = self._marker(), mark(staged)
        marker = replace(marker, staged=marker.staged | {token}, made_of="")
        # Before the renames: after a kill between them, both directories are known as staged.
        self._remember(marker)
        if copies is not None:
            self._write(self._copies, Copies(token=token, files=copies).text())
        if _exists(self.data):
            if not self._is_ours(marker):
                self._set_aside(marker)
            if _exists(self.data):
                self._retire()
        self._move(staged, self.data)
        self._drop_old()
        self._remember(_Marker(staged=frozenset({token}), made_of=staged.name))

    def _set_aside(self, marker: _Marker) -> None:
        # Laid under the shard, an older shard would show through it.
        target = free(self.workdir / "data.earlier") if self._is_doubtful(marker) else self.before
        try:
            self._move(self.data, target)
        except _OtherDeviceError:
            # A directory of the image: overlayfs moves none. It is copied, and from then on ours to delete.
            copy = self.staging("before", str(self.data))
            with directory(self.data, REFUSAL, trusted=True) as data:
                self.copier.assemble((data,), copy)
            self._remember(replace(marker, copied=marker.copied | {mark(self.data)}))
            self._move(copy, target)
        self.copier.tell("data_set_aside", moved_to=str(target))

    def _retire(self) -> None:
        try:
            self._move(self.data, self.old)
        except _OtherDeviceError:
            self._delete(self.data)

    def _drop_old(self) -> None:
        if _exists(self.old):
            if token_of(self.old) not in self._marker().staged:
                raise ShardError(f"{self.old} was not staged here: expected nothing there; move it away")
            self._delete(self.old)

    def _is_ours(self, marker: _Marker) -> bool:
        mine = token_of(self.data)
        return mine in marker.staged or (mine in marker.copied and _exists(self.before))

    def _is_doubtful(self, marker: _Marker) -> bool:
        """Return whether 0.1.0 staged it, or something of the user's has the inode now."""
        return not token_of(self.data) and _identity(self.data) in marker.doubtful

    def _marker(self) -> _Marker:
        return _Marker.parse(self._text(self._staged))

    def _remember(self, marker: _Marker) -> None:
        self._write(self._staged, marker.text())

    @property
    def _staged(self) -> Path:
        return self.workdir / ".data.staged"

    @property
    def _copies(self) -> Path:
        return self.workdir / ".data.copies"

    def _text(self, file: Path) -> str:
        with naming(str(file), REFUSAL):
            return file.read_text(errors="replace") if _exists(file) else ""

    def _write(self, file: Path, text: str) -> None:
        with naming(str(file), REFUSAL):
            new = file.with_suffix(".new")
            new.write_text(text)
        self._move(new, file)

    def _move(self, source: Path, target: Path) -> None:
        try:
            with naming(str(target), REFUSAL):
                self.rename(source, target)
        except ShardError as error:
            number = getattr(error.__cause__, "errno", None)
            if number == errno.EXDEV:
                raise _OtherDeviceError(*error.args) from error
            if number == errno.EBUSY:
                raise self._mounted() from None
            raise

    def _delete(self, path: Path) -> None:
        with naming(str(path), REFUSAL):
            self.remove(path)

    def _mounted(self) -> ShardError:
        return ShardError(
            f"{self.data} is a mount, which cannot be replaced as a whole: "
            f"mount the volume at the working directory, {self.workdir}, or elsewhere"
        )


class _OtherDeviceError(ShardError):
    """A rename is not possible here."""


def free(path: Path) -> Path:
    """Return a name that nothing has: this one, or with a number."""
    names = (path.with_name(f"{path.name}-{number}") for number in count(2))
    return path if not _exists(path) else next(name for name in names if not _exists(name))


def _exists(path: Path) -> bool:
    with naming(str(path), REFUSAL):
        return os.path.lexists(path)


def _identity(path: Path) -> _Identity:
    with naming(str(path), REFUSAL):
        info = path.lstat()
    return info.st_dev, info.st_ino


def _tokens(entries: Iterable[object]) -> frozenset[str]:
    return frozenset(each for each in entries if each and isinstance(each, str))


def _others(entries: Iterable[Any]) -> list[Any]:
    return [each for each in entries if not isinstance(each, str)]
