"""The recommendation example's data: three forms are read, ratings are made up, and both are divided into shards."""

from __future__ import annotations

import importlib
import io
import math
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

from launcher.dataset.arguments import split_options
from launcher.dataset.progress import SplitProgress
from launcher.dataset.ratings import world_for
from launcher.dataset.splitting import split_into_shards

EXAMPLE = Path(__file__).parents[3] / "examples" / "recommendation"
NAMES = ("ratings", "world", "make_data")

ONE_M = {
    "users.dat": "1::F::1::10::48067\n2::M::56::16::70072\n",
    "movies.dat": "1::Toy Story (1995)::Animation|Children's|Comedy\n7::Misérables, Les (1995)::Drama\n",
    "ratings.dat": "1::1::5::978300760\n2::7::3::978302109\n",
}
HUNDRED_K = {
    "u.user": "1|24|M|technician|85711\n2|53|F|other|94043\n",
    "u.item": "1|Toy Story (1995)|01-Jan-1995||http://there|0|0|0|1|1|1|0|0|0|0|0|0|0|0|0|0|0|0|0\n",
    "u.data": "1\t1\t3\t881250949\n2\t1\t4\t881250949\n",
    "u2.base": "1\t1\t3\t881250949\n",
    "u2.test": "2\t1\t4\t881250949\n",
}
RECBOLE = {
    "ml.user": "user_id:token\tage:token\tgender:token\toccupation:token\tzip:token\n2\t53\tF\tother\t94043\n",
    "ml.item": "item_id:token\tmovie_title:token_seq\trelease_year:token\tclass:token_seq\n"
    "1\tToy Story\t1995\tAnimation Children's\n",
    "ml.inter": "user_id:token\titem_id:token\trating:float\ttimestamp:float\n2\t1\t3.5\t1\n",
}


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


def lay_out(directory: Path, files: dict[str, str]) -> Path:
    directory.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (directory / name).write_text(text, encoding="latin-1")
    return directory


def test_movielens_1m_is_read(example: SimpleNamespace, tmp_path: Path) -> None:
    data = example.ratings.read(lay_out(tmp_path, ONE_M))
    assert data.users == {1: example.ratings.User(0, 0, "10"), 2: example.ratings.User(1, 6, "16")}
    assert data.movies[1].words == ("toy", "story")
    assert data.movies[1].genres == ("Animation", "Children's", "Comedy")
    assert data.movies[7].words == ("misérables", "les")
    assert [(each.user, each.movie, each.score) for each in data.ratings] == [(1, 1, 5.0), (2, 7, 3.0)]
    assert data.held_out is None


def test_movielens_100k_is_read_whole_or_as_one_of_its_folds(example: SimpleNamespace, tmp_path: Path) -> None:
    directory = lay_out(tmp_path, HUNDRED_K)
    data = example.ratings.read(directory)
    assert data.users[1] == example.ratings.User(1, 1, "technician")
    assert data.movies[1].genres == ("Animation", "Children's", "Comedy")
    assert (len(data.ratings), data.held_out) == (2, None)
    fold = example.ratings.read(directory, fold=2)
    assert ([each.user for each in fold.ratings], [each.user for each in fold.held_out]) == ([1], [2])


def test_recboles_form_is_read(example: SimpleNamespace, tmp_path: Path) -> None:
    data = example.ratings.read(lay_out(tmp_path, RECBOLE))
    assert data.users == {2: example.ratings.User(0, 5, "other")}
    assert data.movies[1].genres == ("Animation", "Children's")
    assert data.ratings == [example.ratings.Rating(2, 1, 3.5)]


def test_of_a_split_each_file_holds_out_the_same_whatever_other_files_are_beside_it(
    example: SimpleNamespace, tmp_path: Path
) -> None:
    """As where the number of trainers changes: nothing that was held out is learned from later."""
    parts = {f"part-{each}": "".join(f"{user},1,{each}\n" * 3 for user in (1, 2)) for each in (1, 2, 3)}
    about = {name: ONE_M[name] for name in ("users.dat", "movies.dat")}
    alone = [example.ratings.read(lay_out(tmp_path / name, about | {name: text})) for name, text in parts.items()]
    together = example.ratings.read(lay_out(tmp_path / "all", about | parts))
    assert together.held_out == [each for data in alone for each in data.held_out]
    assert together.ratings == [each for data in alone for each in data.ratings]
    assert [len(data.held_out) for data in alone] == [2, 2, 2]


@pytest.mark.parametrize(
    ("name", "line", "told"),
    [
        ("ratings.dat", "1::1::5::1\n1::x::5::1\n", "ratings.dat:2: '1::x::5::1': expected user::movie::score"),
        ("ratings.dat", "1::1\n", "ratings.dat:1: '1::1': expected user::movie::score"),
        ("ratings.dat", "1::1::6::1\n", "ratings.dat:1: the score is 6: expected 0.5 to 5"),
        ("ratings.dat", "1::1::nan::1\n", "ratings.dat:1: the score is nan: expected 0.5 to 5"),
        ("ratings.dat", "9::1::5::1\n", "ratings.dat:1: user 9 is not in users.dat"),
        ("ratings.dat", "\n1::9::5::1\n", "ratings.dat:2: movie 9 is not in movies.dat"),
        ("users.dat", "1::X::1::10::1\n", "users.dat:1: '1::X::1::10::1': this is no line of users.dat"),
        ("users.dat", "1::F::old::10::1\n", "users.dat:1: '1::F::old::10::1': this is no line of users.dat"),
        ("movies.dat", "1::Toy Story\n", "movies.dat:1: '1::Toy Story': this is no line of movies.dat"),
    ],
)
def test_a_bad_line_is_told_with_its_file_and_number(
    example: SimpleNamespace, tmp_path: Path, name: str, line: str, told: str
) -> None:
    with pytest.raises(example.ratings.BadData) as caught:
        example.ratings.read(lay_out(tmp_path, {**ONE_M, name: line}))
    assert str(caught.value) == f"{tmp_path}/{told}"


def test_a_directory_without_ratings_is_told_with_what_was_expected(example: SimpleNamespace, tmp_path: Path) -> None:
    with pytest.raises(example.ratings.BadData, match=r"part-\* \(a split\), users\.dat \(MovieLens-1M\), u\.user"):
        example.ratings.read(tmp_path)
    with pytest.raises(example.ratings.BadData, match=r"has no u3\.base"):
        example.ratings.read(lay_out(tmp_path, HUNDRED_K), fold=3)


def test_what_is_made_up_follows_from_the_seed(example: SimpleNamespace) -> None:
    made = [example.world.make(60, 50, 500, seed) for seed in (1, 1, 2)]
    assert made[0] == made[1]
    assert made[0].ratings != made[2].ratings
    assert len({(each.user, each.movie) for each in made[0].ratings}) == 500
    assert {each.score for each in made[0].ratings} <= {1.0, 2.0, 3.0, 4.0, 5.0}


def test_what_is_made_up_has_something_to_learn(example: SimpleNamespace) -> None:
    """The mean by movie alone is already better than the mean of all."""
    data = example.make_data.divide(example.world.make(300, 100, 6000, 1), 0.2, 1)
    mean = sum(each.score for each in data.ratings) / len(data.ratings)
    by_movie = {}
    for number in data.movies:
        scores = [each.score for each in data.ratings if each.movie == number]
        by_movie[number] = (sum(scores) + 3 * mean) / (len(scores) + 3)

    def rmse(guesses: dict[int, float]) -> float:
        squares = ((guesses.get(each.movie, mean) - each.score) ** 2 for each in data.held_out)
        return math.sqrt(sum(squares) / len(data.held_out))

    assert rmse(by_movie) < rmse({}) - 0.1


def test_more_ratings_than_pairs_are_refused(example: SimpleNamespace) -> None:
    with pytest.raises(example.ratings.BadData, match="expected at most a quarter of the pairs"):
        example.world.make(10, 10, 26, 1)


@pytest.mark.parametrize("layout", ["rank", "data"])
def test_shards_hold_each_rating_once_and_all_users_and_movies(
    example: SimpleNamespace, tmp_path: Path, layout: str
) -> None:
    words = [str(tmp_path), "--shards=3", f"--layout={layout}", "--ratings=1001", "--users=90", "--movies=80"]
    assert example.make_data.main(words) == 0
    shards = [tmp_path / (f"{rank}/data" if layout == "rank" else f"data/{rank}") for rank in range(3)]
    read = [example.ratings.read(shard) for shard in shards]
    whole = example.world.make(90, 80, 1001, 1)
    assert [(each.users, each.movies) for each in read] == [(whole.users, whole.movies)] * 3
    assert [len(each.held_out) for each in read] == [67, 67, 66]
    rejoined = [rating for each in read for rating in (*each.ratings, *each.held_out)]
    assert sorted(map(repr, rejoined)) == sorted(map(repr, whole.ratings))


def test_a_directory_of_movielens_is_divided_and_a_fold_stays_as_it_is(
    example: SimpleNamespace, tmp_path: Path
) -> None:
    source = lay_out(tmp_path / "ml", HUNDRED_K)
    assert example.make_data.main([str(tmp_path), "--layout=here", f"--from={source}", "--fold=2"]) == 0
    data = example.ratings.read(tmp_path / "data")
    assert ([each.user for each in data.ratings], [each.user for each in data.held_out]) == ([1], [2])
    assert data.users[1] == example.ratings.User(1, 1, "technician")


def test_a_split_without_an_input_is_what_the_example_makes_up(example: SimpleNamespace, tmp_path: Path) -> None:
    """The shards hold the ratings; who the users and movies are lies beside, and under each shard in a pod."""
    words = ["split", "--out", str(tmp_path), "--shards", "3", "--samples", "1001"]
    split_into_shards(split_options(words, {}), {}, SplitProgress(io.StringIO()))
    whole = example.world.make(900, 700, 1001, 1)
    found = []
    for rank in range(3):
        shard = tmp_path / f"{rank}/data"
        for table in (tmp_path / "quick_start/data").iterdir():
            shutil.copy(table, shard)
        data = example.ratings.read(shard)
        assert (data.users, data.movies) == (whole.users, whole.movies)
        assert (len(data.ratings), len(data.held_out)) == [(267, 67), (267, 67), (266, 67)][rank]
        found += [*data.ratings, *data.held_out]
    assert sorted(map(repr, found)) == sorted(map(repr, whole.ratings))


def test_more_samples_make_a_larger_world() -> None:
    assert (len(world_for(157_500).users), len(world_for(157_501).users)) == (900, 901)


@pytest.mark.parametrize(
    "words", [("--ratings=3", "--shards=5"), ("--ratings=20", "--shards=5"), ("--held-out=1e-9",)]
)
def test_shards_without_something_to_learn_and_to_hold_out_are_refused(
    example: SimpleNamespace, tmp_path: Path, capsys: pytest.CaptureFixture[str], words: tuple[str, ...]
) -> None:
    assert example.make_data.main([str(tmp_path / "job"), "--users=20", "--movies=20", "--ratings=90", *words]) == 65
    assert "shards; nothing is written\n" in capsys.readouterr().err
    assert not (tmp_path / "job").exists()


def test_a_directory_that_cannot_be_made_ends_with_74(
    example: SimpleNamespace, capsys: pytest.CaptureFixture[str]
) -> None:
    assert example.make_data.main(["/proc/nope", "--users=20", "--movies=20", "--ratings=90"]) == 74
    assert capsys.readouterr().err == "make_data: /proc/nope: No such file or directory\n"


def test_nothing_to_divide_ends_with_65(
    example: SimpleNamespace, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert example.make_data.main([str(tmp_path / "job"), f"--from={tmp_path}"]) == 65
    assert "holds no ratings that are known here" in capsys.readouterr().err
    assert not (tmp_path / "job").exists()
