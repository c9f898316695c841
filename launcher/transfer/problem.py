"""What cannot be done with files, in a sentence.

No I/O here.
"""

from __future__ import annotations


class Trouble(Exception):
    """What is wrong, and with what."""


class Garbled(Trouble):
    """The other end does not say what was agreed."""


class Broken(Trouble):
    """The other end is not there any more."""


class Told(Trouble):
    """What the other end says is wrong."""
