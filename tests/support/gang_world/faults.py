"""What may go wrong in a simulated gang, and a run of one with such faults."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

from launcher.contract import Code
from launcher.pod.gang.protocol.messages import Failure, LeaderMessage, Stage, Status, Who
from launcher.pod.outcome import Outcome
from tests.support.gang_world.checks import Broken
from tests.support.gang_world.world import START, Pod, World

CURED = 25.0  # until then everything that a fault did has passed
PATIENCE = 190.0  # from then on until every launcher has its verdict


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """Something that happens to the pod in a slot, so many seconds after the start."""

    at: float
    what: str
    slot: int = 0
    span: float = 12.0
    detail: int = 0


def _address(world: World, pod: Pod, detail: int) -> str:
    """Return where a pod's replacement is: first of all, last of all, or at the same address."""
    number = len(world.pods)
    lives = pod.launcher is not None and pod.launcher.alive
    return (f"10.0.0.1{number:03}", f"10.0.0.9{number:03}", pod.address)[detail % (2 if lives else 3)]


def _replaced(world: World, pod: Pod, fault: Fault) -> None:
    world.drop(pod)
    world.add(pod.slot, _address(world, pod, fault.detail), delay=fault.span / 4)


def crash(world: World, pod: Pod, fault: Fault) -> None:
    """The launcher is killed; its container starts again, or the pod is replaced."""
    world.kill(pod)
    if fault.detail % 4 == 3:
        world.after(fault.span / 4, None, partial(_again, world, pod))
    else:
        _replaced(world, pod, fault)


def _again(world: World, pod: Pod) -> None:
    if pod in world.present and not pod.launcher:
        world.boot(pod)


def vanish(world: World, pod: Pod, fault: Fault) -> None:
    """A node loses power: nothing answers there any more."""
    pod.silent = True
    world.kill(pod)
    _replaced(world, pod, fault)


def stranger(world: World, pod: Pod, fault: Fault) -> None:
    """A node dies, and a launcher of another job, or of another run, answers at its address: it has a verdict."""
    vanish(world, pod, replace(fault, detail=fault.detail // 4 * 3))
    said = Outcome(code=fault.detail % 2 * 9, reason="a stranger's verdict")
    key, gang = (("other", ""), ("", "other"), ("", ""))[fault.detail % (3 if not world.key else 2)]
    # One of the same list and name is of an earlier run, and only its verdict can tell, where no two keys do.
    failed = Failure(generation=fault.detail // 2 % 2, code=9, reason="a stranger's failure")
    failure = failed if gang or (key and world.key) else None
    who = Who(role=pod.role, address=pod.address, uid="stranger", boot=f"stranger {len(world.pods)}")
    word = LeaderMessage(stage=Stage.OVER, verdict=said, boots=("another",))
    world.strangers[pod.address] = Status(who=who, key=key, gang=gang, lone=True, failure=failure, word=word)


def delete(world: World, pod: Pod, fault: Fault) -> None:
    """A pod is deleted: told to stop, off the list at once, replaced."""
    _replaced(world, pod, fault)
    if pod.launcher:
        launcher = pod.launcher
        world.after(0.0, launcher, launcher.stop)


def fail(world: World, pod: Pod, fault: Fault) -> None:
    """A child ends with an error."""
    if pod.launcher:
        launcher = pod.launcher
        world.after(0.0, launcher, lambda: launcher.fail(Code.DATA if fault.detail % 8 == 7 else 1))


def stick(world: World, pod: Pod, fault: Fault) -> None:  # noqa: ARG001  # the shape of all faults
    """The pserver of a pod is stopped."""
    if pod.launcher and pod.launcher.children:
        pod.launcher.children.stuck = True


def freeze(world: World, pod: Pod, fault: Fault) -> None:
    """All processes of a pod are stopped, and go on later: the launcher's first act is to look."""
    if pod.frozen:
        return
    pod.frozen = True
    world.after(fault.span, None, lambda: _wake(world, pod))


def _wake(world: World, pod: Pod) -> None:
    pod.frozen = False
    if pod.launcher:
        pod.launcher.look()
    world.checks.alone()
    for act in pod.deferred:
        act()
    pod.deferred.clear()


def cut(world: World, pod: Pod, fault: Fault) -> None:
    """A pod and another hear nothing of each other, or only one of them asks in vain."""
    other = world.pods[(pod.slot + 1 + fault.detail // 3) % world.size]
    both = [(pod, other), (other, pod)]
    _cut(world, both if fault.detail % 3 == 0 else both[fault.detail % 3 - 1 :][:1], fault.span)


def alone(world: World, pod: Pod, fault: Fault) -> None:
    """A pod is cut from all others."""
    _cut(world, [pair for other in world.pods for pair in ((pod, other), (other, pod))], fault.span)


def _cut(world: World, pairs: list[tuple[Pod, Pod]], span: float) -> None:
    world.cuts += pairs

    def heal() -> None:
        for pair in pairs:
            world.cuts.remove(pair)

    world.after(span, None, heal)


def lost(world: World, pod: Pod, fault: Fault) -> None:
    """A node is cut off but lives on; its pod is replaced, and killed when the node is back."""
    _cut(world, [(pod, other) for other in world.pods] + [(other, pod) for other in world.pods], CURED)
    world.blind.add(pod)
    world.after(CURED - 0.1, None, partial(world.kill, pod))
    _replaced(world, pod, fault)


def rack(world: World, pod: Pod, fault: Fault) -> None:
    """A whole rack is cut from the API but not from itself nor from the volume; all its pods are replaced."""
    old = [each for each in world.present if not fault.detail // 3 % 2 or each is not pod]
    for each in old:
        world.blind.add(each)
        _replaced(world, each, fault)
        world.after(CURED - 0.1, None, partial(world.kill, each))


def blind(world: World, pod: Pod, fault: Fault) -> None:
    """A pod hears nothing new of the API."""
    world.blind.add(pod)

    def see() -> None:
        world.blind.discard(pod)
        if pod.launcher:
            world.tell(pod.launcher)

    world.after(fault.span, None, see)


def hang(world: World, pod: Pod, fault: Fault) -> None:  # noqa: ARG001  # the shape of all faults
    """The volume answers nobody for a while: no longer than a verdict is held back for it."""
    world.volume.hangs_until = max(world.volume.hangs_until, world.now + min(fault.span, 4.0))


FAULTS: dict[str, Callable[[World, Pod, Fault], None]] = {
    each.__name__: each
    for each in (crash, vanish, stranger, delete, fail, stick, freeze, cut, alone, lost, rack, blind, hang)
}


def play(world: World, faults: Sequence[Fault]) -> World:
    """Run a gang through the faults to its end."""
    for fault in faults:
        world.after(fault.at, None, partial(_happen, world, fault))
    if faults:
        world.quiet = START + max(fault.at for fault in faults) + CURED
    world.run(world.quiet + PATIENCE)
    left = [pod.launcher for pod in world.pods if pod.launcher]
    if left and (world.recorded or world.checks.first > world.quiet):
        raise Broken(f"stuck: {[(each.boot, each.member.status) for each in left]}")
    return world


def _happen(world: World, fault: Fault) -> None:
    pods = [pod for pod in world.present if pod.slot == fault.slot % world.size]
    if pods:
        world.note(pods[-1].launcher, "FAULT", fault)
        FAULTS[fault.what](world, pods[-1], fault)
