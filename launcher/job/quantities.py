"""Memory and CPU as the seeds write them, and as Kubernetes reads them.

No I/O here. The seeds have K for a thousand, where Kubernetes has k; `m` after memory would be thousandths of a byte.
"""

from __future__ import annotations

import re

LETTERS = "kMGTPE"
_UNITS: dict[str, int] = {
    "": 1,
    "K": 1000,
    **{letter: 1000**power for power, letter in enumerate(LETTERS, 1)},
    **{f"{letter.upper()}i": 1024**power for power, letter in enumerate(LETTERS, 1)},
}
_LEAST = 16 * 2**20  # a process needs more; less is a number whose suffix was forgotten
_MOST = 2**63 - 1  # what Kubernetes can count
MOST_CORES = 1_000_000


class WrongQuantity(ValueError):
    """It is no quantity; the message says what was expected, with an example."""


def memory(given: object) -> int:
    """Return the bytes that are meant."""
    found = re.fullmatch(r"([0-9]{1,20})([A-Za-z]{0,2})", str(given)) if isinstance(given, (str, int)) else None
    if isinstance(given, bool) or not found or found[2] not in _UNITS:
        raise WrongQuantity(
            "expected a whole number with E, P, T, G, M, K or Ei, Pi, Ti, Gi, Mi, Ki after it, such as 4Gi"
        )
    size = int(found[1]) * _UNITS[found[2]]
    if size < _LEAST:
        raise WrongQuantity(f"{size} bytes are too few for any program; expected 16Mi or more, such as 4Gi")
    if size > _MOST:
        raise WrongQuantity("more than Kubernetes can count; expected a size such as 4Gi")
    return size


def memory_text(size: int) -> str:
    """Return bytes as Kubernetes takes them, by the unit that makes the shortest number."""
    whole = [(size // unit, name) for name, unit in _UNITS.items() if size % unit == 0 and name != "K"]
    return "{}{}".format(*min(whole))


def millicores(given: object) -> int:
    """Return the thousandths of a core that are meant."""
    # A float is written as it would be typed: 0.5, 1e-05.
    found = re.fullmatch(r"([0-9]{1,7})(?:\.([0-9]{1,3})0*)?|([0-9]{1,10})m", str(given))
    if isinstance(given, bool) or not isinstance(given, (str, int, float)) or not found:
        raise WrongQuantity("expected a number of cores, such as 2, 0.5 or 500m")
    parts = int(found[3]) if found[3] else int(found[1]) * 1000 + int((found[2] or "0").ljust(3, "0"))
    if not 0 < parts <= MOST_CORES * 1000:
        raise WrongQuantity("expected more than 0 and fewer than a million cores, such as 2")
    return parts


def cores_text(parts: int) -> str:
    """Return thousandths of a core as Kubernetes takes them."""
    return f"{parts}m" if parts % 1000 else str(parts // 1000)
