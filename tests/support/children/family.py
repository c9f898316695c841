"""A parent and its child in one process group, deaf to SIGTERM: each tells its pid, then each SIGTERM it gets."""

import os
import signal

name = b"child" if (pid := os.fork()) == 0 else b"parent"
told, tell = os.pipe()
os.set_blocking(tell, False)
signal.set_wakeup_fd(tell)
signal.signal(signal.SIGTERM, lambda *_: None)
os.write(1, b"%s %d\n" % (name, os.getpid()))
while True:
    for number in os.read(told, 512):
        os.write(1, b"%s told %d\n" % (name, number))
