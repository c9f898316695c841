"""What the agent finds out for the doctor: real agents, the file system as it is."""

from __future__ import annotations

from pathlib import Path

import pytest

from launcher.transfer.channel import Channel
from launcher.transfer.frames import Frame
from launcher.transfer.problem import OtherEndFailed
from tests.support.agents import agent
from tests.support.waiting import wait_until

NAME = ".paddlectl-doctor-1"


@pytest.fixture
def volume(tmp_path: Path) -> Path:
    path = tmp_path / "volume"
    path.mkdir()
    return path


def ask(channel: Channel, kind: str, **head: object) -> Frame:
    channel.put(kind, b"", **head)
    return channel.get("found")


def over(channel: Channel) -> None:
    channel.put("over")
    channel.get("done")
    channel.put("bye")
    channel.flush()


def test_what_one_wrote_the_other_sees_and_cannot_take(volume: Path) -> None:
    with agent(volume) as (first, _), agent(volume) as (second, _):
        for each in (first, second):
            each.put("probe", directory=NAME)
        assert ask(first, "write").head["step"] == ""
        saw = ask(second, "look", seconds=20)
        assert (saw.flag("seen"), saw.flag("excluded")) == (True, True)
        assert saw.number("milliseconds") < 20_000
        over(second)
        assert [path.name for path in volume.iterdir()] == [NAME]
        over(first)
    assert list(volume.iterdir()) == []


def test_on_another_volume_nothing_is_seen(volume: Path, tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    with agent(volume) as (first, _), agent(tmp_path / "other") as (second, _):
        for each in (first, second):
            each.put("probe", directory=NAME)
        ask(first, "write")
        assert not ask(second, "look", seconds=0).flag("seen")
        over(first)
        over(second)


def test_a_directory_that_is_there_is_told_and_left(volume: Path) -> None:
    (volume / NAME).mkdir()
    (volume / NAME / "mine").write_text("mine\n")
    with agent(volume) as (channel, _):
        channel.put("probe", directory=NAME)
        wrote = ask(channel, "write")
        assert (wrote.text("step"), wrote.text("why")) == ("make a directory", "file exists")
        over(channel)
    assert (volume / NAME / "mine").exists()


def test_an_agent_whose_desk_is_gone_removes_what_it_made(volume: Path) -> None:
    with agent(volume) as (channel, process):
        channel.put("probe", directory=NAME)
        ask(channel, "write")
        assert process.stdin
        process.stdin.close()
        assert process.wait(timeout=10) == 0
    wait_until(lambda: not list(volume.iterdir()), timeout=10)


def test_names_and_the_machine_are_told(volume: Path) -> None:
    with agent(volume) as (channel, _):
        channel.put("probe", directory=NAME)
        here = ask(channel, "resolve", host="localhost", count=1, seconds=5)
        assert here.number("addresses") >= 1
        nowhere = ask(channel, "resolve", host="no-such-name.invalid", count=1, seconds=0)
        assert (nowhere.number("addresses"), bool(nowhere.text("why"))) == (0, True)
        no_name = ask(channel, "resolve", host="\udcff" * 100, count=1, seconds=0)
        assert no_name.number("addresses") == 0
        machine = ask(channel, "machine")
        assert machine.number("shm") > 0
        assert isinstance(machine.text("paddle"), str)
        over(channel)


@pytest.mark.parametrize("name", ["../x", "/x", "", "a/../b"])
def test_a_directory_elsewhere_is_refused(volume: Path, name: str) -> None:
    with agent(volume) as (channel, _):
        channel.put("probe", directory=name)
        with pytest.raises(OtherEndFailed, match="is refused"):
            ask(channel, "write")
