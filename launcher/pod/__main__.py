"""The life of a pod, in one direction: settings, roster, shard, plan, supervise, outcome.

The only place that exits.
"""

from __future__ import annotations

import signal

# First of all: a TERM to process 1 that comes before is lost, and the kubelet sends it once.
signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())

import os
import sys
import threading
from functools import partial
from typing import NoReturn

from launcher.pod import init, outcome, workplace
from launcher.pod.inbox import Inbox
from launcher.pod.outcome import LauncherError, Outcome
from launcher.pod.settings import Settings
from launcher.pod.spawn import adopt_orphans
from launcher.pod.story import Story
from launcher.pod.usage import answer
from launcher.pod.variables import read


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

    from launcher.pod import launch  # from here on it is a job: a plain init pays for none of this
    from launcher.pod.discovery import meet
    from launcher.pod.identity import write_identity
    from launcher.pod.runtimes import plan_for
    from launcher.pod.shard import stage

    with story.phase("joining"):
        never = threading.Event()  # a stop ends the whole process, and with it the waiting
        roster = inbox.errand("waiting for its peers", partial(meet, settings, never, story.tell))
    story.rank = roster.rank
    with story.phase("staging"):
        if settings.job_path:
            workplace.hold(settings.workdir)
        inbox.errand("staging its data", partial(stage, settings, roster, story.tell))
        write_identity(settings, roster, story.tell)
    plan = plan_for(settings, roster)
    story.starting(settings, roster, plan)
    with story.phase("training"):
        return launch.run(plan, settings, inbox, story.out, story.tell)


if __name__ == "__main__":
    main()
