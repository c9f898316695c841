"""The launcher brought into pods whose image has none: whether it is, what brings it, where it then is.

No I/O here. k8s/any-image has the same pods for who writes YAML.
"""

from __future__ import annotations

from launcher.contract import BROUGHT, own_python
from launcher.job import podspec
from launcher.job.problem import Mistake, Parameter

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from typing import Any

    from launcher.job.description import Job

    Json = dict[str, Any]

AUTO, ALWAYS, NEVER = "auto", "always", "never"
INJECT = (AUTO, ALWAYS, NEVER)
BRINGER = "launcher"  # of the volume and of the container that brings it


def is_injected(job: Job) -> bool:
    """Return whether the launcher is brought into a job's pods; for `auto` the desk names no image where not."""
    return job.inject != NEVER and bool(job.launcher_image)


def inject_problems(job: Job) -> Iterator[Mistake]:
    """Yield what is wrong with the word itself; the image may still come from the datacenter."""
    if job.inject not in INJECT:
        yield Mistake(Parameter("inject", job.inject), f": expected one of {', '.join(INJECT)}")


def image_lacking(job: Job) -> Iterator[Mistake]:
    """Yield that nobody has named the image by which the launcher is to be brought."""
    if job.inject == ALWAYS and not job.launcher_image:
        said, image = Parameter("inject", job.inject), Parameter("launcher_image", given=False)
        yield Mistake(said, " needs the image that brings the launcher: set ", image)


def covered_launcher(template: Json) -> Iterator[Mistake]:
    """Yield what is mounted where the launcher is, by the job or by what is laid over its pods."""
    for container in template["spec"]["containers"]:
        for mount in container.get("volumeMounts", ()):
            if f"{mount['mountPath']}/".startswith(f"{BROUGHT}/") and mount["name"] != BRINGER:
                told = f"{mount['mountPath']} of the container {container['name']}"
                yield Mistake(f"{told}: the launcher is brought there: mount it elsewhere, such as at /data")


def launcher_volumes(job: Job) -> list[Json]:
    """Return the volume for it."""
    return [{"name": BRINGER, "emptyDir": {}}] if is_injected(job) else []


def launcher_mounts(job: Job) -> list[Json]:
    """Return where it is in the containers that use it."""
    return [{"name": BRINGER, "mountPath": BROUGHT, "readOnly": True}] if is_injected(job) else []


def launcher_bringer(job: Job, resources: Json, files: Sequence[str]) -> Json:
    """Return the init container that copies it, and makes the files for `/`: a second one would cost a second more.

    It asks for what the container after it asks for, so that no quota counts it again.
    """
    more = [{"name": "root-files", "mountPath": "/root-files"}] if files else []
    return {
        "name": BRINGER,
        "image": job.launcher_image,
        "command": [own_python(), "-I", "-m", "launcher.inject", BROUGHT, *(f"/root-files/{name}" for name in files)],
        "resources": {"requests": resources["requests"], "limits": {"memory": resources["requests"]["memory"]}},
        # What is in its way is then what the pod tells of it, after its log is gone, too.
        "terminationMessagePolicy": "FallbackToLogsOnError",
        "securityContext": podspec.security(restricted=job.restricted),
        "volumeMounts": [{"name": BRINGER, "mountPath": BROUGHT}, *more],
    }


def brought_command(words: Sequence[str], environ: Mapping[str, str]) -> tuple[str, ...]:
    """Return a container's words, which begin with a program of the launcher's images, as they are without these."""
    flags = () if words[0] == "start_paddle" else _of_start_sh(environ)
    return (f"{BROUGHT}/bin/start_paddle", *flags, *words[1:])


def _of_start_sh(environ: Mapping[str, str]) -> tuple[str, ...]:
    """Return the flags of docker/start.sh, for a pod without it."""
    threads, sparse = environ.get("TRAINER_COUNT") or 4, environ.get("CONF_PADDLE_PORTS_NUM_SPARSE") or 1
    return (
        *("--dot_period=10", "--log_period=50", "--num_passes=10", f"--trainer_count={threads}", "--saving_period=1"),
        *("--local=0", "--use_gpu=0", "--config=./trainer_config.py", f"--ports_num_for_sparse={sparse}"),
    )
