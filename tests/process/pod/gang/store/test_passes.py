"""Which passes on a volume count as complete: `done` is there, and what it speaks for is whole."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st

from launcher.pod.gang.store.passes import PASSES_KEPT, TRIED, Baseline, complete, newest_above, refuse_others
from launcher.pod.gang.store.record import RecordError
from launcher.pod.outcome import SettingsError
from launcher.pod.settings.nouns import Runtime
from tests.support.keeping import JOB, output_in
from tests.support.volume import lay_out

PARTS = {"emb": "12345", "0/part-000.gz": "abc", "0/part-001.gz": "abcd"}
SIZES = {"emb": 5, "0/part-000.gz": 3, "0/part-001.gz": 4}


def told(sizes: object) -> str:
    return json.dumps({"files": sizes})


def save(top: Path, number: int, done: str | bytes | None = "", parts: Mapping[str, str] = PARTS) -> Path:
    at = top / JOB / "output" / f"pass-{number:05}"
    at.mkdir(parents=True)
    lay_out(at, parts if done is None else {**parts, "done": done})
    return at


def test_without_an_output_there_is_no_pass(tmp_path: Path) -> None:
    assert complete(output_in(tmp_path)) == ()
    assert Baseline.take(output_in(tmp_path)) == Baseline()


def test_passes_are_told_in_ascending_order(tmp_path: Path) -> None:
    for number in (3, 0, 11, 2, 99_999, 100_000):
        save(tmp_path, number)
    save(tmp_path, 7, done=None)
    assert complete(output_in(tmp_path)) == (0, 2, 3, 11, 99_999, 100_000)


def test_the_newest_ten_are_enough_and_what_is_torn_does_not_count_among_them(tmp_path: Path) -> None:
    for number in range(2 * PASSES_KEPT):
        save(tmp_path, number, done="{" if number % 3 == 0 else "")
    whole = [number for number in range(2 * PASSES_KEPT) if number % 3]
    assert complete(output_in(tmp_path)) == tuple(whole[-PASSES_KEPT:])


@pytest.mark.parametrize(("known", "newest"), [(-1, 3), (2, 3), (3, None), (9, None)])
def test_the_newest_complete_pass_above_a_known_one(tmp_path: Path, known: int, newest: int | None) -> None:
    for number, done in ((0, ""), (3, ""), (4, "{"), (5, None)):
        save(tmp_path, number, done=done)
    assert newest_above(output_in(tmp_path), known) == newest


def test_a_done_that_names_the_files_holds_when_they_are_there_in_their_sizes(tmp_path: Path) -> None:
    save(tmp_path, 0, told(SIZES))
    save(tmp_path, 1, told({"empty": 0}), {"empty": "", "more": "x"})
    assert complete(output_in(tmp_path)) == (0, 1)


@pytest.mark.parametrize(
    "sizes",
    [
        SIZES | {"missing": 1},
        SIZES | {"emb": 4},
        SIZES | {"emb": 6},
        SIZES | {"0": 4096},
        SIZES | {"emb": "5"},
        SIZES | {"emb": 5.0},
        SIZES | {"emb": -1},
        SIZES | {"emb": None},
        {"emb": True},
        SIZES | {"../pass-00001/emb": 5},
        SIZES | {"./emb": 5},
        SIZES | {"0/../emb": 5},
        SIZES | {"/etc/passwd": Path("/etc/passwd").stat().st_size},
        SIZES | {"e\0mb": 5},
        {},
        [],
        ["emb"],
        "emb",
        None,
    ],
)
def test_a_done_that_names_what_is_not_there_so_does_not_hold(tmp_path: Path, sizes: object) -> None:
    save(tmp_path, 0, told(sizes))
    save(tmp_path, 1, told(SIZES))
    assert complete(output_in(tmp_path)) == (1,)


@pytest.mark.parametrize(
    "done", [b"{", b"null", b"1", b"done", b"\0" * 40, b"[" * 100_000, b"\xff", b" " * (1 << 21), b"[]", b'{"a": 1}']
)
def test_a_done_that_is_neither_empty_nor_what_it_should_be_does_not_hold(tmp_path: Path, done: bytes) -> None:
    save(tmp_path, 0, done)
    save(tmp_path, 1, "")
    assert complete(output_in(tmp_path)) == (1,)


@given(st.integers(0, len(told(SIZES)) - 1))
def test_a_torn_done_does_not_hold_unless_nothing_of_it_is_left(size: int) -> None:
    with TemporaryDirectory() as top:
        save(Path(top), 0, told(SIZES)[:size])
        assert complete(output_in(Path(top))) == (() if size else (0,))


@pytest.mark.parametrize("parts", [{}, {"emb": ""}, {"emb": "1", "bias": ""}, {"emb": "1", "0/part": ""}])
def test_an_empty_done_holds_for_files_of_which_none_is_empty(tmp_path: Path, parts: Mapping[str, str]) -> None:
    save(tmp_path, 0, "", parts)
    save(tmp_path, 1, "", {"0/part": "1"})
    assert complete(output_in(tmp_path)) == (1,)


@pytest.mark.parametrize("done", ["", told({"emb": 5, "out": 5})])
def test_a_link_is_no_file_of_a_pass(tmp_path: Path, done: str) -> None:
    treasure = tmp_path / "treasure"
    treasure.write_text("12345")
    at = save(tmp_path, 0, done, {"emb": "12345"})
    (at / "out").symlink_to(treasure)
    assert complete(output_in(tmp_path)) == ()
    (at / "out").unlink()
    (at / "out").write_text("12345")
    assert complete(output_in(tmp_path)) == (0,)


def test_a_pass_or_a_done_that_is_a_link_or_no_file_is_passed_over(tmp_path: Path) -> None:
    real = save(tmp_path, 0)
    real.with_name("pass-00001").symlink_to(real)
    (save(tmp_path, 2, None) / "done").symlink_to(real / "done")
    os.mkfifo(save(tmp_path, 3, None) / "done")  # must not be waited for
    (save(tmp_path, 4, None) / "done").mkdir()
    real.with_name("pass-00005").write_text("a file")
    os.mkfifo(save(tmp_path, 6) / "pipe")
    assert complete(output_in(tmp_path)) == (0,)


@pytest.mark.parametrize(
    ("saved", "runtime"),
    [("torch", "torch"), ("env", "torch"), ("torch", "env"), ("", "jax"), (None, "jax"), ([], "jax")],
)
def test_a_pass_of_this_framework_or_of_no_certain_one_is_gone_on_from(
    tmp_path: Path, saved: object, runtime: str
) -> None:
    save(tmp_path, 0, json.dumps({"files": SIZES, "runtime": saved}))
    refuse_others(output_in(tmp_path), (0,), Runtime(runtime))


@pytest.mark.parametrize("done", [None, b"", b"{", b"[]"])
def test_a_done_that_does_not_tell_who_saved_it_refuses_nobody(tmp_path: Path, done: bytes | None) -> None:
    save(tmp_path, 0, done)
    refuse_others(output_in(tmp_path), (), Runtime.JAX)
    refuse_others(output_in(tmp_path), (0,), Runtime.JAX)
    refuse_others(output_in(tmp_path), (1,), Runtime.JAX)


@pytest.mark.parametrize(("saved", "said"), [("torch", "torch"), ("jax\n", "'jax\\n'"), (["a"], "['a']")])
def test_a_newest_pass_of_another_framework_is_refused(tmp_path: Path, saved: object, said: str) -> None:
    save(tmp_path, 3, json.dumps({"files": SIZES, "runtime": "jax"}))
    at = save(tmp_path, 4, json.dumps({"files": SIZES, "runtime": saved}))
    with pytest.raises(SettingsError) as refused:
        refuse_others(output_in(tmp_path), (3, 4), Runtime.JAX)
    assert str(refused.value) == (
        f"{at} was saved by a program of LAUNCHER_RUNTIME={said}, and this one is of jax: "
        f"set LAUNCHER_RUNTIME={said}, or move the passes away to begin anew"
    )


def test_only_a_passs_own_name_counts(tmp_path: Path) -> None:
    output = save(tmp_path, 5).parent
    for name in ("pass-5", "pass-000005", "pass-00006.1", "xpass-00007", "pass-00008 ", "pass-٠٠٠٠٩", "pass--0001"):
        (output / name).mkdir()
        lay_out(output / name, {"emb": "1", "done": ""})
    assert complete(output_in(tmp_path)) == (5,)


def test_what_cannot_be_read_is_no_empty_output(tmp_path: Path) -> None:
    (tmp_path / JOB).mkdir()
    (tmp_path / JOB / "output").symlink_to(tmp_path)
    with pytest.raises(RecordError, match="links are not followed here"):
        complete(output_in(tmp_path))
    with pytest.raises(RecordError, match="is the volume mounted"):
        complete(output_in(tmp_path / "not there"))


def test_passes_that_stood_there_before_do_not_count_until_they_are_done_anew(tmp_path: Path) -> None:
    output = output_in(tmp_path)
    old = [save(tmp_path, number) for number in range(3)]
    save(tmp_path, 7, None)
    before = Baseline.take(output)
    assert set(before.marks) == {0, 1, 2}
    assert complete(output, without=before) == ()
    (old[0] / "emb").write_text("trained over")
    assert complete(output, without=before) == ()
    (old[0] / "done").unlink()
    assert complete(output, without=before) == ()
    (old[0] / "done").touch()
    os.utime(old[1] / "done")  # as a v1 trainer touches it
    save(tmp_path, 3)
    assert complete(output, without=before) == (0, 1, 3)
    assert complete(output) == (0, 1, 2, 3)


def test_many_old_passes_do_not_hide_the_new_ones(tmp_path: Path) -> None:
    for number in range(100, 100 + TRIED + 1):
        save(tmp_path, number)
    before = Baseline.take(output_in(tmp_path))
    save(tmp_path, 0)
    assert complete(output_in(tmp_path), without=before) == (0,)
