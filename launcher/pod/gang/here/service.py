"""Answers a trainer's barriers, shared values and progress reports, and publishes them as marks for the gang.

It touches no file, and no thread waits in it but that of the socket.
"""

from __future__ import annotations

import hmac
import secrets
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import replace

from launcher.pod.gang.here.pacing import Pacing
from launcher.pod.gang.here.requests import Answer, Ask, Report
from launcher.pod.gang.here.session import HereSession
from launcher.pod.gang.here.socket import HELLO, Caller, HereSocket
from launcher.pod.gang.here.time_spent import TimeSpent
from launcher.pod.gang.protocol.messages import LeaderMessage, Marks, Pace, Trouble, Wait

_VARIABLE = "LAUNCHER_HERE"

# Seconds until the gang's programs were looked at, at the latest; a program waits longer for its launcher.
IN_VIEW = 2.0

Answers = dict[Caller, Answer]


class HereService:
    """The launcher's side of `launcher.here`."""

    def __init__(self, changed: Callable[[], None], *, hello: float = HELLO) -> None:
        """`changed` is called on any thread, with no lock held, when the gang may have something to decide."""
        self._changed = changed
        self._lock = threading.Lock()
        self._name = f"paddle-launcher-{secrets.token_hex(8)}"
        self._token = secrets.token_hex(16)
        self._session: HereSession[Caller] = HereSession()
        self._pacing = Pacing()
        self._spent = TimeSpent()
        self._word = LeaderMessage()
        self._socket = HereSocket(self._name, self, hello=hello)

    def start(self) -> None:
        """Accept connections."""
        self._socket.open()

    def environment(self) -> dict[str, str]:
        """Return what this generation's trainers need in their environment; ask again after each `begin`."""
        with self._lock:
            return {_VARIABLE: f"{self._name}:{self._token}"}

    def begin(self, generation: int, rank: int, trainers: int) -> None:
        """Begin a generation with a new token: processes of the one before are not heard any more."""

        def change() -> Answers:
            ended = self._session.end("the generation ended")
            self._token = secrets.token_hex(16)
            self._session = HereSession(number=generation, rank=rank, trainers=trainers, over="")
            self._pacing = Pacing()
            return ended | self._session.hear(self._word, time.monotonic())

        self._turn(change)

    @property
    def marks(self) -> Marks:
        """Where the trainer waits, what it shares and reports."""
        with self._lock:
            return replace(self._session.marks, pace=self._pacing.pace)

    @property
    def pace(self) -> Pace | None:
        """How fast the trainer goes, to be looked at as its progress is; nothing while it reports no steps."""
        return self._pacing.pace

    @property
    def troubles(self) -> Mapping[tuple[Trouble, str], str]:
        """What is wrong in this generation though nothing has failed: numbers that are none, barriers in vain."""
        return self._session.troubles  # is replaced, never changed

    @property
    def rank(self) -> int:
        """The trainer's number in this generation."""
        return self._session.rank

    def spent(self, now: float) -> Mapping[str, float]:
        """Return the seconds so far of this life in which the trainer waited for others, saved, or did what is aside.

        They are added up whenever it begins or ends any of these.
        """
        return self._spent.seconds(now)

    @property
    def waiting(self) -> bool:
        """Whether a program of the trainer waits for others."""
        with self._lock:
            return bool(self._session.waiting)

    @property
    def waits(self) -> tuple[Wait, ...]:
        """What they wait for without a timeout."""
        with self._lock:
            return self._session.waits

    @property
    def progress(self) -> Mapping[str, float | str]:
        """The trainer's last report, to be looked at whenever it is published: a step does not call `changed`."""
        return self._session.progress  # is replaced, never changed

    def hear(self, word: LeaderMessage) -> None:
        """Take the leader's message, which may come before `begin`, late, or twice."""

        def change() -> Answers:
            if word.number >= self._word.number:
                self._word = word
            return self._session.hear(word, time.monotonic())

        self._turn(change)

    def end(self, reason: str) -> None:
        """Refuse, for this reason, all who wait and all who ask before the next generation."""

        def change() -> Answers:
            self._pacing = replace(self._pacing, phase="", lasts=False)
            return self._session.end(reason)

        self._turn(change)

    def close(self) -> None:
        """End, and close all connections."""
        self.end("the launcher is leaving")
        self._socket.close()

    def asked(self, caller: Caller, ask: Ask) -> None:
        """Take a question; PermissionError if its token is not this generation's."""

        def change() -> Answers:
            self._check(caller)
            now = time.monotonic()
            if isinstance(ask, Report) and not self._session.over:
                self._pacing = self._pacing.reported(ask, now - self._spent.away(now))
            return self._session.ask(caller, ask, now)

        self._turn(change)

    def refuse(self, caller: Caller, why: str) -> None:
        """Refuse a question; PermissionError if its token is not this generation's."""

        def change() -> Answers:
            self._check(caller)
            return {caller: {"misuse": why}}

        self._turn(change)

    def late(self, caller: Caller) -> None:
        """Answer a caller whose timeout is over; of a barrier in a moment, in which it stands there to be seen."""

        def change() -> Answers:
            if self._session.outlasts(caller):
                caller.until = time.monotonic() + IN_VIEW
                return {}
            return self._session.late(caller)

        self._turn(change)

    def gone(self, caller: Caller) -> None:
        """Forget a caller that has closed its connection, answered or not."""
        self._turn(lambda: self._session.gone(caller))

    def _check(self, caller: Caller) -> None:
        if not hmac.compare_digest(caller.token, self._token.encode()):
            raise PermissionError

    @property
    def _decisive(self) -> object:
        """What the main thread is woken for; of the steps only that there are any, which are watched then."""
        return self._session.decisive, self._pacing.known

    def _turn(self, change: Callable[[], Answers]) -> None:
        """Change the session under the lock; answer, and call `changed`, without it."""
        with self._lock:
            before = self._decisive
            answers = change()
            news = self._decisive != before
            self._pacing = self._pacing.waiting(self._session.waiting)
            self._spent = self._spent.turned(self._pacing.doing, time.monotonic())
        for caller, answer in answers.items():
            caller.answer(answer)
        if news:
            self._changed()
