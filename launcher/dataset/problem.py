"""Errors about data; each is one sentence.

No I/O here.
"""

from __future__ import annotations

from launcher.contract import Code


class DatasetError(ValueError):
    """The data is wrong; the sentence names the place and the expected form."""

    code = Code.DATA


class DatasetMisuse(DatasetError):
    """A call or an option is wrong."""

    code = Code.SETTINGS


Misuse = DatasetMisuse  # its name in 0.1.0, whose examples stand on users' volumes


class Damaged(DatasetError):
    """A RecordIO file has a torn or corrupt chunk."""


class DamagedWarning(UserWarning):
    """A damaged part of a RecordIO file was skipped, as `errors='skip'` allows."""
