"""Looks that the desk asks for in this pod, and the texts of all looks: in memory for the desk, and on the volume."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from launcher.contract import look_socket
from launcher.pod.gang.look_socket import LookSocket
from launcher.pod.gang.looks_told import look_told
from launcher.pod.gang.protocol.member import Member
from launcher.pod.gang.store.store import Store
from launcher.pod.log import Tell
from launcher.pod.programs.stacks.asking import ProgramStacks
from launcher.pod.settings.nouns import Settings


class DeskLooks:
    """The questions of this pod's agent, and what it is told."""

    def __init__(self, settings: Settings, store: Store, nudge: Callable[[], None], tell: Tell) -> None:
        """Hear nothing yet."""
        self._store = store
        self._tell = tell
        self._asks = settings.stacks
        self._socket = LookSocket(look_socket(settings.address, settings.status_port), nudge)
        self._texts: Mapping[str, str] = {}

    def start(self) -> None:
        """Hear questions; without that nothing else is amiss."""
        try:
            self._socket.open()
        except OSError as error:
            self._tell("looks_not_served", why=str(error))

    @property
    def wanted(self) -> int:
        """How many looks were asked for so far."""
        return self._socket.asked

    def keep(self, generation: int, look: int, found: Sequence[ProgramStacks]) -> None:
        """Have the texts of a look; any thread may call it, and it does not wait."""
        self._texts = {f"{each.digest.role} {each.digest.rank}": each.text for each in found}
        self._store.keep_stacks(generation, look, found)

    def answer(self, member: Member, leader: str) -> None:
        """Answer the question that waits, if that can be done by now."""
        if not self._socket.waiting:
            return
        told = look_told(member.status, member.heard, member.lead.looks, member.wanted, leader)
        if told and "programs" in told:
            told = {**told, "asks": self._asks, "texts": self._texts, "record": self._store.record_path}
        if told:
            self._socket.give(told)
