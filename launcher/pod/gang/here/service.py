"""What a trainer and its launcher say to each other: its barriers, shared values and progress, as marks for the gang.

It touches no file, and nothing in it waits except the callers' own threads in `door`.
"""

from __future__ import annotations

import hmac
import secrets
import threading
from collections.abc import Callable, Mapping

from launcher.pod.gang.here.requests import Answer, Ask
from launcher.pod.gang.here.session import Sheet
from launcher.pod.gang.here.socket import HELLO, Caller, Door
from launcher.pod.gang.protocol.messages import LeaderMessage, Marks

VARIABLE = "LAUNCHER_HERE"

Answers = dict[Caller, Answer]


class Board:
    """The launcher's side of `launcher.here`."""

    def __init__(self, changed: Callable[[], None], *, hello: float = HELLO) -> None:
        """Take what to call, on any thread and without a lock held, when what the gang decides by has changed."""
        self._changed = changed
        self._lock = threading.Lock()
        self._name = f"paddle-launcher-{secrets.token_hex(8)}"
        self._token = secrets.token_hex(16)
        self._sheet: Sheet[Caller] = Sheet()
        self._word = LeaderMessage()
        self._door = Door(self._name, self, hello=hello)

    def start(self) -> None:
        """Let callers in."""
        self._door.open()

    def environment(self) -> dict[str, str]:
        """Return what this generation's trainers need in their environment; ask again after each `begin`."""
        with self._lock:
            return {VARIABLE: f"{self._name}:{self._token}"}

    def begin(self, generation: int, rank: int, trainers: int) -> None:
        """Forget all of the generation before, whose processes have a token that is good for nothing now."""

        def change() -> Answers:
            ended = self._sheet.end("the generation ended")
            self._token = secrets.token_hex(16)
            self._sheet = Sheet(number=generation, rank=rank, trainers=trainers, over="")
            return ended | self._sheet.hear(self._word)

        self._turn(change)

    @property
    def marks(self) -> Marks:
        """What the trainer of this pod says to the others."""
        with self._lock:
            return self._sheet.marks

    @property
    def progress(self) -> Mapping[str, float | str]:
        """What the trainer reported last; a step of it calls nobody, so whoever publishes it looks here."""
        return self._sheet.progress  # is replaced, never changed

    def hear(self, word: LeaderMessage) -> None:
        """Take in the leader's word; it may come before `begin`, late, or twice."""

        def change() -> Answers:
            if word.number >= self._word.number:
                self._word = word
            return self._sheet.hear(word)

        self._turn(change)

    def end(self, reason: str) -> None:
        """Let everything that waits, and all that is asked until the next generation, fail for this reason."""
        self._turn(lambda: self._sheet.end(reason))

    def close(self) -> None:
        """End, and hang up on everybody."""
        self.end("the launcher is leaving")
        self._door.close()

    def asked(self, caller: Caller, ask: Ask) -> None:
        """Take a question from the door; with another generation's token, or none, it is a PermissionError."""

        def change() -> Answers:
            self._check(caller)
            return self._sheet.ask(caller, ask)

        self._turn(change)

    def refuse(self, caller: Caller, why: str) -> None:
        """Answer one who cannot be heard now, if it has the token."""

        def change() -> Answers:
            self._check(caller)
            return {caller: {"misuse": why}}

        self._turn(change)

    def late(self, caller: Caller) -> None:
        """Hear that a caller's time is up."""
        self._turn(lambda: self._sheet.late(caller))

    def gone(self, caller: Caller) -> None:
        """Hear that a caller has hung up, answered or not."""
        self._turn(lambda: self._sheet.gone(caller))

    def _check(self, caller: Caller) -> None:
        if not hmac.compare_digest(caller.token, self._token.encode()):
            raise PermissionError

    def _turn(self, change: Callable[[], Answers]) -> None:
        """Change the session, then answer, and call for what is decided by it, with nothing held."""
        with self._lock:
            before = self._sheet.decisive
            answers = change()
            news = self._sheet.decisive != before
        for caller, answer in answers.items():
            caller.answer(answer)
        if news:
            self._changed()
