"""The desk's watch of objects under a selector, and its retries: for a minute, while the API server is away."""

from __future__ import annotations

import _thread
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

from launcher.desk.errors import Refused, Unreachable
from launcher.kube import kinds, refusals

if TYPE_CHECKING:
    import tenacity

    from launcher.desk.jobs.api_calls import Api
    from launcher.kube.watch import WatchPatience

_Json = dict[str, Any]
_T = TypeVar("_T")

API_PATIENCE = 60.0  # seconds that an API server may be away
LATE = 2.0  # seconds after which a user wants to know what is waited for


def changes(
    api: Api, kind: str, selector: str, *, every: int = 5, tell: Callable[[str], None] = lambda _: None
) -> Generator[tuple[_Json, ...]]:
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


def asked_again(ask: Callable[[], _T], method: str, seconds: float = API_PATIENCE) -> _T:
    """Return the answer to a request; a server that is busy is asked again when it says, for a minute at most."""
    try:
        return ask()
    except Refused as refused:
        if not _busy(refused, method):
            raise
        first = [refused]

    def asked() -> _T:
        if first:  # its pause is to come
            raise first.pop()
        return ask()

    return _patience(lambda _: None, lambda error: _busy(error, method), seconds).retrying()(asked)


def _busy(error: BaseException, method: str) -> bool:
    return isinstance(error, Refused) and refusals.refused_at_first(method, error.status, error.after)


@contextmanager
def late(tell: Callable[[], None], seconds: float = LATE) -> Iterator[None]:
    """Say something where what is done lasts longer.

    No `threading.Timer`: to start one waits under a Python lock, and Ctrl-C at that moment came out as another error.
    """
    done = _thread.allocate_lock()
    done.acquire()

    def watch() -> None:
        if not done.acquire(timeout=seconds):
            tell()

    _thread.start_new_thread(watch, ())
    try:
        yield
    finally:
        done.release()


def patiently(tell: Callable[[str], None]) -> tenacity.Retrying:
    """Return what calls a function again while its error is one that passes, for a minute at most."""
    return _patience(tell).retrying()


def _patience(
    tell: Callable[[str], None], passes: Callable[[BaseException], bool] = worth_another_try,
    seconds: float = API_PATIENCE,
) -> WatchPatience:  # fmt: skip
    import tenacity  # 0.1 s with the API, which help does without

    from launcher.kube.watch import WatchPatience

    def heed(error: BaseException, attempt: int) -> None:
        if attempt == 1:
            tell(f"{getattr(error, 'brief', error)}; trying again for {seconds:.0f} s")

    # Soon, and every 2 s at the latest: a desk is one client, and its user is waiting.
    wait = tenacity.wait_exponential(multiplier=0.2, max=2)
    return WatchPatience(passes=passes, heed=heed, wait=wait, seconds=seconds)
