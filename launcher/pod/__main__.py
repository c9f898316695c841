"""The life of a pod, in one direction: settings, roster, shard, plan, supervise, outcome.

The only place that exits.
"""

from __future__ import annotations

import signal

# First of all: a TERM to process 1 that comes before is lost, and the kubelet sends it once.
signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())

import os
import sys
from functools import partial
from typing import TYPE_CHECKING, NoReturn

from launcher.pod import init, outcome, workplace
from launcher.pod.inbox import Inbox
from launcher.pod.outcome import Decided, LauncherError, Outcome, Stopped
from launcher.pod.settings import Runtime, Settings
from launcher.pod.spawn import adopt_orphans
from launcher.pod.story import Story
from launcher.pod.usage import answer
from launcher.pod.variables import read

if TYPE_CHECKING:
    from launcher.pod.gang.membership import Membership


def main() -> NoReturn:
    """Live, tell how it ended, and leave with the code that says so."""
    arguments = sys.argv[1:]
    if text := answer(arguments):
        sys.stdout.write(text)
        sys.exit(0)
    inbox = Inbox()
    adopt_orphans()
    story = Story()
    try:
        ended = live(read(os.environ, arguments, here=workplace.current()), inbox, story)
    except LauncherError as error:
        ended = outcome.of_error(error)
    except Exception as error:
        ended = outcome.of_bug(error)
    story.end(ended)
    # Not sys.exit: a thread may hang for ever in a volume that does not answer.
    os._exit(ended.code)


def live(settings: Settings, inbox: Inbox, story: Story) -> Outcome:
    """Live one pod's life and return how it ended."""
    workplace.enter(settings.workdir)
    if settings.plain_init:
        command = settings.command + settings.flags.words
        return story.of_init(init.run(command, inbox, grace=settings.timing.grace))

    from launcher.pod import v1command  # from here on it is a job: a plain init pays for none of this
    from launcher.pod.gang.membership import Membership

    if settings.runtime is Runtime.V1:
        v1command.check(os.environ)
    if settings.job_path or settings.config_dir:
        workplace.hold(settings.workdir)
    with Membership(settings, inbox, story.tell, story.facts) as gang:
        try:
            while True:
                if ended := generation(settings, inbox, story, gang):
                    return ended
        except Decided as decided:
            return decided.outcome
        except Stopped as stopped:
            return outcome.of_error(stopped)
        except LauncherError as error:
            return gang.lament(outcome.of_error(error))
        except Exception as error:
            return gang.lament(outcome.of_bug(error))


def generation(settings: Settings, inbox: Inbox, story: Story, gang: Membership) -> Outcome | None:
    """Take part in one start of the gang; return how it ended, or None where it begins anew."""
    from launcher.pod import launch
    from launcher.pod.identity import write_identity
    from launcher.pod.runtimes import plan_for
    from launcher.pod.shard import stage

    with story.phase("joining"):
        roster = gang.meet()
    story.rank = roster.rank
    with story.phase("staging"):
        gang.stage(partial(stage, settings, roster))
        write_identity(settings, roster, story.tell)
    with story.phase("assembling"):
        begun = gang.assemble()
    if begun is None:
        return None
    plan = plan_for(settings, roster, gang.resume(begun), begun.number)
    story.starting(settings, roster, plan)
    with story.phase("training"):
        return gang.settle(launch.run(plan, settings, inbox, story, gang, begun.heading))


if __name__ == "__main__":
    main()
