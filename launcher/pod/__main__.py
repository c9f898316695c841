"""The life of a pod, in one direction: settings, roster, shard, plan, supervise, outcome; only here it exits."""

from __future__ import annotations

import signal

# First of all: a TERM to process 1 that comes before is lost, and the kubelet sends it once.
signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())

import os
import sys
from functools import partial
from typing import TYPE_CHECKING, NoReturn

from launcher.pod import outcome, workdir
from launcher.pod.console import Console
from launcher.pod.inbox import Inbox
from launcher.pod.outcome import Decided, Outcome, Stopped
from launcher.pod.programs import init, spawn
from launcher.pod.settings.help import answer
from launcher.pod.settings.nouns import Runtime, Settings
from launcher.pod.settings.variables import read_settings

if TYPE_CHECKING:
    from launcher.pod.gang.membership import Membership


def main() -> NoReturn:
    """Live, tell how it ended, and leave with the code that says so."""
    arguments = sys.argv[1:]
    if text := answer(arguments):
        sys.stdout.write(text)
        sys.exit(0)
    inbox = Inbox()
    spawn.adopt_orphans()
    spawn.give_back_variables()
    story = Console()
    try:
        ended = live(read_settings(os.environ, arguments, here=workdir.current()), inbox, story)
    except Exception as error:
        ended = outcome.of(error)
    story.end(ended)
    # Not sys.exit: a thread may hang for ever in a volume that does not answer.
    os._exit(ended.code)


def live(settings: Settings, inbox: Inbox, story: Console) -> Outcome:
    """Live one pod's life and return how it ended."""
    workdir.enter(settings.workdir)
    if settings.plain_init:
        words = settings.command + settings.flags.words
        return story.of_init(init.run(words, inbox, story.tell, grace=settings.timing.grace))

    from launcher.pod.gang.membership import Membership
    from launcher.pod.programs import v1_check  # from here on it is a job: a plain init pays for none of this
    from launcher.pod.programs.runtimes import devices
    from launcher.pod.settings.conflicts import for_devices

    story.for_job(settings)
    settings = for_devices(settings, devices.attached())
    if settings.runtime is Runtime.V1:
        v1_check.check_v1_command(os.environ)
    if settings.job_path or settings.config_dir:
        workdir.hold(settings.workdir)
    with story.counted(Membership(settings, inbox, story.tell, story.facts)) as gang:
        try:
            while True:
                if ended := generation(settings, inbox, story, gang):
                    return ended
        except (Decided, Stopped) as told:
            return outcome.of(told)
        except Exception as error:
            return gang.give_up(outcome.of(error))


def generation(settings: Settings, inbox: Inbox, story: Console, gang: Membership) -> Outcome | None:
    """Take part in one start of the gang; return how it ended, or None where it begins anew."""
    from launcher.pod.data.stage import stage
    from launcher.pod.programs import launch
    from launcher.pod.programs.runtimes import devices, plan_for

    with story.phase("joining"):
        roster = gang.meet(partial(stage, settings, None))
    story.met(roster)
    with story.phase("staging"):
        gang.stage(partial(stage, settings, roster))
        workdir.write_identity(settings, roster, story.tell)
    with story.phase("assembling"):
        begun = gang.assemble()
    if begun is None:
        return None
    plan = plan_for(settings, roster, gang.resume(begun), begun.number, devices=devices.attached())
    story.starting(settings, roster, plan)
    with story.phase("training"):
        return gang.settle(launch.run(plan, settings, inbox, story, gang, begun.heading))


if __name__ == "__main__":
    main()
