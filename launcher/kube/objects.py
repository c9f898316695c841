"""Readers of the API's JSON: maps, rows, names and sentences; lists, and the lines of a watch.

No I/O here. Nothing that the API could send raises: what has the wrong type is read as if it were absent.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from launcher.contract import INDEX_ANNOTATION
from launcher.text import one_line

Object = Mapping[str, Any]

WORD_LIMIT = 253  # the longest name that Kubernetes gives to anything
SENTENCE_LIMIT = 300


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """One line of a watch: ADDED, MODIFIED, DELETED, BOOKMARK or ERROR, and the state that it leads to."""

    kind: str
    found: Object
    version: str


def objects_listed(text: bytes) -> tuple[tuple[Object, ...], str] | None:
    """Return the objects of a list and the version that it shows, or None where it is no list."""
    answer = parsed_json(text)
    version = word(mapping(answer, "metadata"), "resourceVersion")
    if not version or not isinstance(mapping(answer).get("items"), list):
        return None
    return tuple(rows(answer, "items")), version


def changed(line: bytes) -> Change | None:
    """Return what a watch's line says, or None where it cannot be read."""
    event = parsed_json(line)
    kind, found = word(event, "type"), mapping(event, "object")
    if not kind:
        return None
    return Change(kind=kind, found=found, version=word(mapping(found, "metadata"), "resourceVersion"))


def parsed_json(text: bytes | str) -> object:
    """Return the value that a text is in JSON, or None."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def message(body: bytes, limit: int = SENTENCE_LIMIT) -> str:
    """Return the sentence in an answer that is no success: a Status's message, else the text itself."""
    found = mapping(parsed_json(body)).get("message")
    return one_sentence(found, limit) or one_sentence(body[: 10 * limit].decode(errors="replace"), limit)


def one_sentence(value: object, limit: int = SENTENCE_LIMIT) -> str:
    """Return a message as one line of bounded length."""
    return one_line(value, limit) if isinstance(value, str) else ""


def mapping(value: object, *keys: str) -> Object:
    """Return the map that is found by following these keys, or an empty one."""
    for key in keys:
        value = value.get(key) if isinstance(value, dict) else None
    return value if isinstance(value, dict) else {}


def rows(value: object, key: str) -> list[Object]:
    """Return the maps in a list."""
    found = mapping(value).get(key)
    return [row for row in found if isinstance(row, dict)] if isinstance(found, list) else []


def text_at(value: object, key: str) -> str:
    """Return a text of any length and content."""
    found = mapping(value).get(key)
    return found if isinstance(found, str) else ""


def word(value: object, key: str) -> str:
    """Return a name or a number as Kubernetes writes it; any other text is none."""
    found = text_at(value, key)
    return found if found.isprintable() and len(found) <= WORD_LIMIT else ""


def whole_number(value: object, key: str) -> int:
    """Return a whole number, or 0."""
    found = mapping(value).get(key)
    return found if isinstance(found, int) and not isinstance(found, bool) else 0


def completion_index(metadata: Object) -> int | None:
    """Return a pod's completion index: an annotation, and in newer clusters a label, too."""
    for place in ("annotations", "labels"):
        found = word(mapping(metadata, place), INDEX_ANNOTATION)
        if re.fullmatch(r"[0-9]{1,9}", found):
            return int(found)
    return None
