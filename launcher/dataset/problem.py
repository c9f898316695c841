"""What can be wrong with data, each as one sentence."""

from __future__ import annotations


class DatasetError(ValueError):
    """Data that is not what it should be; the sentence says where, and what was expected."""

    code = 65


class Misuse(DatasetError):
    """What was asked for cannot be right."""

    code = 78


class Damaged(DatasetError):
    """A RecordIO file with a chunk that is torn or corrupt."""


class DamagedWarning(UserWarning):
    """A part of a RecordIO file was passed over, as was asked for."""


def shown(path: object) -> str:
    """Return a name as a message can have it: unprintable characters and foreign bytes as escapes."""
    text = str(path)
    return text if text.isprintable() else repr(text)
