"""`paddlectl local`: the same job on this machine, with `submit`'s flags; without a program, an example."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from pathlib import Path
from typing import TYPE_CHECKING

from launcher.contract import PSERVER_PORT
from launcher.desk import pod_flags
from launcher.desk.arguments import flag, whole
from launcher.desk.errors import Mistyped, Problem
from launcher.desk.rehearsal import example
from launcher.desk.rehearsal.rehearsal import JOB
from launcher.desk.session import Desk
from launcher.desk.verbs import submit
from launcher.job import PaddleJob, Volume

if TYPE_CHECKING:
    from launcher.desk.rehearsal.local import RehearsalPlace

_MOST = 100
_OWN = ("keep",)  # flags that mean something else here
EXAMPLES = """\
  paddlectl local -jobname my-job -parallelism 3 -entry "python train.py" my-package
  paddlectl local -topology trainer_config.py -passes 2 my-package      with the `paddle` that is on PATH
  paddlectl local -runtime jax -parallelism 3 -entry "python train.py" my-package
  paddlectl local -runtime torch -parallelism 2 -processes 2 -entry "python train.py" my-package
  paddlectl local --pods 3 --passes 10                                  without a program: a stand-in for Paddle
  paddlectl local --example recommendation                              on Paddle's own parameter servers
  paddlectl local --port 8164                                           where another program has ports from 7164 on
  paddlectl local --keep                                                the last run is moved to build/demo.1"""


def arguments(parser: ArgumentParser) -> None:
    """Add submit's flags, and where it is all to be."""
    flag(parser, "jobname", "name", default=JOB, metavar="NAME", help=f"lower-case letters, digits and - ({JOB})")
    submit.of_a_job(parser, but=_OWN)
    flag(parser, "pods", type=whole(1, _MOST), default=None, metavar="N", help="as -parallelism (an example's: 3)")
    flag(
        parser,
        "port",
        type=whole(1, 60_000),
        default=PSERVER_PORT,
        metavar="PORT",
        help=f"the pservers' first ({PSERVER_PORT})",
    )
    flag(parser, "directory", default="", metavar="DIR", help="for all files of the run (build/NAME)")
    flag(parser, "keep", action="store_true", help="move the last run aside instead of removing it")
    names = (
        f"{example.STAND_IN} (a few seconds) or {example.RECOMMENDATION} (on Paddle, which is installed once: 600 MB)"
    )
    flag(parser, "example", choices=example.EXAMPLES, default="", help=f"without a program: {names}")
    flag(parser, "stand-in", action="store_true", help=f"as --example {example.STAND_IN}, which is also the default")
    parser.add_argument("package", nargs="?", default="", help="the program's directory on this machine")


def run(given: Namespace, desk: Desk) -> int:
    """Rehearse; the code is 0, or that of the pod that failed first."""
    from launcher.desk.rehearsal import local, workspace

    if not (given.entry or given.topology or given.package):
        name = example.STAND_IN if given.stand_in else given.example
        return local.rehearse(local.shipped(name), _place(given, "demo", JOB, given.pods or 3), passes=given.passes)
    if given.example:
        raise Mistyped(f"--example {given.example} together with a program: expected only one of the two")
    job = _described(given)
    mine = example.submitted(job, Path(job.trainer_package_path))
    workspace.check_example(mine)
    if submit.pservers_of(given) not in (0, 1, job.trainers):
        desk.terminal.note(
            f"-pservers {given.pservers} is not used here: each of the {job.trainers} pods is a pserver and a trainer"
        )
    return local.rehearse(lambda _: mine, _place(given, job.job_name, job.job_name, job.trainers), passes=None)


def _described(given: Namespace) -> PaddleJob:
    """Return the job that the flags describe; flags without use here, such as the image, are checked as well."""
    package = Path(given.package or ".").resolve()
    if given.package.startswith("/pfs/") and not package.is_dir():
        raise Problem(
            f"{given.package} is on a volume: copy it to this machine with `paddlectl cp {given.package} .`"
        )
    if not package.is_dir():
        raise Problem(f"{given.package} is not a directory on this machine: expected the program's package")
    with submit.as_typed():
        return PaddleJob(
            job_name=given.jobname,
            entry_point=given.entry,
            runtime_image=given.image or "none",
            memory=given.memory,
            cpu_nums=given.cpu,
            gpu_nums=given.gpu,
            pscpu=given.pscpu,
            psmemory=given.psmemory,
            pservers=submit.pservers_of(given),
            trainers=given.pods or given.parallelism or 1,
            trainer_package_path=str(package),
            topology=given.topology,
            passes=given.passes,
            registry=given.registry,
            together=True,
            runtime=given.runtime,
            processes=given.processes,
            volumes=(Volume(mount_path="/volume", claim="here"),),  # the directory stands for one
            **pod_flags.given_fields(given, submit.overlay_in, but=_OWN),
        )


def _place(given: Namespace, directory: str, job: str, pods: int) -> RehearsalPlace:
    from launcher.desk.rehearsal.local import RehearsalPlace

    where = Path(given.directory or f"build/{directory}").resolve()
    return RehearsalPlace(directory=where, pods=pods, port=given.port, keep=given.keep, job=job)
