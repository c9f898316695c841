"""Ends with a code (`exit 5`) or by a signal (`death 9`), and leaves no core."""

import os
import resource
import signal
import sys

resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
what, number = sys.argv[1], int(sys.argv[2])
if what == "exit":
    os._exit(number)
if number != signal.SIGKILL:
    signal.signal(number, signal.SIG_DFL)
os.kill(os.getpid(), number)
