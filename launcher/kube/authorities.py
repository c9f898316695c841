"""Which authorities prove a server whose login names none: those that this machine trusts, else the package's own."""

from __future__ import annotations

import ssl
from collections.abc import Callable
from pathlib import Path


def fallback(paths: Callable[[], ssl.DefaultVerifyPaths] = ssl.get_default_verify_paths) -> str | None:
    """Return certifi's file where OpenSSL's own place has no certificate, as in images without them; else nothing."""
    found = paths()
    if found.cafile or (found.capath and any(Path(found.capath).iterdir())):
        return None
    import certifi  # here alone: on most machines it is not needed

    return certifi.where()
