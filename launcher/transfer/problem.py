"""Failures of a copy, as sentences.

No I/O here.
"""

from __future__ import annotations


class Trouble(Exception):
    """A failure of a copy, in a sentence."""


class Garbled(Trouble):
    """The other end does not keep to the protocol."""


class Broken(Trouble):
    """The connection to the other end is lost."""


class Told(Trouble):
    """A failure that the other end reports."""
