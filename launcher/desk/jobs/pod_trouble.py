"""What to do about a container that its node could not start, or ended: by the node's own words.

No I/O here. The words are those of the container runtimes runc, crun and gVisor, by containerd, CRI-O or Docker.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from launcher.contract import PSERVERS_LABEL, own_python
from launcher.desk.files.pod import CONTAINER as AGENT_CONTAINER
from launcher.job.template.injected import BRINGER
from launcher.kube.objects import Object, mapping, text_at

# What pods start in an image that has the launcher; `permission denied` where only root may look into /root.
_ABSENT = re.compile(
    rf"[`\"](?:start_paddle|/root/start\.sh|{own_python()})[`\"].*(?:not found|no such file|permission denied)",
    re.IGNORECASE | re.DOTALL,
)
_OTHER_CPU = "exec format error"


def image_trouble(said: str, image: str, container: str) -> str:
    """Return what is wrong with a container's image by what its node said of a start, or nothing."""
    if _OTHER_CPU in said:
        choose = "choose its nodes by -selector, such as kubernetes.io/arch=amd64"
        return f"{image} is for another CPU than the node's: build it for that one, or {choose}"
    if not _ABSENT.search(said):
        return ""
    if container == BRINGER:
        return f"{image} does not bring the launcher: set `launcher-image:` or LAUNCHER_INIT_IMAGE to one that does"
    if container == AGENT_CONTAINER:
        return f"{image} has no launcher: set `image:` or `launcher-image:` of the datacenter to another"
    return f"{image} has no launcher: -inject always brings it into the pods, or use an image that has it"


def memory_trouble(ended: Object, labels: Object, containers: Sequence[Object]) -> str:
    """Return what a pod that has used up its memory was allowed, and the flag that gives it more."""
    if text_at(ended, "reason") != "OOMKilled":
        return ""
    limit = text_at(mapping(containers[0], "resources", "limits"), "memory") if containers else ""
    flag = "-psmemory" if PSERVERS_LABEL in labels else "-memory"
    return f"its memory limit is {limit}: submit with more {flag}" if limit else "it has no limit: the node ran out"
