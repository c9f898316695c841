"""Everything that is wrong with a job, as sentences that name the parameter and what was expected.

No I/O here.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from launcher.contract import MOST_PROCESSES, NODE, PACKAGE_MOUNT, PASSES, PSERVER, STATUS_PORT, TRAINER, is_plain
from launcher.job import entry, names, places, pods, quantities
from launcher.job.elastic.checks import elastic_problems, width_problems
from launcher.job.elastic.width import MOST_PODS, trainer_pods
from launcher.job.problem import Mistake, Parameter
from launcher.job.template import asked, injected, needs, overlay
from launcher.job.volumes import CephFSVolume, Volume, is_below
from launcher.text import visible

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from launcher.job.description import Job

IMAGE = re.compile(r"[A-Za-z0-9]([A-Za-z0-9._:/@-]*[A-Za-z0-9])?")
PART_OF_IMAGE = re.compile(r"[a-z0-9]+([._-]+[a-z0-9]+)*")
LAST_OF_IMAGE = re.compile(r"[a-z0-9._-]+(:[^/:@]+)?(@.+)?")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
RUNTIMES = (entry.FLEET, *entry.WITHOUT_PSERVERS)  # v1 is said by its command, or by its config file
# What the parameters say already; the rest of the launcher's variables may be said in `env`.
SAID_BY = {
    "CONF_PADDLE_GRADIENT_NUM": "trainers",
    "JOB_COMPLETION_INDEX": "Kubernetes",
    "JOB_NAME": "job_name",
    "JOB_NAMESPACE": "namespace",
    "JOB_PATH": "job_path",
    "LAUNCHER_ENTRY": "entry_point",
    "LAUNCHER_GANG": "job_name",
    "LAUNCHER_JOB_UID": "Kubernetes",
    "LAUNCHER_MEMBERS": "members",
    "LAUNCHER_PEERS": "job_name",
    "LAUNCHER_ROLE": "together",
    "LAUNCHER_RUNTIME": "runtime",
    "LAUNCHER_SPARES": "spares",
    "LAUNCHER_STATUS_PORT": f"the launcher: probes ask {STATUS_PORT}",
    "LAUNCHER_WORKDIR": "trainer_package_path",
    "PADDLE_CLOUD_CURRENT_DATACENTER": "datacenter",
    PASSES: "passes",
    "POD_IP": "the launcher",
    "PSERVERS": "pservers",
    "TRAINERS": "trainers",
    "TRAIN_CONFIG_DIR": "trainer_package_path",
}


def problems(job: Job, lent: bool = False) -> Iterator[str | Mistake]:
    """Yield a sentence for each mistake; what a datacenter lends, image and volumes, may still be missing."""
    found = [*_of_job(job, lent)]
    yield from found or (_template(job) if job.pod or injected.is_injected(job) else ())


def _of_job(job: Job, lent: bool) -> Iterator[str | Mistake]:
    wrong = [*_counts(job), *width_problems(job)]
    yield from wrong
    yield from names.wrong_with(job.job_name, job.together, *((1, 1) if wrong else (job.pservers, trainer_pods(job))))
    yield from _images(job, lent)
    yield from _names(job)
    yield from _processes(job)
    wrong_quantities = [*_quantities(job)]
    yield from wrong_quantities
    yield from _environment(job)
    if not (wrong or wrong_quantities):
        yield from asked.pod_problems(job)
    wrong_program, wrong_volumes = [*_program(job)], [*_each_volume(job)]
    yield from wrong_program
    yield from wrong_volumes or _volumes(job)
    if not (lent or wrong_volumes):
        yield from _job_path(job)
    if not (wrong or wrong_volumes) and isinstance(job.env, dict):
        yield from elastic_problems(job, lent=lent)
    if not (lent or wrong_program or wrong_volumes):
        yield from _program_on_volumes(job)


def _counts(job: Job) -> Iterator[str | Mistake]:
    alone = job.runtime in entry.WITHOUT_PSERVERS
    for field, low in (("pservers", 0 if alone else 1), ("trainers", 1), ("gpu_nums", 0)):
        if not _whole(getattr(job, field), low, MOST_PODS):
            none = ", or a runtime that has none, such as torch" if field == "pservers" and job.pservers == 0 else ""
            yield _wrong(job, field, f"expected a whole number from {low} to {MOST_PODS}{none}")
    if job.passes is not None and not _whole(job.passes, 1, 10**9):
        yield _wrong(job, "passes", "expected a whole number, 1 or more")


def _processes(job: Job) -> Iterator[str | Mistake]:
    number, several = job.processes, Parameter("processes", job.processes)
    if number is None:
        return
    if number != "gpu" and not _whole(number, 1, MOST_PROCESSES):
        yield Mistake(several, f": expected a whole number from 1 to {MOST_PROCESSES}, or gpu for one on each card")
    elif number != 1 and job.runtime not in entry.WITHOUT_PSERVERS:
        yield Mistake(several, ": expected ", Parameter("runtime", given=False), " torch or another without pservers")
    elif number != "gpu" and number > job.gpu_nums > 0:  # type: ignore[operator]  # a whole number, as was seen
        cards = Parameter("gpu_nums", job.gpu_nums)
        yield Mistake(several, " is more than ", cards, ": expected at most one for each card, or gpu")


def _images(job: Job, lent: bool) -> Iterator[str | Mistake]:
    for field, may_lack in (("runtime_image", lent), ("launcher_image", True)):
        name = getattr(job, field)
        if not (_is_image(_text(name)) or (may_lack and not name)):
            yield _wrong(job, field, "expected an image's name, such as your-repo/paddle:mypaddle")
    yield from injected.inject_problems(job)


def _names(job: Job) -> Iterator[str | Mistake]:
    if job.namespace and not names.is_label(job.namespace):
        yield _wrong(job, "namespace", "expected a namespace's name, such as default")
    if job.registry and not names.is_subdomain(job.registry):
        yield _wrong(job, "registry", "expected the name that `paddlectl registry` gave it, in lower case")
    if not isinstance(job.datacenter, str) or not job.datacenter.isprintable():
        yield _wrong(job, "datacenter", "expected a name")


def _is_image(name: str) -> bool:
    """Return whether a container runtime takes this: only a registry's host may be in capitals."""
    *before, last = name.split("/")
    host = before[:1] if before and (before[0] == "localhost" or set(".:") & set(before[0])) else []
    whole = IMAGE.fullmatch(name) and LAST_OF_IMAGE.fullmatch(last)
    return whole is not None and all(PART_OF_IMAGE.fullmatch(each) for each in before[len(host) :])


def _quantities(job: Job) -> Iterator[str | Mistake]:
    readers: dict[str, Callable[[object], int]] = {
        "memory": quantities.memory,
        "psmemory": quantities.memory,
        "cpu_nums": quantities.millicores,
        "pscpu": quantities.millicores,
    }
    for field, read in readers.items():
        try:
            read(getattr(job, field))
        except quantities.WrongQuantity as wrong:
            yield _wrong(job, field, str(wrong))


def _program(job: Job) -> Iterator[str | Mistake]:
    package = job.trainer_package_path
    if package and not (is_below(_text(package).lstrip("/")) and _text(package).strip("/.")):
        yield _wrong(job, "trainer_package_path", "expected a directory of the image or of a volume, without `..`")
    yield from _local_package(job)
    if job.topology and not is_below(job.topology):
        yield _wrong(job, "topology", "expected the config file's path in the package, as trainer_config.py")
    try:
        words = entry.words(_text(job.entry_point))
    except ValueError as error:
        yield _wrong(job, "entry_point", f"expected words quoted as for a shell ({error})")
        return
    if found := entry.of_shell(_text(job.entry_point)):
        told = f"no shell runs it, and {found} is for one: use bash -c '...', or quotes"
        yield _wrong(job, "entry_point", told)
    if "\0" in _text(job.entry_point) or not (words or job.topology):
        yield _wrong(job, "entry_point", "expected the command that trains, such as 'python train.py'")
    if job.runtime and job.runtime not in RUNTIMES:
        yield _wrong(job, "runtime", f"expected {', '.join(RUNTIMES[:-1])} or {RUNTIMES[-1]}")
    elif job.runtime and job.topology:
        runtime, topology = Parameter("runtime", job.runtime), Parameter("topology", job.topology)
        yield Mistake(topology, " is for Paddle's v1, ", runtime, " is not: set one")
    elif job.topology and words and words[:2] != entry.V1:
        topology, entry_point = Parameter("topology", job.topology), Parameter("entry_point", job.entry_point)
        yield Mistake(topology, " is for Paddle's v1, ", entry_point, " is not: set one")


def _local_package(job: Job) -> Iterator[str | Mistake]:
    package = Parameter("local_package", job.local_package)
    if job.local_package and not _text(job.local_package):
        yield Mistake(package, ": expected a directory of this machine, such as ./my-package")
    elif job.local_package and job.trainer_package_path:
        other = Parameter("trainer_package_path", job.trainer_package_path)
        yield Mistake(package, " and ", other, " are two packages: set one")


def _each_volume(job: Job) -> Iterator[str | Mistake]:
    ceph: object = job.cephfs_volume
    if isinstance(ceph, CephFSVolume):
        yield from ceph.problems()
    elif ceph is not None:
        yield _wrong(job, "cephfs_volume", "expected a CephFSVolume")
    others: tuple[object, ...] = job.volumes
    for each in others:
        if isinstance(each, Volume):
            yield from each.problems()
        else:
            yield f"volumes has {each!r}: expected a Volume"


def _volumes(job: Job) -> Iterator[str | Mistake]:
    found = places.mounts(job)
    paths = [each.path.rstrip("/") for each in found]
    if job.local_package and PACKAGE_MOUNT in paths:
        yield f"mount_path={PACKAGE_MOUNT!r}: the package is there; expected another, such as /home/jobpath"
    if twice := [path for path in paths if paths.count(path) > 1]:
        yield f"two volumes have mount_path={twice[0]!r}: expected a different one for each"
    handles = [(each.csi["driver"], each.csi.get("volumeHandle")) for each in places.sources(job) if each.csi]
    if twice := [handle for driver, handle in handles if handle and handles.count((driver, handle)) > 1]:
        yield f"csi: two different volumes have volumeHandle {twice[0]!r}, one to a node: give both the same fields"
    if job.restricted and any(each.direct for each in job.volumes):
        expected = "a claim on it, or restricted=False"
        yield f"the restricted pod security standard does not allow a volume by host_path or nfs: expected {expected}"


def _job_path(job: Job) -> Iterator[str | Mistake]:
    found = places.mounts(job)
    if job.job_path and not (is_below(_text(job.job_path)[1:]) and places.is_on_volume(job.job_path, found)):
        yield _wrong(job, "job_path", "expected a writable directory on a volume of the job")
    elif job.job_path and not is_plain(job.job_path):
        yield _wrong(job, "job_path", "expected only letters, digits and _ . / -, as Paddle gives it to a shell")


def _program_on_volumes(job: Job) -> Iterator[str | Mistake]:
    if any(not each.read_only for each in places.volumes(job)):
        return
    if entry.is_v1(job):
        volumes = Parameter("volumes", given=False)
        yield Mistake("Paddle's v1 keeps its passes on a volume: expected a writable one in ", volumes)
    if job.trainer_package_path and not job.trainer_package_path.startswith("/"):
        package = Parameter("trainer_package_path", job.trainer_package_path)
        told = "is relative, to the job's directory on a volume: expected a writable volume, or an absolute path"
        yield Mistake(package, f" {told}")


def _environment(job: Job) -> Iterator[str | Mistake]:
    if not isinstance(job.env, dict):
        yield _wrong(job, "env", "expected names and values, such as {'OMP_NUM_THREADS': '2'}")
        return
    said = Parameter("env", given=False)
    for name, value in job.env.items():
        if name in SAID_BY:
            yield Mistake(said, f" has {name}: that is set by ", Parameter(SAID_BY[name], given=False))
        elif not _VARIABLE.fullmatch(_text(name)) or not isinstance(value, str) or "\0" in value:
            told = f" has {name!r}: {value!r}: expected names of letters, digits and _, and texts for values"
            yield Mistake(said, told)


def _template(job: Job) -> Iterator[str | Mistake]:
    """Yield what cannot be laid over the pods, or would take away what a gang needs: of both roles' the same once."""
    if wrong := [each for each in job.overlays if not isinstance(each, Mapping)]:
        yield Mistake(Parameter("pod", wrong[0]), ": expected metadata and spec of a Pod, such as {'spec': {...}}")
        return
    told: dict[str, Mistake] = {}
    for role in (NODE,) if job.together else (TRAINER, PSERVER):
        try:
            whole = pods.template(job, role, {})
            found = [*needs.lost(pods.own_template(job, role, {}), whole, SAID_BY)]
            found += injected.covered_launcher(whole) if injected.is_injected(job) and not found else ()
        except overlay.WrongOverlay as error:
            found = [Mistake(visible(error))]
        told.update((str(each), each) for each in found)
    yield from told.values()


def _wrong(job: Job, name: str, expected: str) -> Mistake:
    return Mistake(Parameter(name, getattr(job, name)), f": {expected}")


def _whole(given: object, low: int, high: int) -> bool:
    return isinstance(given, int) and not isinstance(given, bool) and low <= given <= high


def _text(given: object) -> str:
    """Return what should be a text; anything else is as wrong as nothing."""
    return given if isinstance(given, str) else ""
