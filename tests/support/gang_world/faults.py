"""What may go wrong in a simulated gang, and a run of one with such faults."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

from launcher.contract import Code
from launcher.pod.gang.here.requests import Barrier, Get
from launcher.pod.gang.protocol.messages import Failure, LeaderMessage, Stage, Status, Who
from launcher.pod.outcome import Outcome
from launcher.pod.settings.nouns import Role
from tests.support.gang_world.checks import Broken
from tests.support.gang_world.children import Children
from tests.support.gang_world.pods import Job, Pod
from tests.support.gang_world.programs import Doom, Program
from tests.support.gang_world.world import START, World

CURED = 25.0  # until then everything that a fault did has passed
KUBELET = 5.0  # after the grace of its launcher a pod that was told to stop is killed
EBB = 1.5  # from one pod to the next, where all are told one after the other: enough to train again
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
    world.add(pod.job, pod.slot, _address(world, pod, fault.detail), delay=fault.span / 4)


def crash(world: World, pod: Pod, fault: Fault) -> None:
    """The launcher is killed; its container starts again, or the pod is replaced."""
    world.kill(pod)
    if fault.detail % 4 == 3:
        world.after(fault.span / 4, None, partial(_again, world, pod))
    else:
        _replaced(world, pod, fault)


def _again(world: World, pod: Pod) -> None:
    if pod in pod.job.present and not pod.launcher:
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
    key, gang = (("other", ""), ("", "other"), ("", ""))[fault.detail % (3 if not world.recorded else 2)]
    # One of the same list and name is of an earlier run, and only its verdict can tell, where no two keys do.
    failed = Failure(generation=fault.detail // 2 % 2, code=9, reason="a stranger's failure")
    failure = failed if gang or (key and world.recorded) else None
    who = Who(role=pod.role, address=pod.address, uid="stranger", boot=f"stranger {len(world.pods)}")
    word = LeaderMessage(stage=Stage.OVER, verdict=said, boots=("another",))
    world.strangers[pod.address] = Status(who=who, key=key, gang=gang, lone=True, failure=failure, word=word)


def delete(world: World, pod: Pod, fault: Fault) -> None:
    """A pod is deleted: told to stop, off the list at once, replaced."""
    _replaced(world, pod, fault)
    _told(world, pod)


def leave(world: World, pod: Pod, fault: Fault) -> None:
    """A trainer's pod is deleted and not replaced for long: a spot node is taken, a drained pod finds no room."""
    if pod.role is Role.PSERVER:
        return
    world.drop(pod)
    world.add(pod.job, pod.slot, _address(world, pod, fault.detail), delay=2 * fault.span)
    _told(world, pod)


def scale(world: World, pod: Pod, fault: Fault) -> None:
    """The Job is made as wide as the detail says: the highest slots are told to stop, or pods come for what lacks."""
    job = pod.job
    wide = _wide(world, fault.detail)
    for each in [each for each in job.present if each.slot >= wide]:
        world.drop(each)
        _told(world, each)
    there = {each.slot for each in job.present}
    for number, slot in enumerate(sorted(set(range(wide)) - there)):
        world.add(job, slot, _address(world, pod, 2 * number + fault.detail % 2), delay=fault.span / 4)


def dark(world: World, pod: Pod, fault: Fault) -> None:
    """A node loses power, and its pod stays listed for long: nobody but the gang itself can tell that it is gone."""
    if pod.role is Role.PSERVER:
        return
    pod.silent = True
    world.kill(pod)
    world.after(2 * fault.span, None, partial(_replaced, world, pod, fault))


def unfit(world: World, pod: Pod, fault: Fault) -> None:
    """A pod leaves, and the one that comes for it cannot stage its data; a sound one takes its place later."""
    if pod.role is Role.PSERVER:
        return
    world.drop(pod)
    _told(world, pod)
    bad = world.add(pod.job, pod.slot, _address(world, pod, fault.detail), delay=fault.span / 4)
    bad.unfit = True
    world.after(CURED - 1.0, None, partial(world.drop, bad))
    world.after(CURED - 1.0, None, partial(world.kill, bad))


def suspend(world: World, pod: Pod, fault: Fault) -> None:
    """Every pod is told to stop, at once or one after the other; later as many come as the detail says."""
    job, apart = pod.job, EBB * (fault.detail % 2)
    for number, each in enumerate(list(job.present)):
        world.after(number * apart, None, partial(_ends, world, each))
    wide = _wide(world, fault.detail)
    world.after(world.size * apart + fault.span, None, partial(_come, world, job, wide))


def _ends(world: World, pod: Pod) -> None:
    world.drop(pod)
    _told(world, pod)


def _wide(world: World, detail: int) -> int:
    """Return how many pods there are to be; the pserver's, where it has one of its own, is the first."""
    return max(world.least + world.separated, 1 + detail % world.size)


def _come(world: World, job: Job, wide: int) -> None:
    there = {each.slot for each in job.present}
    for slot in sorted(set(range(wide)) - there):
        world.add(job, slot, f"10.0.2.{len(world.pods):03}", delay=world.some(0.0, 2.0))


def fail(world: World, pod: Pod, fault: Fault) -> None:
    """A child ends with an error."""
    if pod.launcher:
        launcher = pod.launcher
        world.after(
            0.0, launcher, lambda: launcher.fail(Code.DATA if fault.detail % 8 == 7 else 1, fault.detail // 8)
        )


def doom(world: World, pod: Pod, fault: Fault) -> None:
    """A trainer fails in one pass, always or twice with other words, or its pod is lost; or it fails in each pass."""
    how, at = fault.detail % 4, fault.detail // 4

    def act(program: Program, children: Children) -> None:
        if how == 2:
            world.after(0.0, None, partial(crash, world, children.launcher.pod, replace(fault, span=1.0)))
        else:
            words = f"error {world.now}" if how != 1 else "error " + "again " * world.random.randrange(1000)
            children.fails(program, 1, words)

    world.dooms[pod.slot] = Doom(act=act, at=None if how == 3 else at, times=(99, 2, 99, 1)[how])


def stick(world: World, pod: Pod, fault: Fault) -> None:  # noqa: ARG001  # the shape of all faults
    """The pserver of a pod is stopped."""
    if program := _program(pod, Role.PSERVER):
        program.stuck = True


def slow(world: World, pod: Pod, fault: Fault) -> None:  # noqa: ARG001  # the shape of all faults
    """A trainer takes long for its next pass, and the others wait for it."""
    if program := _program(pod, Role.TRAINER):
        program.slow = fault.span


def err(world: World, pod: Pod, fault: Fault) -> None:  # noqa: ARG001  # the shape of all faults
    """A trainer waits where no other comes, for what nobody shares, or ends before the others do."""
    if (program := _program(pod, Role.TRAINER)) and pod.launcher and pod.launcher.children:
        asks = (Barrier(name="elsewhere"), Get(key="nothing", rank=0), Get(key="nothing"), None)
        program.mistake = asks[fault.detail % 4]
        program.leaves = program.mistake is None
        pod.job.checks.mistaken.add(pod.launcher.children.generation.number)


def alarm(world: World, pod: Pod, fault: Fault) -> None:
    """A launcher finds something out of its trainer, to be told or to end all; it may never answer the look."""
    children = pod.launcher.children if pod.launcher else None
    if pod.launcher and children and children.of(Role.TRAINER) and pod.role is not Role.PSERVER:
        code = (0, 134, 0, Code.DATA)[fault.detail % 4]
        speechless = fault.detail // 4 % 3 == 0
        world.after(0.0, pod.launcher, partial(_alarm, children, code, speechless=speechless))


def _alarm(children: Children, code: int, *, speechless: bool) -> None:
    if children.launcher.children is children:
        children.alarm(code, speechless=speechless)


def _program(pod: Pod, role: Role) -> Program | None:
    return pod.launcher.children.of(role) if pod.launcher and pod.launcher.children else None


def freeze(world: World, pod: Pod, fault: Fault) -> None:
    """All processes of a pod are stopped, and go on later: the launcher's first act is to look."""
    if pod.frozen:
        return
    pod.frozen = True
    world.after(fault.span, None, lambda: _wake(pod))


def _wake(pod: Pod) -> None:
    pod.frozen = False
    if pod.launcher:
        pod.launcher.look()
    pod.job.checks.alone()
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
    old = [each for each in pod.job.present if not fault.detail // 3 % 2 or each is not pod]
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


def flap(world: World, pod: Pod, fault: Fault) -> None:
    """A pod does not see one of the others for a moment."""
    seen = tuple(each for each in pod.job.present if each.slot != (fault.detail + 1) % world.size)
    if launcher := pod.launcher:
        world.after(0.0, launcher, lambda: launcher.discover(seen))
        world.after(fault.span / 10, launcher, lambda: launcher.discover(tuple(pod.job.present)))


def hang(world: World, pod: Pod, fault: Fault) -> None:  # noqa: ARG001  # the shape of all faults
    """The volume answers nobody for a while: no longer than a verdict is held back for it."""
    world.volume.hangs_until = max(world.volume.hangs_until, world.now + min(fault.span, 4.0))


def apply(world: World, pod: Pod, fault: Fault) -> None:
    """The Job is applied again at once; the detail says what each pod of the old one hears of its deletion."""
    world.quiet = max(world.quiet, world.now + 2 * CURED)
    old, job = list(pod.job.present), pod.job
    world.applied += 1
    places = [f"10.0.{world.applied}.{5 + slot}" for slot in range(world.size)]
    job.deleted = fault.detail % 4 < 3  # else the new one is in another namespace, on the same volume
    for number, each in enumerate(old if job.deleted else ()):
        world.drop(each)
        way = (_told, _lost, _killed)[(fault.detail + number * (fault.detail // 4)) % 3]
        way(world, each)
        if way is _killed and fault.detail % 3 == 0:
            places[each.slot] = each.address
    world.after(fault.span / 4, None, partial(world.apply, places))


def _told(world: World, pod: Pod) -> None:
    if launcher := pod.launcher:
        world.after(0.0, launcher, launcher.stop)
        world.after(world.stop_grace + KUBELET, None, partial(world.gone_if_there, launcher))


def _lost(world: World, pod: Pod) -> None:
    """Its node is cut off from the API and the other nodes, and lives on for longer than any grace."""
    world.blind.add(pod)
    others = [other for other in world.pods if other is not pod]
    _cut(world, [pair for other in others for pair in ((pod, other), (other, pod))], 2 * CURED)
    world.after(2 * CURED - 0.1, None, partial(world.kill, pod))


def _killed(world: World, pod: Pod) -> None:
    pod.silent = True
    world.kill(pod)


_KINDS = (crash, vanish, stranger, delete, fail, doom, stick, slow, err, alarm)
_PLACES = (freeze, cut, alone, lost, rack, blind, flap, hang, apply)
_WIDTHS = (leave, scale, suspend, unfit, dark)
WIDTHS = {each.__name__: each for each in _WIDTHS}
FAULTS: dict[str, Callable[[World, Pod, Fault], None]] = {each.__name__: each for each in (*_KINDS, *_PLACES)}


def play(world: World, faults: Sequence[Fault]) -> World:
    """Run a gang through the faults to its end."""
    for fault in faults:
        world.after(fault.at, None, partial(_happen, world, fault))
    if faults:
        world.quiet = START + max(fault.at for fault in faults) + CURED
    if faults and world.elastic:  # in the end somebody gives it all of its pods
        world.after(world.quiet - world.now, None, lambda: _come(world, world.job, world.size))
    world.run(world.quiet + PATIENCE)
    left = [pod.launcher for pod in world.pods if pod.launcher]
    if left and all(job.checks.promised for job in world.jobs):
        raise Broken(f"stuck: {[(each.boot, each.member.status) for each in left]}")
    return world


def _happen(world: World, fault: Fault) -> None:
    of_job = world.jobs[fault.detail % len(world.jobs)]
    pods = [pod for pod in of_job.present if pod.slot == fault.slot % world.size]
    if pods:
        world.note(pods[-1].launcher, "FAULT", fault)
        {**FAULTS, **WIDTHS}[fault.what](world, pods[-1], fault)
