"""The desk's watch of objects under a selector, and its retries: for a minute, while the API server is away."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from launcher.desk.errors import Refused, Unreachable
from launcher.kube import kinds, refusals

if TYPE_CHECKING:
    import tenacity

    from launcher.desk.jobs.api_calls import Api
    from launcher.kube.watch import WatchPatience

_Json = dict[str, Any]

_PATIENCE = 60.0  # seconds that an API server may be away


def changes(
    api: Api, kind: str, selector: str, *, every: int = 5, tell: Callable[[str], None] = lambda _: None
) -> Iterator[tuple[_Json, ...]]:
    """Yield the objects whenever one may have changed, and after so many seconds at the latest; without end."""
    from launcher.desk.jobs.api_calls import as_problems
    from launcher.kube.watch import Watch

    path = kinds.path(kind, api.namespace)
    watch: Watch[_Json] = Watch(
        transport=api.transport, path=path, selector=selector, read=dict, seconds=every, resumes=False
    )
    with as_problems():
        yield from watch.changes(_patience(tell))


def worth_another_try(error: BaseException) -> bool:
    """Return whether trying again may help, for an error of the desk or of `kube`."""
    mine = isinstance(error, Unreachable) or (isinstance(error, Refused) and refusals.busy(error.status))
    return mine or refusals.may_pass(error)


def patiently(tell: Callable[[str], None]) -> tenacity.Retrying:
    """Return what calls a function again while its error is one that passes, for a minute at most."""
    return _patience(tell).retrying()


def _patience(tell: Callable[[str], None]) -> WatchPatience:
    import tenacity  # 0.1 s with the API, which help does without

    from launcher.kube.watch import WatchPatience

    def heed(error: BaseException, attempt: int) -> None:
        if attempt == 1:
            tell(f"{error}; trying again for {_PATIENCE:.0f} s")

    # Soon, and every 2 s at the latest: a desk is one client, and its user is waiting.
    wait = tenacity.wait_exponential(multiplier=0.2, max=2)
    return WatchPatience(passes=worth_another_try, heed=heed, wait=wait, seconds=_PATIENCE)
