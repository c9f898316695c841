"""A launcher's inbox and its statuses, with a main thread that stands still in a pipe without a writer.

Arguments: address, port, lease, the pipe. It waits in the inbox for a signal, then in the pipe, and so on; USR1 leads
there at once, USR2 after the word that this takes three leases.
"""

import signal
import sys
import time
from dataclasses import replace
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[3]))

from launcher.pod.gang.status.loop import Statuses
from launcher.pod.inbox import Inbox, SignalCame
from tests.support.statuses import LIMITS, who

address, port, lease, pipe = sys.argv[1:]
inbox = Inbox()
statuses = Statuses(
    who(address),
    bind=address,
    port=int(port),
    limits=replace(LIMITS, lease=float(lease)),
    nudge=inbox.nudge,
    tell=lambda *_, **__: None,
    away=inbox.away,
    members=1,
)
statuses.start()
print("up", flush=True)
while True:
    event = inbox.next()
    if isinstance(event, SignalCame) and event.signum == signal.SIGUSR2:
        inbox.back_by(time.monotonic() + 3 * float(lease))
    print("away", flush=True)
    Path(pipe).read_text()
    print("back", flush=True)
