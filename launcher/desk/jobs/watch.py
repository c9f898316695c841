"""Objects of one kind under a selector, again whenever one changes: list, then watch from there."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from launcher.desk.errors import Refused, Unreachable

if TYPE_CHECKING:
    import tenacity

    from launcher.desk.jobs.api_calls import Api

Json = dict[str, Any]

PATIENCE = 60.0  # seconds that an API server may be away


def changes(
    api: Api, kind: str, selector: str, *, every: int = 5, tell: Callable[[str], None] = lambda _: None
) -> Iterator[tuple[Json, ...]]:
    """Yield the objects whenever one may have changed, and after so many seconds at the latest; without end."""
    known: dict[str, Json] = {}
    version = ""
    while True:
        version = version or patiently(tell)(_listed, api, kind, selector, known)
        yield tuple(known.values())
        begun = time.monotonic()
        try:
            for event in api.watch(kind, selector, version, every):
                version = _entered(event, known)
                if not version:
                    break
                yield tuple(known.values())
        except Unreachable:
            version = ""
        except Refused as refused:
            if refused.status != 410 and not passes(refused):
                raise
            version = ""
        if not version or time.monotonic() - begun < 0.2:
            time.sleep(1)  # a server that closes at once is not asked 1,000 times a second


def passes(error: BaseException) -> bool:
    """Return whether the same may go well soon: the API server is away, or has too much to do."""
    busy = isinstance(error, Refused) and (error.status == 429 or error.status >= 500)
    return busy or isinstance(error, Unreachable)


def patiently(tell: Callable[[str], None]) -> tenacity.Retrying:
    """Return what calls a function again while its error is one that passes, for a minute at most."""
    import tenacity  # 20 ms, which help does without

    def before_sleep(state: tenacity.RetryCallState) -> None:
        if state.attempt_number == 1 and state.outcome:
            tell(f"{state.outcome.exception()}; trying again for {PATIENCE:.0f} s")

    return tenacity.Retrying(
        retry=tenacity.retry_if_exception(passes),
        stop=tenacity.stop_after_delay(PATIENCE),
        wait=tenacity.wait_exponential(multiplier=0.2, max=5),
        before_sleep=before_sleep,
        reraise=True,
    )


def _listed(api: Api, kind: str, selector: str, known: dict[str, Json]) -> str:
    found = api.page(kind, selector)
    known.clear()
    known.update((each["metadata"]["name"], each) for each in found.get("items") or ())
    return str(found["metadata"]["resourceVersion"])


def _entered(event: Json, known: dict[str, Json]) -> str:
    """Enter an event, and return the version to go on from, nothing where that is forgotten."""
    changed = event.get("object") or {}
    metadata = changed.get("metadata") or {}
    if event.get("type") == "ERROR":
        return ""
    if event.get("type") == "DELETED":
        known.pop(metadata.get("name", ""), None)
    elif event.get("type") in ("ADDED", "MODIFIED"):
        known[metadata["name"]] = changed
    return str(metadata.get("resourceVersion", ""))
