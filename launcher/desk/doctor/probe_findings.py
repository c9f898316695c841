"""The doctor's findings from inside its own pods: a sentence for each, and a remedy where something is wrong.

No I/O here.
"""

from __future__ import annotations

from collections.abc import Collection

from launcher.contract import DATA, HOME, USER
from launcher.desk.doctor.checks import Finding
from launcher.desk.jobs.job_state import KubePod
from launcher.text import one_line

MIB = 1 << 20
_LAST_WORDS = 500  # characters
SHM_ASKED = 512 * MIB  # that the probe asks for
_SHARED = "use a claim that all nodes can write to, on NFS, CephFS or EFS"


def no_image(named: str) -> Finding:
    """Say why no pod was made."""
    sentence = f"not checked from inside a pod: {named} has no `image:` and no `launcher-image:` in the configuration"
    return Finding(what="image", good=True, checked=False, sentence=sentence)


def no_pod(image: str, why: str) -> Finding:
    """Say why a pod did not start, or did not answer: mostly it is the image."""
    if "its image " in why:
        remedy = f"check the name {image}; for a private registry create a pull secret with `paddlectl registry`"
    elif "ended with" in why or "cannot be started" in why or "'probe'" in why:
        why = f"{image} has no {HOME} of this version: {why}"
        remedy = "build it as described in docker/README.md"
    else:
        remedy = (
            "`kubectl describe node` and `paddlectl get quota` show what is free on the nodes and in the namespace"
        )
        return Finding(what="pods", good=False, sentence=why, remedy=remedy)
    return Finding(what="image", good=False, sentence=why, remedy=remedy)


def image(image: str, *, paddle: str, command: str) -> Finding:
    """Say what is in the image; that it has the launcher is known, which has answered."""
    sentence = f"{image} can be pulled and has the launcher"
    if paddle:
        sentence += f", and PaddlePaddle {paddle} for `python`"
    if command:
        sentence += f"; `paddle train` is {command}"
    if not paddle and not command:
        sentence += "; it contains no Paddle: set another -image for jobs that need it"
    return Finding(what="image", good=True, sentence=sentence)


def brought(image: str) -> Finding:
    """Say that the image is there which brings the launcher into the pods of all others."""
    return Finding(what="image", good=True, sentence=f"{image} can be pulled and brings the launcher into any image")


def image_tried(image: str, launcher_image: str, pod: KubePod) -> Finding:
    """Say whether a job of this image could start, by a pod that has tried it."""
    if pod.phase == "Succeeded":
        by = f"{launcher_image} brings the launcher into it" if launcher_image else "it has the launcher"
        return Finding(what="image", good=True, sentence=f"{image} can be pulled, and starts: {by}")
    sentence = f"a pod of {image} does not start: {pod.why or pod.phase}"
    if pod.trouble:
        return Finding(what="image", good=False, sentence=sentence, remedy="then run this command again")
    if " image " in pod.why:
        remedy = f"is {pod.image} its name? For a private registry create a pull secret with `paddlectl registry`"
        return Finding(what="image", good=False, sentence=sentence, remedy=remedy)
    told = f"{sentence}: {one_line(pod.message, _LAST_WORDS)}" if pod.message else sentence
    remedy = "k8s/any-image/README.md says what an image needs; `kubectl describe node` what is free on a node"
    return Finding(what="image", good=False, sentence=told, remedy=remedy)


def shm_seen(size: int) -> Finding:
    """Say whether a pod's /dev/shm is as large as it asked for."""
    if size < SHM_ASKED * 0.9:
        return Finding(
            what="shm",
            good=False,
            sentence=f"a pod that requests {SHM_ASKED // MIB} MiB of /dev/shm gets {size // MIB} MiB; "
            "data loaders die of SIGBUS when it is full",
            remedy="ask an administrator for more memory on the nodes, or use fewer workers in the data loader",
        )
    return Finding(what="shm", good=True, sentence=f"a pod's /dev/shm has {size // MIB} MiB")


def write_finding(step: str, why: str) -> Finding:
    """Say whether a pod can do on the volume what gangs do there."""
    if not step:
        return Finding(
            what="volume", good=True, sentence="a pod can write, create exclusively and rename files on it"
        )
    remedy = f"make it writable for the group {USER}, which jobs run as (`fsGroup`), or for everybody"
    if "exclusive" in step or "rename" in step:
        remedy = f"jobs need it to choose their leader: {_SHARED}, not on an object store"
    elif "no space" in why:
        remedy = "free some space: `paddlectl ls -l` shows the files, `paddlectl rm` removes them"
    return Finding(what="volume", good=False, sentence=f"a pod cannot {step} on it: {why}", remedy=remedy)


def together(nodes: tuple[str, str], *, seen: bool, milliseconds: int, excluded: bool, within: int) -> Finding:
    """Say whether two pods have the same volume, and how soon the one sees what the other has written."""
    where = "on two nodes" if nodes[0] != nodes[1] else f"on one node, {nodes[0]}, where both were started,"
    if not seen:
        sentence = f"two pods {where} do not share the volume: a file was not seen within {within} s"
        return Finding(what="volume", good=False, sentence=sentence, remedy=_SHARED)
    if not excluded:
        sentence = f"two pods {where} could both create the same file exclusively"
        remedy = "jobs need it to choose their leader: " + _SHARED + ", mounted without `nolock`"
        return Finding(what="volume", good=False, sentence=sentence, remedy=remedy)
    sentence = f"two pods {where} share the volume: a file was seen after {milliseconds / 1000:.1f} s"
    return Finding(what="volume", good=True, sentence=sentence)


def no_second(why: str) -> Finding:
    """Say that a second pod could not have the volume while the first one had it, or found no room."""
    remedy = f"if the volume is the reason, {_SHARED}; if it is space, `kubectl describe node` shows what is free"
    return Finding(
        what="volume", good=False, sentence=f"no result from a second pod beside the first: {why}", remedy=remedy
    )


def name_finding(host: str, addresses: int, *, wanted: int, why: str, milliseconds: int) -> Finding:
    """Say whether a pod finds others by the name of a headless Service."""
    if addresses >= wanted:
        sentence = f"a headless name had the addresses of all {wanted} pods after {milliseconds / 1000:.1f} s"
        return Finding(what="dns", good=True, sentence=sentence)
    found = f"the addresses of {addresses} of {wanted} pods" if addresses else f"no address ({why})"
    return Finding(
        what="dns",
        good=False,
        sentence=f"in a pod the headless name {host} has {found} after {milliseconds / 1000:.0f} s",
        remedy="ask an administrator of the cluster whether CoreDNS runs, and whether a NetworkPolicy blocks port 53",
    )


def shards_finding(place: str, trainers: int, *, by_rank: Collection[int], under_data: Collection[int]) -> Finding:
    """Say whether the shards in a job's directory are as its trainers will look for them."""
    if by_rank and under_data:
        sentence = f"{place} has shards in both layouts, <rank>/{DATA} and {DATA}/<rank>"
        return Finding(what="shards", good=False, sentence=sentence, remedy="move the outdated one away")
    numbers, pattern = (by_rank, f"<rank>/{DATA}") if by_rank else (under_data, f"{DATA}/<rank>")
    if not numbers:
        return Finding(what="shards", good=True, sentence=f"none in {place}: the program must find its data itself")
    missing = sorted(set(range(max(len(numbers), trainers))) - set(numbers))
    if missing:
        listed = ", ".join(map(str, missing[:10])) + (" and more" if len(missing) > 10 else "")
        return Finding(
            what="shards",
            good=False,
            sentence=f"{place}/{pattern}: missing {listed}; there are {len(numbers)} for {trainers} trainers",
            remedy=f"split the data into {trainers} or more shards, numbered from 0 without a gap",
        )
    return Finding(
        what="shards", good=True, sentence=f"{place}/{pattern}: {len(numbers)} for {trainers} trainers, without a gap"
    )
