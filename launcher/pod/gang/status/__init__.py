"""The gang's network: statuses served and read.

asyncio takes ssl if it can be had: 5 ms of a pod's start and 4 MB for what is plain HTTP here. What needs ssl later,
as the Kubernetes client does, finds it.
"""

import sys

if "asyncio" not in sys.modules and "ssl" not in sys.modules:
    sys.modules["ssl"] = None  # type: ignore[assignment]  # as where Python was built without it
    import asyncio  # noqa: F401

    del sys.modules["ssl"]
