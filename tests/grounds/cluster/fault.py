"""What keeps a ground from being had, and what breaks one: a sentence each, with the remedy."""

from __future__ import annotations


class NoGround(Exception):
    """This machine cannot carry a ground: the message says why, and what would make it."""


class Broken(Exception):
    """A ground was begun and something in it failed: the message says what, and what it said last."""
