"""The recommendation model in three containers, on Paddle's own parameter servers, by the compose file."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.grounds.docker import LAUNCHER, PADDLE, QUICKSTART, Docker
from tests.grounds.docker.compose import Project, programs, projected
from tests.support.recommendation import EXAMPLE, IN_THE_IMAGE, MARGIN, constant, errors

# A first run makes the base and the images.
pytestmark = pytest.mark.timeout(900)

ROOM = {PADDLE: 560e6, QUICKSTART: 600e6}  # bytes that Paddle and the demos may add to the launcher's image
CAREFUL = ("--read-only", "--user", "1234:1234", "--cap-drop", "ALL", "--security-opt", "no-new-privileges")
ALONE = f"""
python {IN_THE_IMAGE}/make_data.py . --layout=here --ratings=4000 --users=200 --movies=200
python {IN_THE_IMAGE}/train.py --passes=2
"""


@pytest.fixture(scope="module")
def done(with_paddle: Docker, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Project]:
    """Give a job of three nodes that has been trained to its end."""
    with projected(with_paddle, programs()[0], tmp_path_factory.mktemp("real"), image=PADDLE) as mine:
        mine.example.symlink_to(EXAMPLE)
        containers = [node.container for node in mine.up()]
        with_paddle.says("wait", *containers, timeout=300)
        yield mine


def test_three_containers_train_to_the_end(done: Project) -> None:
    assert [node.code for node in done.nodes()] == [0, 0, 0]
    logs = [(done.output / f"node_{rank}" / "train.log").read_text() for rank in range(3)]
    told = errors(logs[0])
    print(f"RMSE by pass {told}, constant {constant(done.output.parent):.3f}")
    assert list(told) == list(range(10))
    assert [errors(log) for log in logs] == [told] * 3
    assert told[9] < constant(done.output.parent) - MARGIN


def test_they_leave_the_seeds_tree(done: Project) -> None:
    names = {path.name for path in done.output.iterdir()}
    assert names == {f"node_{rank}" for rank in range(3)} | {f"pass-{n:05}" for n in range(10)} | {"events.jsonl"}
    assert all((done.output / f"node_{rank}" / "server.log").stat().st_size for rank in range(3))
    assert all((done.output / f"pass-{number:05}" / "done").exists() for number in range(10))


def test_any_user_trains_on_a_read_only_root_with_a_directory_to_write_to(with_paddle: Docker) -> None:
    words = ("run", "--rm", "--network", "none", *CAREFUL, "--tmpfs", "/work:uid=1234", "--workdir", "/work")
    said = with_paddle.says(*words, "--env", "HOME=/work", PADDLE, "bash", "-ceu", ALONE)
    assert list(errors(said)) == [0, 1]


def test_paddle_on_path_is_the_one_that_trains(with_paddle: Docker) -> None:
    said = with_paddle.says(
        "run", "--rm", "--network", "none", PADDLE, "sh", "-c", "command -v paddle; paddle version"
    )
    where, told = said.splitlines()
    assert where == "/opt/paddle/bin/paddle"
    assert told.startswith("PaddlePaddle 2.6.2's parameter servers behind the v1 command line")


def test_paddle_adds_as_little_as_it_can(with_paddle: Docker, capsys: pytest.CaptureFixture[str]) -> None:
    for image, room in ROOM.items():
        sizes = [int(with_paddle.says("inspect", "--format", "{{.Size}}", each)) for each in (LAUNCHER, image)]
        with capsys.disabled():
            print(f" [{image} {sizes[1] / 1e6:.0f} MB]", end="")
        assert sizes[1] - sizes[0] < room
