"""What can be wrong with data, each as one sentence.

No I/O here.
"""

from __future__ import annotations

from launcher.contract import Code


class DatasetError(ValueError):
    """Data that is not what it should be; the sentence says where, and what was expected."""

    code = Code.DATA


class DatasetMisuse(DatasetError):
    """What was asked for cannot be right."""

    code = Code.SETTINGS


Misuse = DatasetMisuse  # its name in 0.1.0, whose examples stand on users' volumes


class Damaged(DatasetError):
    """A RecordIO file with a chunk that is torn or corrupt."""


class DamagedWarning(UserWarning):
    """A part of a RecordIO file was passed over, as was asked for."""
