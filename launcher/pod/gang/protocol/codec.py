"""What launchers tell each other, and what the volume keeps of it, as JSON: exact, typed, checked, of a limited size.

No I/O here. Anybody may have sent it: every field must be there and right, but for those that were added, unknown
keys are ignored, and no sentence repeats what a stranger wrote.
"""

from __future__ import annotations

import json
import math
import types
import typing
from collections.abc import Hashable, Mapping
from dataclasses import fields, is_dataclass
from enum import StrEnum
from functools import cache
from typing import TypeVar, cast

from launcher.pod.gang.protocol.messages import ADDED, Failure, Generation, NumberedRun, Status, Who
from launcher.pod.outcome import Outcome

VERSION = 2  # of a status; 1 was that of 0.1.0
RECORD_VERSION = 1
MESSAGE_LIMIT = 1 << 20
GREATEST = (1 << 63) - 1
MOST_CODE = 255

_Noun = TypeVar("_Noun")


class Malformed(ValueError):
    """A message, or a file of the record, is not as expected; a sentence says why."""


def encode(status: Status) -> bytes:
    """Return a status as JSON."""
    return _encode("status", status)


def decode(data: bytes) -> Status:
    """Return the status that JSON holds."""
    return cast("Status", _decode("status", Status, data))


def encode_members(members: tuple[Who, ...]) -> bytes:
    """Return the members of a generation as JSON."""
    return _encode("members", members)


def decode_members(data: bytes) -> tuple[Who, ...]:
    """Return the members that JSON holds."""
    return cast("tuple[Who, ...]", _decode("members", tuple[Who, ...], data))


def encode_generation(generation: Generation) -> bytes:
    """Return a generation as JSON."""
    return _encode("generation", generation)


def decode_generation(data: bytes) -> Generation:
    """Return the generation that JSON holds."""
    return cast("Generation", _decode("generation", Generation, data))


def encode_verdict(verdict: Outcome) -> bytes:
    """Return a verdict as JSON."""
    return _encode("verdict", verdict)


def decode_verdict(data: bytes) -> Outcome:
    """Return the verdict that JSON holds."""
    return cast("Outcome", _decode("verdict", Outcome, data))


def encode_run(run: NumberedRun) -> bytes:
    """Return a run as JSON."""
    return _encode("run", run)


def decode_run(data: bytes) -> NumberedRun:
    """Return the run that JSON holds."""
    return cast("NumberedRun", _decode("run", NumberedRun, data))


def as_json(value: object) -> bytes:
    """Return plain values as JSON in UTF-8; half a character becomes a question mark."""
    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode(errors="replace")


def plain_values(value: object) -> object:
    """Return a noun as dicts, lists, texts and numbers; a number that is none in it (NaN, 2**99) becomes a text."""
    if is_dataclass(value):
        kind = type(value)
        shown = (name for name in _fields(kind) if name not in _added(kind) or getattr(value, name))  # type: ignore[arg-type]  # a class can be hashed
        return {name: plain_values(getattr(value, name)) for name in shown}
    if isinstance(value, tuple):
        return [plain_values(each) for each in value]
    if isinstance(value, Mapping):
        return {key: plain_values(each) for key, each in value.items()}
    if isinstance(value, int | float) and not _fits(value):
        return str(value) if isinstance(value, float) else f"{value:#x}"  # decimals of a huge one take for ever
    return value


def _encode(name: str, noun: object) -> bytes:
    data = as_json({"version": _version_of(name), name: plain_values(noun)})
    if len(data) > MESSAGE_LIMIT:
        raise Malformed(f"the {name} has {len(data)} bytes: expected at most {MESSAGE_LIMIT}")
    return data


def _decode(name: str, kind: object, data: bytes) -> object:
    if len(data) > MESSAGE_LIMIT:
        raise Malformed(f"more than {MESSAGE_LIMIT} bytes: expected a smaller {name}")
    try:
        found = json.loads(data.decode(), parse_constant=_refuse)
    except UnicodeDecodeError:
        raise Malformed(f"not UTF-8: expected a {name} in JSON") from None
    except RecursionError:
        raise Malformed(f"nested too deep: expected a {name} in JSON") from None
    except ValueError:
        raise Malformed(f"not JSON: expected a {name} in JSON") from None
    around = _expect(dict, found, "the whole")
    version = _value(int, around.get("version"), "version")
    if version != _version_of(name):
        expected = f"expected version {_version_of(name)}, that of this launcher"
        raise Malformed(f"version {version} of the {name}: {expected}; run every pod of a job with the same launcher")
    return _value(kind, around.get(name), name)


def _version_of(name: str) -> int:
    return VERSION if name in ("status", "members") else RECORD_VERSION


def _refuse(_constant: str) -> object:
    raise ValueError  # NaN and Infinity, which Python's reader takes for numbers


def _noun(kind: type[_Noun], found: object, where: str) -> _Noun:
    """Return a dataclass with every field read as its type says."""
    values = _expect(dict, found, where)
    given = {}
    for name, hint in _hints(kind).items():  # type: ignore[arg-type]  # a class can be hashed, whichever it is
        if name in values:
            given[name] = _value(hint, values[name], f"{where}.{name}")
        elif name not in _added(kind):  # type: ignore[arg-type]
            raise Malformed(f"{where}.{name} is missing")
    made = kind(**given)
    if isinstance(made, Outcome):
        _check_code(made, where)
    return made


def _check_code(outcome: Outcome, where: str) -> None:
    """Refuse what no process can exit with: the kernel keeps eight bits of it, and 256 would be a success."""
    least = 1 if isinstance(outcome, Failure) else 0
    if not least <= outcome.code <= MOST_CODE:
        raise Malformed(f"{where}.code: expected {least} to {MOST_CODE}")


def _value(hint: object, found: object, where: str) -> object:
    """Return a value as a field's type says; how deep this goes is up to the types, not to the data."""
    inner = typing.get_args(hint)
    match typing.get_origin(hint):
        case types.UnionType:
            return _either(inner, found, where)
        case origin if origin is tuple:
            return tuple(_value(inner[0], each, where) for each in _expect(list, found, where))
        case origin if origin is Mapping:
            items = _expect(dict, found, where).items()
            return {_value(str, key, where): _value(inner[1], each, where) for key, each in items}
    kind = cast("type", hint)
    if is_dataclass(kind):
        return _noun(kind, found, where)
    if issubclass(kind, StrEnum):
        return _member(kind, found, where)
    if kind is str:
        return _text(found, where)
    return _expect(bool, found, where) if kind is bool else _number(kind, found, where)


def _either(hints: tuple[object, ...], found: object, where: str) -> object:
    if found is None and types.NoneType in hints:
        return None
    by_type = str if isinstance(found, str) and str in hints else hints[0]
    return _value(by_type, found, where)


def _member(kind: type[StrEnum], found: object, where: str) -> StrEnum:
    try:
        return kind(_text(found, where))
    except ValueError:
        raise Malformed(f"{where}: expected one of {', '.join(kind)}") from None


def _text(found: object, where: str) -> str:
    text = _expect(str, found, where)
    try:
        text.encode()
    except UnicodeEncodeError:
        raise Malformed(f"{where}: expected valid Unicode") from None
    return text


def _number(kind: type, found: object, where: str) -> int | float:
    wanted = "a whole number" if kind is int else "a number"
    fits = isinstance(found, int if kind is int else int | float) and not isinstance(found, bool) and _fits(found)
    if not fits:
        raise Malformed(f"{where}: expected {wanted} of at most 64 bits")
    return cast("int | float", found)


def _fits(number: int | float) -> bool:
    return math.isfinite(number) if isinstance(number, float) else -GREATEST <= number <= GREATEST


_NAMES = {dict: "an object", list: "a list", str: "a text", bool: "true or false"}


def _expect(kind: type[_Noun], found: object, where: str) -> _Noun:
    if not isinstance(found, kind):
        raise Malformed(f"{where}: expected {_NAMES[kind]}")
    return found


@cache
def _fields(kind: Hashable) -> tuple[str, ...]:
    return tuple(each.name for each in fields(kind))  # type: ignore[arg-type]


@cache
def _added(kind: Hashable) -> frozenset[str]:
    return frozenset(each.name for each in fields(kind) if each.metadata == ADDED)  # type: ignore[arg-type]


@cache
def _hints(kind: Hashable) -> dict[str, object]:
    return typing.get_type_hints(kind)
