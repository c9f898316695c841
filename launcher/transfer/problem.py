"""Failures of a copy, as sentences.

No I/O here.
"""

from __future__ import annotations


class TransferError(Exception):
    """A failure of a copy, in a sentence."""


class Garbled(TransferError):
    """The other end does not keep to the protocol."""


class Broken(TransferError):
    """The connection to the other end is lost."""


class OtherEndFailed(TransferError):
    """A failure that the other end reports."""
