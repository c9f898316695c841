"""The job's files on a ConfigMap, a Secret or a projected mount, laid out and updated as the kubelet does it."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.support.volume import Volume, lay_out

FIRST = {"train.py": "one", "conf/net.py": "net", "data/meta": "m", ".key": "hidden"}
SECOND = {"train.py": "two", "more.py": "more", "data/meta": "n"}


def publish(mount: Path, tree: Mapping[str, str], day: str) -> None:
    """Write a payload, turn `..data` to it by one rename, link what is new, drop what is not there any more."""
    payload = mount / f"..{day}"
    lay_out(payload, tree)
    old = (mount / "..data").resolve()
    (mount / "..data_tmp").symlink_to(payload.name)
    (mount / "..data_tmp").rename(mount / "..data")
    tops = {path.partition("/")[0] for path in tree}
    for name in tops:
        if not (mount / name).is_symlink():
            (mount / name).symlink_to(f"..data/{name}")
    for link in mount.iterdir():
        if link.is_symlink() and link.name not in {*tops, "..data"}:
            link.unlink()
    if old.name != "..data":
        shutil.rmtree(old)


@pytest.mark.parametrize("in_job", [False, True], ids=["a mount of its own", "in the job's directory"])
def test_what_the_kubelets_links_lead_to_is_staged_before_and_after_an_update(tmp_path: Path, in_job: bool) -> None:
    volume = Volume.made(tmp_path)
    mount = volume.job / "conf" if in_job else tmp_path / "mount"
    environ = {"TRAIN_CONFIG_DIR": "conf" if in_job else str(mount)}
    publish(mount, FIRST, "2026_11_18_10_00_00.1")
    (mount / "nested").mkdir()  # another volume may be mounted in this one
    (mount / "nested" / "b").write_text("b")
    volume.stage(environ=environ)
    assert volume.working() == {"train.py": "one", "conf/net.py": "net", "nested/b": "b", "data/meta": "m"}
    publish(mount, SECOND, "2026_11_18_10_01_00.2")
    volume.stage(environ=environ)
    old = {"conf/net.py": "net", "nested/b": "b"}  # what was staged once stays
    assert volume.working() == {"train.py": "two", "more.py": "more", "data/meta": "n", **old}


@pytest.mark.parametrize("target", ["../outside", "..", "/etc", "nowhere", "a"])
def test_a_link_of_that_name_that_leads_elsewhere_is_passed_over_as_any(tmp_path: Path, target: str) -> None:
    volume = Volume.made(tmp_path)
    lay_out(volume.job, {"conf/a": "a", "outside/secret": "s"})
    (volume.job / "conf" / "..data").symlink_to(target)
    volume.stage(environ={"TRAIN_CONFIG_DIR": "conf"})
    assert volume.working() == {"a": "a"}
