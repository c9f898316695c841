"""What a job cannot be: each a sentence that names the parameter, all of them at once, and never anything else."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from launcher.job import CephFSVolume, JobError, PaddleJob, Volume

RIGHT = {"job_name": "a", "runtime_image": "your-repo/paddle:mypaddle", "entry_point": "python train.py"}
CLAIM = Volume("/home/jobpath", claim="mfs")


@pytest.mark.parametrize(
    ("entry", "found"),
    [
        ("python t.py && echo done", "&&"),
        ("python t.py || true", "||"),
        ("python t.py | tee log", "|"),
        ("python t.py > log", ">"),
        ("python t.py >>log", ">>log"),
        ("python t.py 2>&1", "2>&1"),
        ("python t.py &> log", "&>"),
        ("python t.py < in", "<"),
        ("python t.py &", "&"),
        ("cd a; python t.py", ";"),
        ("cd a ; python t.py", ";"),
        ("python t.py --out=$HOME/x", "$HOME/x"),
        ("python t.py ${HOME}", "${HOME}"),
        ("python t.py $(date)", "$(date)"),
        ("python t.py `date`", "`date`"),
        ("bash -c 'cd a && python t.py > $HOME/log'", ""),
        ('bash -c "a; b | c"', ""),
        ("python t.py --price=$5 --url=http://h/?a=1&b=2 a\\;b --cut='$' x|y", ""),
        ("python t.py \\$HOME \\&", ""),
    ],
)
def test_what_only_a_shell_understands_is_refused(entry: str, found: str) -> None:
    if found:
        (told,) = problems(entry_point=entry)
        assert f"no shell runs it, and {found} is for one: use bash -c '...', or quotes" in told
    else:
        PaddleJob(**{**RIGHT, "entry_point": entry})  # type: ignore[arg-type]


@pytest.mark.parametrize("image", ["x", "a/b:1", "localhost/a", "R.example.com:5000/a/b", "h:1/a@sha256:0a"])
def test_images_that_a_runtime_takes(image: str) -> None:
    said: dict[str, Any] = {**RIGHT, "runtime_image": image, "env": None}
    assert PaddleJob(**said).env == {}


def problems(**wrong: Any) -> tuple[str, ...]:  # noqa: ANN401  # whatever a user may say
    with pytest.raises(JobError) as caught:
        PaddleJob(**{**RIGHT, **wrong})
    assert caught.value.code == 1
    return caught.value.problems


@pytest.mark.parametrize(
    ("wrong", "expected"),
    [
        ({"runtime_image": ""}, "runtime_image='': expected an image's name"),
        ({"runtime_image": "Repo/Paddle"}, "runtime_image='Repo/Paddle': expected"),
        ({"runtime_image": "a b"}, "runtime_image='a b': expected"),
        ({"runtime_image": None}, "runtime_image=None: expected"),
        ({"runtime_image": "Repo/x:1"}, "runtime_image='Repo/x:1': expected"),
        ({"runtime_image": "r.example.com/Repo/x:1"}, "runtime_image='r.example.com/Repo/x:1': expected"),
        ({"env": ["A=1"]}, "env=['A=1']: expected names and values"),
        ({"volumes": Volume("/opt", claim="a")}, "mount_path='/opt': the pod has its own directory there"),
        ({"volumes": Volume("/./tmp", claim="a")}, "mount_path='/./tmp': the pod has its own directory there"),
        (
            {"volumes": Volume("/v", csi={"driver": "d", "volumeHandle": "h", "nodeStageSecretRef": "ceph"})},
            "csi has nodeStageSecretRef: 'ceph': expected the Secret as {'name': ...}",
        ),
        (
            {"pservers": 0},
            "pservers=0: expected a whole number from 1 to 1000, or a runtime that has none, such as torch",
        ),
        ({"pservers": 0, "together": True}, "pservers=0: expected a whole number from 1 to 1000"),
        ({"pservers": -1}, "pservers=-1: expected a whole number from 1 to 1000"),
        (
            {"runtime": "tourch"},
            "runtime='tourch': expected fleet, env, torch, jax, paddle, tensorflow, xgboost or lightgbm",
        ),
        (
            {"runtime": "torch", "topology": "trainer_config.py"},
            "topology='trainer_config.py' is for Paddle's v1, runtime='torch' is not: set one",
        ),
        ({"env": {"LAUNCHER_RUNTIME": "env"}}, "env has LAUNCHER_RUNTIME: that is set by runtime"),
        ({"trainers": "3"}, "trainers='3': expected a whole number"),
        ({"processes": 0, "runtime": "torch"}, "processes=0: expected a whole number from 1 to 128, or gpu"),
        ({"processes": 129, "runtime": "torch"}, "processes=129: expected a whole number from 1 to 128, or gpu"),
        ({"processes": "cpu", "runtime": "torch"}, "processes='cpu': expected a whole number from 1 to 128, or gpu"),
        ({"processes": 2}, "processes=2: expected runtime torch or another without pservers"),
        ({"processes": "gpu", "runtime": "fleet"}, "processes='gpu': expected runtime torch or another"),
        (
            {"processes": 4, "runtime": "torch", "gpu_nums": 2},
            "processes=4 is more than gpu_nums=2: expected at most one for each card, or gpu",
        ),
        ({"trainers": True}, "trainers=True: expected"),
        ({"gpu_nums": -1}, "gpu_nums=-1: expected a whole number from 0"),
        ({"passes": 0}, "passes=0: expected a whole number, 1 or more"),
        ({"namespace": "My_Space"}, "namespace='My_Space': expected"),
        ({"registry": "My Registry"}, "registry='My Registry': expected the name that `paddlectl registry` gave"),
        ({"datacenter": "a\nb"}, "datacenter='a\\nb': expected a name"),
        ({"entry_point": ""}, "entry_point='': expected the command that trains"),
        ({"entry_point": "python 'x"}, 'entry_point="python \'x": expected words quoted as for a shell'),
        ({"entry_point": "python\0x"}, "entry_point='python\\x00x': expected the command that trains"),
        ({"entry_point": 7}, "entry_point=7: expected the command that trains"),
        (
            {"topology": "t.py", "volumes": CLAIM},
            "topology='t.py' is for Paddle's v1, entry_point='python train.py' is not",
        ),
        (
            {"topology": "/t.py", "entry_point": "", "volumes": CLAIM},
            "topology='/t.py': expected the config file's path",
        ),
        ({"topology": "../t.py", "entry_point": "", "volumes": CLAIM}, "topology='../t.py': expected"),
        ({"topology": "t.py", "entry_point": ""}, "Paddle's v1 keeps its passes on a volume"),
        ({"entry_point": "paddle train --config=a"}, "Paddle's v1 keeps its passes on a volume"),
        ({"trainer_package_path": "../x", "volumes": CLAIM}, "trainer_package_path='../x': expected a directory"),
        ({"trainer_package_path": "/pfs/../etc"}, "trainer_package_path='/pfs/../etc': expected a directory"),
        ({"trainer_package_path": "/"}, "trainer_package_path='/': expected a directory"),
        ({"trainer_package_path": "."}, "trainer_package_path='.': expected a directory"),
        ({"trainer_package_path": 7}, "trainer_package_path=7: expected a directory"),
        ({"trainer_package_path": "x"}, "trainer_package_path='x' is relative, to the job's directory on a volume"),
        ({"cephfs_volume": "10.0.0.1"}, "cephfs_volume='10.0.0.1': expected a CephFSVolume"),
        ({"cephfs_volume": CephFSVolume("")}, "monitors_addr='': expected the addresses of Ceph's monitors"),
        ({"cephfs_volume": CephFSVolume("m:1", path="x")}, "CephFSVolume path='x': expected an absolute path"),
        (
            {"cephfs_volume": CephFSVolume("m:1", "admin", "A_b")},
            "secret_name='A_b': expected the name of a Secret",
        ),
        ({"volumes": ("mfs",)}, "volumes has 'mfs': expected a Volume"),
        ({"volumes": "mfs"}, "volumes has 'mfs': expected a Volume"),
        (
            {"volumes": Volume("/v")},
            "Volume(mount_path='/v') has no source: expected one of claim, host_path, nfs",
        ),
        ({"volumes": Volume("/v", claim="a", nfs="b:/c")}, "has claim and nfs: expected one of"),
        ({"volumes": Volume("v", claim="a")}, "mount_path='v': expected an absolute path"),
        ({"volumes": Volume("/v/../w", claim="a")}, "mount_path='/v/../w': expected an absolute path"),
        (
            {"volumes": Volume("/a:b", claim="a")},
            "mount_path='/a:b': expected an absolute path without `..` and colons",
        ),
        ({"volumes": Volume("/work/", claim="a")}, "mount_path='/work/': the pod has its own directory there"),
        ({"volumes": Volume("/", claim="a")}, "mount_path='/': the pod has its own directory there"),
        ({"volumes": Volume("/v", claim="A_b")}, "claim='A_b': expected the name of a PersistentVolumeClaim"),
        ({"volumes": Volume("/v", claim="a", sub_path="../b")}, "sub_path='../b': expected a relative path"),
        ({"volumes": Volume("/v", claim="a", sub_path="/b")}, "sub_path='/b': expected a relative path"),
        ({"volumes": Volume("/v", host_path="b"), "restricted": False}, "host_path='b': expected an absolute path"),
        ({"volumes": Volume("/v", nfs="b"), "restricted": False}, "nfs='b': expected server:/path"),
        ({"volumes": Volume("/v", nfs=":/b"), "restricted": False}, "nfs=':/b': expected server:/path"),
        (
            {"volumes": Volume("/v", csi={"driver": "d"})},
            "lacks volumeHandle: expected the csi part of a PersistentVolume",
        ),
        (
            {"volumes": Volume("/v", csi="efs")},  # type: ignore[arg-type]  # as somebody may write it
            "csi='efs': expected the csi part of a PersistentVolume, driver and volumeHandle at least",
        ),
        ({"volumes": Volume("/v", host_path="/b")}, "does not allow a volume by host_path or nfs: expected a claim"),
        ({"volumes": Volume("/v", nfs="b:/c")}, "does not allow a volume by host_path or nfs: expected a claim"),
        (
            {"volumes": (CLAIM, Volume("/home/jobpath/", claim="b"))},
            "two volumes have mount_path='/home/jobpath'",
        ),
        (
            {
                "volumes": (
                    Volume("/v", csi={"driver": "d", "volumeHandle": "h"}),
                    Volume("/w", csi={"driver": "d", "volumeHandle": "h", "fsType": "ext4"}),
                )
            },
            "two different volumes have volumeHandle 'h'",
        ),
        ({"job_path": "/jobs"}, "job_path='/jobs': expected a writable directory on a volume of the job"),
        (
            {"job_path": "/home/jobpath/../x", "volumes": CLAIM},
            "job_path='/home/jobpath/../x': expected a writable directory on",
        ),
        ({"job_path": "/home/jobpath/a b", "volumes": CLAIM}, "expected only letters, digits and _ . / -"),
        (
            {"job_path": "/v/jobs", "volumes": Volume("/v", claim="a", read_only=True)},
            "expected a writable directory",
        ),
        ({"env": {"TRAINERS": "1"}}, "env has TRAINERS: that is set by trainers"),
        ({"env": {"A B": "1"}}, "env has 'A B': '1': expected names of letters"),
        ({"env": {"A": 1}}, "env has 'A': 1: expected names of letters, digits and _, and texts"),
    ],
)
def test_what_cannot_be_is_told_by_its_name(wrong: dict[str, Any], expected: str) -> None:
    (told,) = problems(**wrong)
    assert expected in told
    assert "\n" not in told


def test_everything_is_told_at_once() -> None:
    told = problems(job_name="A_b", runtime_image="", memory="1", cpu_nums=0, entry_point="'", volumes=Volume("v"))
    starts = ("job_name=", "runtime_image=", "memory=", "cpu_nums=", "entry_point=", "Volume(", "mount_path=")
    assert [each.startswith(start) for each, start in zip(told, starts, strict=True)] == [True] * len(starts)


@pytest.mark.parametrize(
    "right",
    [
        {"volumes": Volume("/v", claim="a"), "trainer_package_path": "x/y"},
        {"volumes": Volume("/v", nfs="[fd00::1]:/x"), "restricted": False},
        {"volumes": Volume("/v", claim="a.b-c", read_only=True), "trainer_package_path": "/v/x"},
        {"runtime_image": "localhost:5000/a/b@sha256:0123"},
        {"runtime_image": "paddle"},
        {"entry_point": "paddle train --config=a", "volumes": CLAIM},
        {"env": {"LAUNCHER_STALL_TIMEOUT": "600", "_x1": ""}},
        {"job_path": "/home/jobpath", "volumes": CLAIM},
    ],
)
def test_what_can_be_is_taken(right: dict[str, Any]) -> None:
    assert PaddleJob(**{**RIGHT, **right}).manifests()


THINGS = st.none() | st.booleans() | st.integers(-2, 2000) | st.floats() | st.text(max_size=12)
FIELDS = (
    *("job_name", "entry_point", "runtime_image", "memory", "cpu_nums", "gpu_nums", "pservers", "trainers", "pscpu"),
    *("psmemory", "trainer_package_path", "namespace", "topology", "passes", "registry", "datacenter", "job_path"),
    *(
        "volumes",
        "cephfs_volume",
        "processes",
        "env",
        "env_from",
        "labels",
        "annotations",
        "queue",
        "selector",
        "shm",
    ),
    *("tolerations", "gpu_resource", "service_account", "priority", "keep", "restarts", "secret_files", "pod"),
)


def told(said: dict[str, Any]) -> tuple[str, ...]:
    """Return the sentences about a job, none where it is one; nothing else may come."""
    try:
        text = str(PaddleJob(**{**RIGHT, **said}))
    except JobError as error:
        return error.problems or ("nothing",)
    assert text.startswith("---\napiVersion: batch/v1\nkind: Job\n")
    return ()


@given(st.fixed_dictionaries({}, optional=dict.fromkeys(FIELDS, THINGS)))
def test_anything_is_a_job_or_sentences(said: dict[str, Any]) -> None:
    found = told(said)
    assert "nothing" not in found
    assert not any("\n" in each for each in found)


PARTS = (
    *(
        "metadata",
        "spec",
        "labels",
        "annotations",
        "volumes",
        "containers",
        "initContainers",
        "env",
        "ports",
        "command",
    ),
    *("volumeMounts", "name", "mountPath", "containerPort", "tolerations", "paddle-job", "trainer", "work", "$patch"),
)
OVERLAYS = st.recursive(
    THINGS | st.sampled_from(("trainer", "pserver", "work", "root-files", "delete", "replace", "JOB_NAME")),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(PARTS), inner, max_size=4),
)
OF_CONTAINER = ("env", "ports", "command", "args", "volumeMounts", "resources", "$patch")
CONTAINERS = st.lists(
    st.fixed_dictionaries(
        {"name": st.sampled_from(("trainer", "new"))}, optional=dict.fromkeys(OF_CONTAINER, OVERLAYS)
    ),
    max_size=2,
)
SPECS = st.fixed_dictionaries({}, optional={"containers": CONTAINERS, "volumes": OVERLAYS, "tolerations": OVERLAYS})


@given(OVERLAYS | st.fixed_dictionaries({}, optional={"metadata": OVERLAYS, "spec": SPECS}))
def test_any_overlay_is_laid_over_the_pods_or_sentences(pod: object) -> None:
    found = told({"pod": pod})
    assert "nothing" not in found
    assert not any("\n" in each for each in found)


@given(st.sampled_from(("labels", "annotations", "selector", "env", "secret_files")), st.dictionaries(THINGS, THINGS))
def test_any_names_and_values_are_taken_or_sentences(field: str, said: dict[Any, Any]) -> None:
    found = told({field: said})
    assert "nothing" not in found
    assert not any("\n" in each for each in found)


PATHS = st.sampled_from(["/v", "/v/", "v", "/work", "/a/b", "/a:b", "", "/home/x@y"]) | st.text("/.ab", max_size=6)


@given(PATHS, PATHS, st.text(":/ab.", max_size=6), PATHS, PATHS, st.booleans())
def test_any_volume_is_one_or_sentences(
    mount: str, host: str, nfs: str, sub: str, job_path: str, read_only: bool
) -> None:
    volume = Volume(mount, host_path=host, nfs=nfs, sub_path=sub, read_only=read_only)
    assert "nothing" not in told({"volumes": (volume, CLAIM), "job_path": job_path, "restricted": False})
