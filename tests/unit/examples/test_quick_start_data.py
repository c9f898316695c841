"""The quick start's data: reviews are made up, or read in the form of Amazon's, and prepared for training."""

from __future__ import annotations

import gzip
import importlib
import json
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

EXAMPLE = Path(__file__).parents[3] / "examples" / "quick_start"
NAMES = ("opinions", "raw", "make_reviews", "preprocess")


@pytest.fixture(scope="module")
def example() -> Iterator[SimpleNamespace]:
    """Return the example's modules; they import each other by plain names, as programs in one directory do."""
    before = {name: sys.modules.pop(name, None) for name in NAMES}
    sys.path.insert(0, str(EXAMPLE))
    yield SimpleNamespace(**{name: importlib.import_module(name) for name in NAMES})
    sys.path.remove(str(EXAMPLE))
    for name, module in before.items():
        del sys.modules[name]
        if module:
            sys.modules[name] = module


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return an empty directory that is the current one."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def line(text: object, stars: object) -> bytes:
    return json.dumps({"reviewText": text, "overall": stars}).encode() + b"\n"


def packed(path: Path, *lines: bytes) -> Path:
    path.write_bytes(gzip.compress(b"".join(lines)))
    return path


def some(count: int, stars: float) -> list[bytes]:
    """Return as many reviews, no two of the same words."""
    return [
        line(f"Number {'a' * (number + 1)} has {'many' if stars > 3 else 'few'} stars.", stars)
        for number in range(count)
    ]


def read(directory: Path) -> dict[str, list[list[str]]]:
    """Return the rows of the three files, and hold that nothing is beside them."""
    assert sorted(path.name for path in directory.parent.iterdir() if path.is_dir()) == [directory.name]
    names = sorted(path.name for path in directory.iterdir())
    assert names == ["dict.txt", "test.txt", "train.txt"]
    return {name: [row.split("\t") for row in (directory / name).read_text().splitlines()] for name in names}


def test_what_is_made_up_follows_from_the_seed_to_the_byte(example: SimpleNamespace, tmp_path: Path) -> None:
    made = []
    for name, seed in (("a", 1), ("b", 1), ("c", 2)):
        example.make_reviews.main([str(tmp_path / name), "--reviews=50", f"--seed={seed}"])
        made.append((tmp_path / name).read_bytes())
    assert made[0] == made[1] != made[2]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a", "b", "c"]


def test_what_is_made_up_is_in_the_form_of_amazons_file(example: SimpleNamespace) -> None:
    said = [json.loads(each) for each in example.make_reviews.lines(400, 1)]
    assert {each["overall"] for each in said} == {1.0, 2.0, 3.0, 4.0, 5.0}
    assert all(each["reviewText"].endswith((".", "!")) for each in said)


def test_one_third_kind_of_sentence_differs_by_the_order_of_its_words_alone(example: SimpleNamespace) -> None:
    """Whoever counts words cannot tell which of the two things is said."""
    for pair in example.opinions.BESIDE:
        for_it, against_it = (
            pair[at].format(who="x", part="y", yes=yes, no=no).lower().replace(".", "").split()
            for at, yes, no in ((0, "good", "bad"), (1, "bad", "good"))
        )
        assert Counter(for_it) == Counter(against_it)
        assert for_it != against_it


def test_reviews_are_told_apart_by_their_stars_and_bad_lines_are_counted(
    example: SimpleNamespace, tmp_path: Path
) -> None:
    bad = [
        b"{\n",
        b"[1]\n",
        b'{"overall": 5.0}\n',
        line("Good", 0),
        line("Good", "5"),
        line("Good", True),
        line(7, 5),
    ]
    bad += [line("12 !?", 5), b"\xff\xfe\n", b"[" * 100_000 + b"\n", line("long " * 300_000, 5)]
    file = packed(
        tmp_path / "f", line("It's GREAT, no. 1!", 5), *bad, line("So-so", 3), b"\n", line("Mauvaise qualité", 1)
    )
    tally = example.raw.Tally()
    assert list(example.raw.reviews(file, tally)) == [(1, "it's great no"), (0, "mauvaise qualité")]
    assert (tally.lines, tally.undecided, tally.bad) == (len(bad) + 3, 1, len(bad))
    assert tally.first_bad == f"{file}:2: no JSON: b'{{\\n'"


def test_a_long_review_is_cut(example: SimpleNamespace) -> None:
    assert len(example.raw.words_of("word " * 1000)) == example.raw.WORDS


def test_as_many_are_for_as_against_and_nothing_is_both_learned_and_held_out(
    example: SimpleNamespace, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    twice = [*some(100, 5), *some(100, 5), *some(40, 1)]
    assert example.preprocess.main([str(packed(here / "f", *twice, b"broken\n"))]) == 0
    rows = read(here / "data/prepared")
    for name, count in (("train.txt", 32), ("test.txt", 8)):
        assert Counter(kind for kind, _ in rows[name]) == {"0": count, "1": count}
    texts = [text for name in ("train.txt", "test.txt") for _, text in rows[name]]
    assert len(set(texts)) == len(texts) == 80
    assert len({kind for kind, _ in rows["train.txt"][:20]}) == 2  # mixed
    told = capsys.readouterr().out
    assert "64 reviews to learn from and 16 held out, half of them positive" in told
    assert f"1 bad lines left out, the first one {here / 'f'}:241: no JSON: b'broken\\n'" in told


def test_the_dictionary_is_of_what_is_learned_from_the_most_frequent_word_first(
    example: SimpleNamespace, here: Path
) -> None:
    file = str(packed(here / "f", *some(40, 5), *some(40, 1)))
    assert example.preprocess.main([file, "--dictionary=12"]) == 0
    rows = read(here / "data/prepared")
    learned = Counter(word for _, text in rows["train.txt"] for word in text.split())
    assert {word: int(count) for word, count in rows["dict.txt"]}.items() <= learned.items()
    assert [word for word, _ in rows["dict.txt"]] == sorted(learned, key=lambda word: (-learned[word], word))[:12]


def test_the_same_file_and_seed_come_to_the_same_bytes_again_and_again(example: SimpleNamespace, here: Path) -> None:
    file = str(packed(here / "f", *some(60, 5), *some(60, 1)))
    found = []
    for seed in (1, 1, 2):
        assert example.preprocess.main([file, f"--seed={seed}", "--most=30"]) == 0
        found.append(read(here / "data/prepared"))
    assert found[0] == found[1] != found[2]
    assert len(found[0]["train.txt"]) + len(found[0]["test.txt"]) == 60


def test_any_review_is_as_likely_in_the_sample_as_any_other(example: SimpleNamespace) -> None:
    found = ((1, str(number % 100)) for number in range(100))
    kept = example.preprocess.sample(found, 50, seed=1)[1]
    assert len(kept) == 50
    assert 15 < sum(int(text) < 50 for text in kept) < 35


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (None, "is not there: data/get_data.sh brings it"),
        (b"", "there are 0 positive and 0 negative reviews: expected 10 or more of each"),
        (gzip.compress(b""), "there are 0 positive and 0 negative reviews: expected 10 or more of each"),
        (gzip.compress(b"".join(some(40, 5))), "there are 40 positive and 0 negative reviews"),
        (gzip.compress(line("Both", 5) * 20 + line("Both", 1) * 20), "there are 0 positive and 0 negative reviews"),
        (b"no gzip", "cannot be read to its end: Not a gzipped file"),
        (gzip.compress(b"".join(some(400, 5)))[:-20], "cannot be read to its end: Compressed file ended"),
    ],
)
def test_nothing_to_learn_from_is_told_with_65_and_what_was_there_stays(
    example: SimpleNamespace, here: Path, capsys: pytest.CaptureFixture[str], content: bytes | None, told: str
) -> None:
    assert example.preprocess.main([str(packed(here / "f", *some(20, 5), *some(20, 1)))]) == 0
    before = read(here / "data/prepared")
    (here / "f").unlink()
    if content is not None:
        (here / "f").write_bytes(content)
    assert example.preprocess.main([str(here / "f")]) == 65
    assert told in capsys.readouterr().err
    assert read(here / "data/prepared") == before
