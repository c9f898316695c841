"""What one launcher answers its programs in one generation: questions and words in, answers and marks out."""

from __future__ import annotations

from dataclasses import replace

import pytest

from launcher.pod.gang.here.requests import MOST_FACTS, Answer, Ask, AskLeaving, Barrier, Get, Report, Share
from launcher.pod.gang.here.session import NAMES_KEPT, STANDING, HereSession
from launcher.pod.gang.protocol.barriers import SHARED_BY_ALL, SHARED_BY_ONE
from launcher.pod.gang.protocol.messages import (
    AlarmTold,
    Generation,
    LeaderMessage,
    Leaving,
    Marks,
    Stage,
    Trouble,
    Wait,
)

WORD = LeaderMessage(generation=Generation(number=3, members=(), digest=""))
OK: dict[str, Answer] = {"me": {"ok": None}}


def session(trainers: int = 3) -> HereSession[str]:
    return HereSession(number=3, rank=1, trainers=trainers, over="")


def misuse(session: HereSession[str], ask: Ask) -> str:
    """Return the sentence that a question is refused with."""
    (answer,) = session.ask("misuser", ask).values()
    assert answer.keys() == {"misuse"}
    return str(answer["misuse"])


def test_a_barrier_is_answered_once_the_leader_says_that_it_is_passed() -> None:
    mine = session()
    assert mine.ask("me", Barrier(name="b")) == {}
    assert mine.marks == Marks(at=("b",))
    assert mine.hear(replace(WORD, passed=("a",))) == {}
    assert mine.hear(replace(WORD, passed=("a", "b"))) == OK
    assert mine.marks == Marks()


def test_a_word_about_another_generation_releases_nobody() -> None:
    mine = session()
    mine.ask("me", Barrier(name="b"))
    assert mine.hear(LeaderMessage(generation=Generation(number=2, members=(), digest=""), passed=("b",))) == {}
    assert mine.hear(LeaderMessage(passed=("b",))) == {}


def test_a_name_is_good_for_one_use_and_for_one_caller() -> None:
    mine = session()
    mine.ask("me", Barrier(name="b"))
    assert "waited at already" in misuse(mine, Barrier(name="b"))
    mine.ask("other", Barrier(name="c"))
    mine.hear(replace(WORD, passed=("b",)))
    assert misuse(mine, Barrier(name="b")) == (
        "barrier 'b' was passed already in this generation: give each its own name, as f'pass-{n}'"
    )


def test_who_waited_in_vain_hears_so_once_the_leader_tells_what_it_found_of_it() -> None:
    mine, late = session(), "barrier 'b': not every trainer came within 2 s"
    mine.ask("me", Barrier(name="b", timeout=2))
    assert mine.outlasts("me")
    assert mine.hear(WORD) == {}
    found = (AlarmTold(kind=Trouble.TIMED_OUT, rank=0, node="", reason="trainer 0 does not come"),)
    assert mine.hear(replace(WORD, found=found)) == {"me": {"timeout": late}}
    mine.ask("me", Barrier(name="b", timeout=2))
    assert not mine.outlasts("me"), "a look was taken for it"
    assert mine.hear(replace(WORD, found=found, passed=("b",))) == OK


def test_a_number_that_is_none_is_a_trouble_once_for_each_name() -> None:
    mine = session()
    for step in (1, 2):
        mine.ask("me", Report(facts={"pass": 3, "step": step, "loss": "nan", "best": "inf", "note": "nano"}))
    assert mine.troubles == {(Trouble.NOT_A_NUMBER, "loss"): "reports loss=nan at pass 3, step 1"}


def test_an_arrival_that_timed_out_stands_and_may_be_waited_for_again() -> None:
    mine = session()
    mine.ask("me", Barrier(name="b", timeout=2))
    assert mine.late("me") == {"me": {"timeout": "barrier 'b': not every trainer came within 2 s"}}
    assert mine.late("me") == {}
    assert mine.marks == Marks(at=("b",))
    mine.ask("me", Barrier(name="b", timeout=2))
    mine.late("me")
    assert mine.hear(replace(WORD, passed=("b",))) == {}
    mine.hear(WORD)  # nobody stands there any more, and the leader may have forgotten the name
    assert mine.ask("me", Barrier(name="b")) == OK
    assert "passed already" in misuse(mine, Barrier(name="b"))


def test_who_dies_at_a_barrier_does_not_stand_there() -> None:
    mine = session()
    mine.ask("me", Barrier(name="b"))
    mine.ask("other", Get(key="k"))
    mine.gone("me")
    mine.gone("other")
    mine.gone("nobody")
    assert mine.marks == Marks()


def test_what_is_waited_for_without_a_timeout_is_told_until_it_is_answered() -> None:
    mine = session()
    mine.ask("one", Barrier(name="b"))
    mine.ask("two", Get(key="k", rank=2))
    mine.ask("three", Get(key="l"))
    mine.ask("four", Barrier(name="c", timeout=5))
    mine.ask("five", Get(key="m", timeout=5))
    value = Wait(name="k", value=True, rank=2)
    assert list(mine.waits) == [Wait(name="b"), value, Wait(name="l", value=True)]
    mine.hear(replace(WORD, passed=("b",), shared={"0": {"l": "1"}}))
    assert list(mine.waits) == [value]
    mine.gone("two")
    assert list(mine.waits) == []


def test_a_trainer_stands_at_some_dozens_of_barriers_at_most() -> None:
    mine = session()
    for number in range(STANDING):
        mine.ask(f"caller {number}", Barrier(name=f"b{number}", timeout=1))
        mine.late(f"caller {number}")
    assert f"stands at {STANDING} barriers" in misuse(mine, Barrier(name="one more"))
    assert mine.ask("me", Barrier(name="b0")) == {}


def test_of_any_number_of_barriers_the_last_thousand_names_are_kept() -> None:
    mine = session()
    for number in range(2 * NAMES_KEPT):
        names = (f"b{number}", f"late{number}")
        mine.ask("me", Barrier(name=names[0]))
        mine.ask("other", Barrier(name=names[1], timeout=1))
        mine.late("other")
        mine.hear(replace(WORD, passed=names))
    assert (len(mine.told), len(mine.arrived)) == (NAMES_KEPT, 0)
    assert len(mine.passed) <= NAMES_KEPT
    assert "passed already" in misuse(mine, Barrier(name=f"b{NAMES_KEPT}"))
    assert mine.ask("other", Barrier(name=f"late{NAMES_KEPT + 1}")) == {"other": {"ok": None}}
    assert mine.ask("me", Barrier(name="b0")) == {}


def test_a_value_of_another_trainer_comes_with_the_leaders_word_early_or_late() -> None:
    mine, word = session(), replace(WORD, shared={"2": {"k": '"two"'}, "0": {"k": "[0]"}})
    assert mine.ask("early", Get(key="k", rank=2)) == {}
    assert mine.ask("any", Get(key="k")) == {}
    assert mine.hear(word) == {"early": {"ok": "two"}, "any": {"ok": [0]}}
    assert mine.ask("me", Get(key="k", rank=2)) == {"me": {"ok": "two"}}
    assert mine.ask("other", Get(key="nothing", timeout=2)) == {}
    assert mine.late("other") == {"other": {"timeout": "get('nothing'): no trainer shared it within 2 s"}}


def test_the_own_value_is_there_at_once_for_who_asks_for_the_own_rank() -> None:
    mine = session()
    assert mine.ask("early", Get(key="k", rank=1, timeout=2)) == {}
    assert mine.ask("me", Share(key="k", text="1.5")) == {"me": {"ok": None}, "early": {"ok": 1.5}}
    assert mine.ask("any", Get(key="k")) == {}
    assert mine.marks.shared == {"k": "1.5"}
    assert mine.ask("late", Get(key="l", rank=2, timeout=2)) == {}
    assert mine.late("late") == {"late": {"timeout": "get('l'): trainer 2 has not shared it within 2 s"}}


def test_a_text_that_is_no_json_is_handed_on_as_it_is() -> None:
    mine = session()
    mine.hear(replace(WORD, shared={"0": {"k": "{", "deep": "[" * 50_000}}))
    assert mine.ask("me", Get(key="k")) == {"me": {"ok": "{"}}
    assert mine.ask("me", Get(key="deep")) == {"me": {"ok": "[" * 50_000}}


@pytest.mark.parametrize("rank", [-1, 3, 10**30])
def test_an_unknown_rank_is_refused(rank: int) -> None:
    assert misuse(session(), Get(key="k", rank=rank)) == f"get('k', rank={rank}): the ranks are 0 to 2"


def test_what_one_trainer_shares_is_limited_and_a_new_value_takes_the_olds_place() -> None:
    mine = session()
    most = Share(key="k", text="x" * (SHARED_BY_ONE - 7))
    assert mine.ask("me", most) == OK
    assert mine.ask("me", most) == OK
    assert f"{SHARED_BY_ONE + 8} bytes" in misuse(mine, Share(key="l", text="1"))
    assert mine.ask("me", Share(key="k", text="1")) == OK
    assert mine.marks.shared == {"k": "1"}


def test_what_all_share_is_limited_as_far_as_it_is_known_here() -> None:
    mine = session()
    mine.hear(replace(WORD, shared={"0": {"k": "x" * (SHARED_BY_ALL - 17)}, "1": {"old": "x" * 1000}}))
    assert f"{SHARED_BY_ALL} is the limit" in misuse(mine, Share(key="k", text="1234"))
    assert mine.ask("me", Share(key="k", text="123")) == OK


def test_progress_shows_the_last_of_each_fact_and_not_too_many() -> None:
    mine = session()
    mine.ask("me", Report(facts={"pass": 1, "loss": 0.5}))
    assert mine.ask("me", Report(facts={"loss": 0.25, "step": 7})) == OK
    assert mine.marks.progress == {"pass": 1, "loss": 0.25, "step": 7}
    mine.ask("me", Report(facts={f"m{number}": number for number in range(MOST_FACTS)}))
    assert len(mine.marks.progress) == MOST_FACTS


def test_the_gang_decides_by_barriers_values_and_passes_not_by_steps() -> None:
    mine = session()
    seen = [mine.decisive]
    for ask, decides in (
        (Report(facts={"step": 1}), False),
        (Report(facts={"pass": 0, "step": 2}), True),
        (Report(facts={"pass": 0, "step": 3, "loss": 0.5}), False),
        (Report(facts={"pass": 1}), True),
        (Share(key="k", text="1"), True),
        (Share(key="k", text="2"), True),
        (Share(key="k", text="2"), False),
        (Barrier(name="b"), True),
        (Get(key="m", timeout=1), False),
        (Get(key="l", rank=0), True),
    ):
        mine.ask("me" if isinstance(ask, Barrier) else "other", ask)
        seen.append(mine.decisive)
        assert (seen[-1] != seen[-2]) is decides, ask
    mine.hear(replace(WORD, passed=("b",)))
    assert mine.decisive != seen[-1]


def test_the_end_of_a_generation_answers_all_who_wait_and_all_who_come() -> None:
    mine = session()
    mine.ask("one", Barrier(name="b"))
    mine.ask("two", Get(key="k"))
    mine.ask("three", Share(key="k", text="1"))
    assert mine.end("trainer 2 ended with 7") == {
        "one": {"ended": "trainer 2 ended with 7"},
        "two": {"ended": "trainer 2 ended with 7"},
    }
    assert mine.ask("me", Barrier(name="c")) == {"me": {"ended": "trainer 2 ended with 7"}}
    assert mine.hear(replace(WORD, passed=("b",))) == {}
    assert mine.marks == Marks(shared={"k": "1"})
    assert mine.end("") == {}
    assert mine.ask("me", Get(key="k", rank=1)) == {"me": {"ended": "the generation ended"}}


def test_before_the_first_generation_nothing_can_be_asked() -> None:
    assert HereSession[str]().ask("me", Barrier(name="b")) == {"me": {"ended": "no generation has begun"}}


SOON = Leaving(why="node 2 was told to stop", seconds=10.0)
ALL_SOON = LeaderMessage(stage=Stage.LEAVING, generation=WORD.generation, leaving=SOON)


def test_who_asks_whether_all_ends_soon_goes_on_until_the_call_that_all_are_told_at() -> None:
    mine = session()
    assert mine.marks == Marks()
    assert [mine.ask("me", AskLeaving()) for _ in range(2)] == [OK, OK]
    assert mine.marks == Marks(leave=0)
    assert mine.hear(ALL_SOON, now=100.0) == {}
    assert mine.marks == Marks(leave=3)
    assert mine.ask("me", AskLeaving()) == {}
    assert mine.waits == (), "it ends by itself"
    assert mine.hear(replace(ALL_SOON, leaving=replace(SOON, call=4)), now=101.0) == OK
    told = {"me": {"ok": [7.5, "node 2 was told to stop"]}}
    assert mine.ask("me", AskLeaving(), now=102.5) == told
    assert mine.ask("me", AskLeaving(), now=102.5) == told
    assert mine.ask("me", AskLeaving(), now=200.0) == {"me": {"ok": [0.0, "node 2 was told to stop"]}}


def test_a_trainer_that_has_not_asked_yet_says_that_its_first_call_is_left() -> None:
    mine = session()
    mine.hear(ALL_SOON)
    assert mine.marks.leave == 1
    assert mine.ask("me", AskLeaving()) == {}
    assert mine.end("it is over") == {"me": {"ended": "it is over"}}
    assert mine.late("me") == {}
