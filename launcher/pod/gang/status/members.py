"""The members of a generation as a page of their own, named by its digest: a word stays small whatever their number.

No I/O here. The status is served without them, its answer names the page, and the reader puts the two together.
"""

from __future__ import annotations

import hashlib
from dataclasses import replace

from launcher.pod.gang.protocol import codec
from launcher.pod.gang.protocol.codec import Malformed
from launcher.pod.gang.protocol.messages import Status, Who

REMEMBERED_PAGES = 4  # a reader may come for one when the next generation is made already

_Members = tuple[Who, ...]


def members_of(status: Status) -> _Members:
    """Return the members of the generation in a leader's word."""
    generation = status.word.generation if status.word else None
    return generation.members if generation else ()


def with_members(status: Status, members: _Members) -> Status:
    """Return a status with these members in its word's generation, if it has one."""
    if status.word is None or status.word.generation is None:
        return status
    generation = replace(status.word.generation, members=members)
    return replace(status, word=replace(status.word, generation=generation))


def digest_of(page: bytes) -> str:
    """Return the name of a page."""
    return hashlib.sha256(page).hexdigest()[:32]


def page_of(digest: str, page: bytes) -> _Members:
    """Return the members in a page that was asked for by its digest."""
    if digest_of(page) != digest:
        raise Malformed("its page of members has another digest: expected the one that was asked for")
    return codec.decode_members(page)


class MemberPages:
    """The pages that were named of late, each written once."""

    def __init__(self) -> None:
        self._newest: _Members = ()
        self._digest = ""
        self._pages: dict[str, bytes] = {}

    def name(self, members: _Members) -> str:
        """Return the digest of the page of these members, and keep the page; nothing for nobody."""
        if members is not self._newest and members != self._newest:
            page = codec.encode_members(members) if members else b""
            self._newest, self._digest = members, digest_of(page) if members else ""
            self._pages[self._digest] = page
            while len(self._pages) > REMEMBERED_PAGES:
                del self._pages[next(iter(self._pages))]
        return self._digest

    def page(self, digest: str) -> bytes | None:
        """Return a page, None if it is not of late."""
        return self._pages.get(digest) or None
