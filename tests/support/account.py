"""A service account where a pod has it: in a mount namespace of the launcher's own."""

from __future__ import annotations

import subprocess
from functools import cache

import pytest

IN_A_POD = ("unshare", "--mount", "--", "sh", "-c")
LAY_OUT = """
account=/var/run/secrets/kubernetes.io/serviceaccount
mount -t tmpfs none "$(readlink -f /var/run)" && mkdir -p "$account" && cp "$0"/* "$account" && exec "$@"
"""


def need_mounts() -> None:
    """Skip a test where no mount namespace can be made."""
    if _refused():
        pytest.skip("a mount namespace needs root: run as root to have gangs by the API")


@cache
def _refused() -> bool:
    return bool(subprocess.run([*IN_A_POD, "true"], check=False, capture_output=True).returncode)
