"""XGBoost's tracker as a program of its own, run by the training program's Python: it alone has xgboost.

Python 3.8, and no import of ours. It stays until it is told to end: the launcher ends it when every trainer is done.
"""

from __future__ import annotations

import signal
import sys


def main() -> None:
    """Listen at the address and port given, for so many workers; without XGBoost end with the code given."""
    address, port, workers, otherwise = sys.argv[1:]
    try:
        from xgboost.tracker import RabitTracker
    except ImportError as error:
        print(f"{sys.executable} runs the tracker and cannot import xgboost: {error}")
        sys.exit(int(otherwise))
    # By task, so that XGBoost's rank of a program is the launcher's.
    tracker = RabitTracker(n_workers=int(workers), host_ip=address, port=int(port), sortby="task")
    tracker.start()
    signal.pause()


if __name__ == "__main__":
    main()
