"""The gang's record on the shared volume: which generations were made, and the verdict.

Data from a hostile volume: limited, checked whole, refused with a sentence. Plain blocking I/O for a thread of its
own; `records` is that thread.
"""

from __future__ import annotations

import errno
import json
import os
import re
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import TypeVar

from launcher.contract import NOW, OUTPUT, RECORD, SPARE, VERDICT, Code, generation_file, stop_file
from launcher.pod.gang.protocol.codec import (
    Malformed,
    decode_generation,
    decode_verdict,
    encode_generation,
    encode_verdict,
)
from launcher.pod.gang.protocol.messages import Generation
from launcher.pod.outcome import LauncherError, Outcome
from launcher.pod.settings.nouns import Settings
from launcher.safefs.dirs import Below, Dir
from launcher.safefs.refusals import Refusal
from launcher.safefs.small_file import MakeLink, content, make, overwrite

_VERSION = 1
KEY = re.compile(r"[A-Za-z0-9-]{1,64}")
_DIGITS = 10  # of a number in a file, which has the same length for ever
AHEAD = 1000  # how far `now` may lag behind; a leader that dies between two files leaves it one behind
HALF_WRITTEN = (0.01, 0.1, 1.0)  # seconds from one look at a torn verdict to the next
REMEDY = "move it away, or set LAUNCHER_RECORD to another directory"

_Noun = TypeVar("_Noun")


class RecordError(LauncherError):
    """What a gang keeps on the volume cannot be read, written or believed."""

    code = Code.GANG


_REFUSAL = Refusal(
    error=RecordError, advice={errno.EROFS: "mount the volume for writing, or set LAUNCHER_RECORD=none"}
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """The record of one key, in a directory named by it; `where` holds those of all keys, also other jobs'."""

    where: Below
    key: str
    job: str
    link: MakeLink = field(default=os.link, compare=False)

    def __post_init__(self) -> None:
        """Refuse a key that cannot be the name of a directory."""
        if not KEY.fullmatch(self.key):
            raise RecordError(
                f"{self.key!r} is not the name of a record: expected the UID of a Job (letters, digits, dashes)"
            )

    @property
    def home(self) -> Below:
        """The record's own directory."""
        return self.where.at(self.key)

    def make(self, generation: Generation) -> bool:
        """Make a generation; return whether it stands as given and is the newest."""
        number = generation.number
        if not 0 < number < 10**_DIGITS - AHEAD:
            raise RecordError(f"{self.home.path}/{NOW} has a number that no gang can reach: {REMEDY}")
        with self.home.opened(make=True) as home:
            # Numbers may leave gaps, and a leader that slept must not fill one.
            if number_in(home, NOW) > number:
                return False
            if not self.write(home, generation_file(number), lambda: encode_generation(generation)):
                return False
            # It may have slept since, too, and must not take `now` back.
            newest = max(self._probe(home, number)[0], number_in(home, NOW))
            put_number(home, NOW, newest)
        return newest == number

    def highest(self) -> int:
        """Return the number that `now` names, 0 where there is none."""
        with self.home.found() as home:
            return number_in(home, NOW) if home else 0

    def latest(self) -> Generation | None:
        """Return the newest generation: the one that `now` names, or one above it that is there already."""
        with self.home.found() as home:
            if home is None:
                return None
            now = number_in(home, NOW)
            number, generation = self._probe(home, now)
            if not generation and number:
                raise RecordError(
                    f"{home.path}/{NOW} names generation {number}, but {generation_file(number)} is not there: "
                    f"if it is not there within a minute, {REMEDY}"
                )
            return generation

    def verdict(self) -> Outcome | None:
        """Return the verdict that stands, if there is one."""
        with self.home.found() as home:
            return self.read(home, VERDICT, decode_verdict) if home else None

    def seal(self, verdict: Outcome) -> Outcome:
        """Write the verdict, unless there is one; return the one that stands."""
        with self.home.opened(make=True) as home:
            if self.write(home, VERDICT, lambda: encode_verdict(verdict), spare=SPARE):
                return verdict
            standing = self._verdict_of_another(home)
        if standing is None:
            raise RecordError(f"{self.home.path}/{VERDICT} was removed while it was read: check the volume")
        return standing

    def _verdict_of_another(self, home: Dir) -> Outcome | None:
        """Return the verdict that stands; where there are no hard links it may be seen while it is written."""
        for pause in HALF_WRITTEN:
            with suppress(RecordError):
                return self.read(home, VERDICT, decode_verdict)
            time.sleep(pause)
        return self.read(home, VERDICT, decode_verdict)

    def note_stop(self, number: int) -> None:
        """Note that a launcher was told to stop in a generation."""
        with self.home.opened(make=True) as home:
            self.write(home, stop_file(number), lambda: b"")

    def was_stopped(self, number: int) -> bool:
        """Return whether a launcher was told to stop in a generation."""
        with self.home.found() as home:
            return home is not None and self.owns(home, stop_file(number))

    def _generation(self, home: Dir, number: int) -> Generation | None:
        name = generation_file(number)
        generation = self.read(home, name, decode_generation)
        if generation and generation.number != number:
            raise _unfit(home, name, f"holds generation {generation.number}")
        return generation

    def owns(self, home: Dir, name: str) -> bool:
        """Return whether a file is there and belongs to this record, whatever it says otherwise."""
        text = content(home, name)
        facts = header(home, name, text.partition(b"\n")[0]) if text is not None else {}
        return facts.get("key") == self.key and facts.get("job") == self.job

    def _probe(self, home: Dir, number: int) -> tuple[int, Generation | None]:
        """Return the newest generation from a number upwards."""
        newest = self._generation(home, number) if number else None
        for above in range(number + 1, number + AHEAD):
            found = self._generation(home, above)
            if found is None:
                break
            number, newest = above, found
        return number, newest

    def write(self, home: Dir, name: str, encode: Callable[[], bytes], spare: str = "") -> bool:
        """Make a file of this record, once, on a full volume in the room of a spare one; return whether it stands."""
        head = json.dumps({"record": _VERSION, "key": self.key, "job": self.job}).encode()
        try:
            text = head + b"\n" + encode() + b"\n"
        except Malformed as error:
            raise RecordError(f"{home.path}/{name} cannot be written: {error}") from error
        return make(home, name, text, link=self.link, spare=spare)

    def read(self, home: Dir, name: str, decode: Callable[[bytes], _Noun], *, every: bool = False) -> _Noun | None:
        """Return what a file holds, None where there is none; of another key's only if asked for."""
        text = content(home, name)
        if text is None:
            return None
        head, _, body = text.partition(b"\n")
        facts = header(home, name, head)
        if (facts.get("key") != self.key and not every) or facts.get("job") != self.job:
            raise _unfit(home, name, "belongs to another job")
        try:
            return decode(body[:-1])
        except Malformed as error:
            raise _unfit(home, name, f"is torn or forged ({error})") from error


def on_volume(root: PurePosixPath, *parts: str) -> Below:
    """Return a directory below a trusted one, of which the system's refusals are RecordErrors."""
    return Below(root=root, parts=parts, refusal=_REFUSAL)


def output_of(settings: Settings) -> Below | None:
    """Return where a job's output goes, None where it has no volume."""
    return on_volume(settings.job_path, settings.job, OUTPUT) if settings.job_path else None


def record_of(settings: Settings, key: str) -> Record | None:
    """Return the record of a key, None where none is kept."""
    if not (settings.recorded and key):
        return None
    output = output_of(settings)
    where = on_volume(PurePosixPath(settings.record)) if settings.record else output and output.at(RECORD)
    return Record(where=where, key=key, job=settings.job) if where else None


def number_in(home: Dir, name: str) -> int:
    """Return the number in a file, 0 where there is none."""
    text = content(home, name, limit=_DIGITS + 1)
    if not text:  # empty: its writer was killed, or the volume was full
        return 0
    if not re.fullmatch(rb"\d{%d}\n" % _DIGITS, text):
        raise _unfit(home, name, "does not hold a number")
    return int(text)


def put_number(home: Dir, name: str, number: int) -> None:
    """Write a number into a file; it is never seen half."""
    overwrite(home, name, f"{number:0{_DIGITS}}\n".encode())


def header(home: Dir, name: str, head: bytes) -> dict[str, object]:
    """Return the first line of a record's file, checked to be of a version that is known here."""
    try:
        facts: object = json.loads(head)
    except (ValueError, RecursionError) as error:
        raise _unfit(home, name, "is torn or forged") from error
    if not isinstance(facts, dict):
        raise _unfit(home, name, "is torn or forged")
    version = facts.get("record")
    if type(version) is not int or version < 1:
        raise _unfit(home, name, "is torn or forged")
    if version > _VERSION:
        raise _unfit(home, name, f"was written by a newer launcher (version {version}, not {_VERSION})")
    return facts


def _unfit(home: Dir, name: str, what: str) -> RecordError:
    return RecordError(f"{home.path}/{name} {what}: {REMEDY}")
