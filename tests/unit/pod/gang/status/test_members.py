"""The members of a generation as a page of their own: named by a digest, put together again, of a bounded number."""

from __future__ import annotations

from dataclasses import replace

import pytest

from launcher.pod.gang.protocol import codec
from launcher.pod.gang.protocol.codec import Malformed
from launcher.pod.gang.protocol.messages import LeaderMessage
from launcher.pod.gang.status.members import (
    REMEMBERED_PAGES,
    MemberPages,
    digest_of,
    members_of,
    page_of,
    with_members,
)
from tests.support.gang_world.views import TRAINING, status, who


def test_a_status_is_the_same_once_it_is_put_together_again() -> None:
    whole = status(1, word=TRAINING)
    pages = MemberPages()
    digest = pages.name(members_of(whole))
    page = pages.page(digest)
    assert page
    assert with_members(with_members(whole, ()), page_of(digest, page)) == whole


@pytest.mark.parametrize("word", [None, LeaderMessage()])
def test_a_status_without_a_generation_has_no_page(word: LeaderMessage | None) -> None:
    plain = replace(status(1), word=word)
    assert members_of(plain) == ()
    assert MemberPages().name(()) == ""
    assert MemberPages().page("") is None
    assert with_members(plain, (who(1),)) == plain


def test_a_page_of_another_digest_is_malformed() -> None:
    page = codec.encode_members((who(1),))
    assert page_of(digest_of(page), page) == (who(1),)
    with pytest.raises(Malformed, match="another digest"):
        page_of(digest_of(b"another"), page)


def test_pages_of_long_ago_make_room() -> None:
    pages = MemberPages()
    names = [pages.name((who(number),)) for number in range(REMEMBERED_PAGES + 2)]
    assert [pages.page(each) is not None for each in names] == [False] * 2 + [True] * REMEMBERED_PAGES
    assert pages.name((who(REMEMBERED_PAGES + 1),)) == names[-1]


def test_a_word_to_a_thousand_is_two_kilobytes_without_its_members() -> None:
    members = tuple(who(number, boot="0123456789abcdef") for number in range(1000))
    generation = (
        replace(TRAINING.generation, members=members, cause="node 1 was lost") if TRAINING.generation else None
    )
    whole = status(1, word=replace(TRAINING, generation=generation))
    assert len(codec.encode(with_members(whole, ()))) < 2048 < len(codec.encode(whole))
