"""`paddlectl submit`: a job from flags, as a PaddleJob."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from launcher.contract import MOST_PROCESSES
from launcher.desk import pod_flags
from launcher.desk.arguments import flag, whole
from launcher.desk.config import datacenters
from launcher.desk.config.datacenters import Datacenter
from launcher.desk.errors import Mistyped, Problem
from launcher.desk.files import paths
from launcher.desk.jobs import submit
from launcher.desk.jobs.logs import logs
from launcher.desk.jobs.wait import wait
from launcher.desk.session import Desk
from launcher.desk.verbs.logs import show_logs
from launcher.job import JobError, PaddleJob, places
from launcher.job.checking import RUNTIMES
from launcher.job.elastic.width import MOST_PODS, job_width
from launcher.job.entry import WITHOUT_PSERVERS
from launcher.job.package.reading import stays_here
from launcher.job.template.injected import AUTO, INJECT

EXAMPLES = """\
  paddlectl submit -jobname my-job -parallelism 3 -pservers 2 -cpu 1 -memory 1Gi -image repo/paddle:2.6.2 \\
      -entry "python train.py" /pfs/datacenter1/home/me/my-package
  paddlectl submit -jobname my-job -runtime torch -gpu 8 -processes gpu -entry "python train.py" ...
  paddlectl submit -jobname my-job -topology trainer_config.py -passes 10 /pfs/datacenter1/home/me/demo
  paddlectl submit -jobname my-job -members 2:5 -spares 1 -runtime torch -entry "python train.py" ...
  paddlectl submit --dry-run -jobname my-job ...      print what would be sent; a cluster checks it, if one is known
  paddlectl submit --replace --follow -jobname my-job ..."""

WITHOUT_A_VOLUME = (
    "without a volume passes, the run's record and logs go with the pods, and after a failure the program begins "
    "anew: `volume: {claim: NAME}` in the datacenter's configuration keeps them"
)


def arguments(parser: ArgumentParser) -> None:
    """Add the seeds' flags, and ours."""
    flag(parser, "jobname", "name", required=True, metavar="NAME", help="lower-case letters, digits and -, no _")
    of_a_job(parser)
    flag(
        parser,
        "members",
        default="",
        metavar="MIN:MAX",
        help="as few trainers as MIN are enough, and MAX are the most: nodes may come and go, and `scale` changes it",
    )
    flag(
        parser,
        "spares",
        type=whole(0, MOST_PODS - 1),
        default=None,
        metavar="N",
        help="pods beside the most of -members, of which one takes a lost one's place at once (0)",
    )
    flag(parser, "together", action="store_true", help="each pod a pserver and a trainer, -parallelism of them")
    flag(parser, "dry-run", action="store_true", help="print what would be sent, and send nothing")
    flag(parser, "replace", action="store_true", help="remove a job of this name first")
    flag(parser, "follow", action="store_true", help="show the logs until it ends; exit 1 if it fails")
    place = "the program's directory: on this machine (./...), on the volume (/pfs/...) or in the image (/...)"
    parser.add_argument("package", nargs="?", default="", help=place)


def of_a_job(parser: ArgumentParser, but: Collection[str] = ()) -> None:
    """Add the seeds' flags that describe a job, and those for its pods, but for those that mean something else."""
    flag(parser, "cpu", default="1", metavar="CORES", help="CPU cores of each trainer (1)")
    flag(parser, "gpu", type=whole(0, 1000), default=0, metavar="CARDS", help="GPUs of each trainer (0)")
    flag(parser, "memory", default="1Gi", metavar="SIZE", help="memory of each trainer (1Gi)")
    flag(parser, "parallelism", type=whole(1, 1000), default=None, metavar="N", help="number of trainers (1)")
    flag(parser, "pscpu", default="1", metavar="CORES", help="CPU cores of each pserver (1)")
    flag(parser, "pservers", type=whole(0, 1000), default=None, metavar="N", help="number of pservers (1)")
    flag(parser, "psmemory", default="1Gi", metavar="SIZE", help="memory of each pserver (1Gi)")
    flag(parser, "topology", default="", metavar="FILE", help="a v1 config file in the package")
    flag(
        parser,
        "entry",
        default="",
        metavar="COMMAND",
        help="the command that trains, such as 'python train.py'; no shell runs it",
    )
    flag(
        parser,
        "runtime",
        choices=RUNTIMES,
        default="",
        help="how the program finds the others: fleet (Paddle's parameter servers), or without pservers "
        "torch, jax, paddle, tensorflow, xgboost, lightgbm, or env (RANK, WORLD_SIZE, ...)",
    )
    flag(
        parser,
        "processes",
        type=processes,
        default=None,
        metavar="N|gpu",
        help="programs in each pod, for a runtime without pservers; gpu: one on each card (1)",
    )
    flag(parser, "passes", type=whole(1, 1_000_000), default=None, metavar="N", help="passes over the data")
    flag(parser, "image", default="", metavar="IMAGE", help="the runtime image (the datacenter's)")
    flag(parser, "here", action="store_true", help="programs may `from launcher import here`, whatever the image has")
    flag(
        parser,
        "inject",
        choices=INJECT,
        default=AUTO,
        help="bring the launcher into the pods, for an image without it: auto (where the datacenter has a "
        "`launcher-image:`, and the image is not known to have the launcher), always, never",
    )
    flag(parser, "registry", default="", metavar="NAME", help="the pull secret that `paddlectl registry` made")
    pod_flags.add(parser, but)


def processes(text: str) -> int | str:
    """Return how many programs a pod runs: a number, or gpu."""
    return text if text == "gpu" else whole(1, MOST_PROCESSES)(text)


def run(given: Namespace, desk: Desk) -> int:
    """Submit a job."""
    job, local = job_described(given, desk.datacenter, desk.flags.namespace)
    if given.dry_run:
        desk.terminal.out(_dry(job, desk, replace=given.replace))
        return 0
    manifests = submit.checked_manifests(
        job, desk, replace=given.replace
    )  # first: a job that is refused leaves no package
    target = f"/pfs/{desk.datacenter.name}/home/{desk.datacenter.username}/jobs/{job.job_name}/package"
    here = local or (Path(job.local_package) if job.local_package else None)
    if told := package_told(job.trainer_package_path, here, target if local else ""):
        desk.terminal.note(told)
    if not places.job_path(job):
        desk.terminal.note(WITHOUT_A_VOLUME)
    if local:
        _upload(desk, local, target)
    done = submit.send_job(job, manifests, desk, replace=given.replace)
    name = done["name"]
    trainers = job_width(job) or f"{job.trainers} trainers"
    pservers = f", {job.pservers} pservers" if job.pservers else ""
    desk.terminal.note(
        f"job {name} is submitted to {done['namespace']}: {trainers}{pservers}; "
        f"`paddlectl logs -f {name}` shows what they write"
    )
    if given.follow:
        show_logs(desk, logs(name, desk, follow=True))
        wait(name, desk)
    return 0


def _upload(desk: Desk, directory: Path, target: str) -> None:
    """Copy a directory of this machine to a place below /pfs."""
    paths.check_system()
    from launcher.desk.files import copy

    desk, (place,) = paths.located(desk, (target,))
    copy.upload(desk, directory, ("", ""), paths.writable(place), stays_here(str(directory)))


def job_described(given: Namespace, datacenter: Datacenter, namespace: str) -> tuple[PaddleJob, Path | None]:
    """Return the job that the flags describe, and the directory of this machine that is copied for it, if one is."""
    image = given.image or datacenter.image
    if not image:
        raise Problem(
            "-image is not given: expected the runtime image, or `image:` in the datacenter's configuration"
        )
    there = datacenters.datacenter_volumes(datacenter)
    package, local = _package(given.package, datacenter, there=bool(there))
    copied = local if datacenter.volume else None
    with as_typed():
        job = PaddleJob(
            job_name=given.jobname,
            entry_point=given.entry,
            runtime_image=image,
            memory=given.memory,
            cpu_nums=given.cpu,
            gpu_nums=given.gpu,
            pservers=pservers_of(given),
            runtime=given.runtime,
            processes=given.processes,
            members=given.members,
            spares=given.spares,
            pscpu=given.pscpu,
            psmemory=given.psmemory,
            volumes=there,
            trainer_package_path=package,
            local_package="" if copied else str(local or ""),
            namespace=namespace or datacenter.namespace,
            topology=given.topology,
            passes=given.passes,
            registry=given.registry,
            inject=given.inject,
            here=given.here,
            together=given.together,
            datacenter=datacenter.name,
            restricted=datacenters.restricted(datacenter),
            **_trainers(given),
            **pod_flags.given_fields(given, overlay_in),
        )
        job = datacenters.with_launcher(job, datacenter)
    return datacenters.with_defaults(job, datacenter), copied


def _trainers(given: Namespace) -> dict[str, Any]:
    """Return how many trainers are asked for: one where nobody says how many, unless -members says it."""
    return {} if given.members and given.parallelism is None else {"trainers": given.parallelism or 1}


def overlay_in(path: str) -> Mapping[str, Any]:
    """Return what a file of YAML has of a pod."""
    import yaml  # type: ignore[import-untyped]  # comes with the kubernetes package, its stubs do not

    try:
        found = yaml.safe_load(Path(path).read_text(encoding="utf-8-sig"))
    except OSError as error:
        raise Mistyped(f"-pod {path}: {error.strerror}: expected a file with metadata and spec of a Pod") from None
    except (ValueError, yaml.YAMLError) as error:
        mark = getattr(error, "problem_mark", None)
        raise Mistyped(f"-pod {path}{f', line {mark.line + 1}' if mark else ''}: not valid YAML") from None
    if not isinstance(found, dict):
        raise Mistyped(f"-pod {path}: expected metadata and spec of a Pod, such as spec: {{hostIPC: true}}")
    return found


def pservers_of(given: Namespace) -> int:
    """Return how many are asked for: one where nobody says how many, and none for a runtime that has none."""
    alone = given.runtime in WITHOUT_PSERVERS
    if alone and given.pservers:
        raise Mistyped(f"-pservers {given.pservers} with -runtime {given.runtime}, which has none: leave one out")
    if given.pservers is None:
        return 0 if alone else 1
    return int(given.pservers)


@contextmanager
def as_typed() -> Iterator[None]:
    """Have what is wrong with a job exit as other wrong usage does: it was typed so."""
    try:
        yield
    except JobError as error:
        error.code = 2
        raise


def _package(given: str, datacenter: Datacenter, *, there: bool) -> tuple[str, Path | None]:
    """Return what the pods call the package, and where it is here if it has to be brought there first."""
    if paths.is_remote(given):
        if not there:
            raise Problem(f"{given} is on a volume, and the datacenter has none: set `volume:` in its configuration")
        return paths.package(given, datacenter), None
    if not given:
        return "", None
    local = Path(given)
    if local.is_dir():
        return ("package" if datacenter.volume else ""), local
    if local.is_absolute():
        return given.rstrip("/"), None  # a directory of the image
    raise Problem(
        f"{given} is not a directory on this machine: expected the program's package, on this machine or below /pfs/"
    )


def package_told(package: str, local: Path | None, target: str) -> str:
    """Return which package was meant: a path that begins with / may be this machine's or the image's."""
    if local:
        way = f"it is copied to {target}" if target else "it goes with the job"
        return f"the package is {local} on this machine: {way}"
    if package and not paths.is_remote(package):
        return f"the package is {package} in the image: this machine has no such directory"
    return ""


def _dry(job: PaddleJob, desk: Desk, *, replace: bool) -> str:
    """Return what would be sent, checked by the cluster where one is known."""
    try:
        api = desk.api
    except Problem as problem:
        desk.terminal.note(f"not checked by a cluster: {problem}")
        return str(job)
    text = submit.dry_run(job, desk, replace=replace)
    desk.terminal.note(f"{api.host} accepts it; the objects after the first are sent with the first as their owner")
    return text
