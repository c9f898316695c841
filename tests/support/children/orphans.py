"""Leaves so many orphans that end all at once; then, given a code, ends with it at that very moment.

Each orphan is in a session of its own. Prints `here`, `ready` when all are there, `all ended`; goes on at SIGUSR1.
"""

import os
import signal
import sys

signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGUSR1})
count = int(sys.argv[1])
os.write(1, b"here\n")
signal.sigwait({signal.SIGUSR1})
wait, end = os.pipe()
there, here = os.pipe()
if os.fork() == 0:
    os.close(end)
    for _ in range(count):
        if os.fork() == 0:
            os.setsid()
            os.write(here, b".")
            os.read(wait, 1)
            os._exit(9)
    os._exit(0)
os.close(here)
seen = 0
while seen < count:
    seen += len(os.read(there, 65536))
os.write(1, b"ready\n")
signal.sigwait({signal.SIGUSR1})
os.close(end)
if len(sys.argv) > 2:
    os._exit(int(sys.argv[2]))
while os.read(there, 1):
    pass
os.write(1, b"all ended\n")
signal.sigwait({signal.SIGUSR1})
