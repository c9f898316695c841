"""The network between pods: serves this launcher's own status and reads the peers', on one thread with an event loop.

Touches no file, so that a volume that hangs never looks like a dead pod. Other threads publish, watch and look.
"""

from __future__ import annotations

import asyncio
import errno
import ipaddress
import socket
import threading
import time
from collections.abc import Callable, Coroutine, Iterable, Mapping
from contextlib import suppress
from functools import partial

from launcher.pod.descriptors import take_all
from launcher.pod.gang.protocol import lease
from launcher.pod.gang.protocol.messages import Status, Who
from launcher.pod.gang.protocol.state import Heard, Limits
from launcher.pod.gang.status import metrics, pages
from launcher.pod.gang.status.client import Asking, Poller
from launcher.pod.gang.status.metrics import Facts
from launcher.pod.gang.status.page_maker import KeptReply, PageMaker
from launcher.pod.gang.status.pages import Reply
from launcher.pod.gang.status.peer_states import PeerStates, normal
from launcher.pod.gang.status.publisher import Fresh, Publisher
from launcher.pod.gang.status.rooms import files_for, most_members, rooms_for
from launcher.pod.gang.status.server import Asked, Patience, Server
from launcher.pod.gang.store.recent_events import RecentEvents
from launcher.pod.log import Tell
from launcher.pod.outcome import SettingsError

BACKLOG = 1024  # beyond it a peer that connects loses a second
RECEIVING = 16 * 1024  # of each connection the kernel holds no more: questions are short


class Statuses:
    """The thread, and what other threads may ask of it; `leader` is the address that `/gang` names elsewhere.

    The page at `/` is made of `events`. It has places for so many `members`, beside those for probes and strangers.
    `waiting` is what the programs here wait for. `stranger` is told, on this thread, from where a boot asks that is
    no member's. `away` says for how long the main thread has stood still: after a lease no status is given.
    `fresh` gives a published status, each time that it is asked for, what has changed in it without being news.
    """

    def __init__(
        self,
        own: Who,
        *,
        bind: str,
        port: int,
        members: int,
        limits: Limits,
        nudge: Callable[[], None],
        tell: Tell,
        facts: Callable[[], Facts] = Facts,
        events: RecentEvents | None = None,
        fresh: Fresh = lambda status: status,
        away: Callable[[float], float] = lambda now: 0.0,
        patience: Patience | None = None,
    ) -> None:
        self.leader = ""
        self.waiting = ""
        self.stranger: Callable[[str], None] = lambda address: None
        self._own = own
        self._at = (bind, port)
        self._tell = tell
        self._facts = facts
        self._page_maker = PageMaker(events or RecentEvents())
        self._gang_reply = KeptReply()
        self._away = away
        self._limits = limits
        self._peers = PeerStates(nudge)
        self._publisher = Publisher(Status(who=own), limits, self._peers, fresh)
        self._members = members
        self._server = Server(
            self._answer, member=self._peers.member, rooms=rooms_for(members), patience=patience or Patience()
        )
        self._asking = Asking(source=own.address, boot=own.boot, port=port, wait=limits.wait)
        self._watched: frozenset[str] = frozenset()
        self._pollers: dict[str, asyncio.Task[None]] = {}
        self._loop = asyncio.new_event_loop()
        self._loop.set_exception_handler(self._trouble)
        self._thread = threading.Thread(target=self._run, name="statuses", daemon=True)
        self._listeners: tuple[socket.socket, ...] = ()
        self._servers: list[asyncio.Server] = []
        self._tasks: set[asyncio.Task[None]] = set()
        self._troubles: set[str] = set()

    def start(self) -> None:
        """Bind the port and start; a port that cannot be bound is a mistake of the settings, or too large a gang."""
        try:
            _hold(self._members, take_all())
            self._listeners = _listen(*self._at)
        except SettingsError:
            self._loop.close()
            raise
        self._thread.start()

    def publish(self, status: Status) -> None:
        """Say this from now on; readers that wait for news are answered at once, unless only progress changed."""
        if self._publisher.take(status):
            self._call(self._publisher.wake)

    def watch(self, addresses: Iterable[str]) -> None:
        """Poll exactly these peers from now on, never the own address, and forget all others."""
        watched = frozenset(addresses)
        if watched == self._watched:
            return
        self._watched = watched
        own = normal(self._own.address)
        wanted = frozenset(each for each in watched if normal(each) != own)
        self._peers.keep(wanted)
        self._call(partial(self._poll, wanted))

    def heard(self) -> Mapping[str, Heard]:
        """Return what is known of each watched peer, by address."""
        return self._peers.snapshot()

    def linger(self, seconds: float) -> None:
        """Wait until every launcher that asked of late has read the last words, or as long as given."""
        until = time.monotonic() + seconds
        reading = self._publisher.heard_out(until)
        try:
            asyncio.run_coroutine_threadsafe(reading, self._loop).result(seconds + 1)
        except RuntimeError:  # there is no loop, where the port could not be bound
            reading.close()
        except TimeoutError:
            pass

    def _call(self, what: Callable[[], object]) -> None:
        with suppress(RuntimeError):  # there is no loop, where the port could not be bound
            self._loop.call_soon_threadsafe(what)

    def _run(self) -> None:
        """Serve until the process ends."""
        self._do(self._serve())
        self._loop.run_forever()

    async def _serve(self) -> None:
        def meet(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            self._do(self._server.meet(reader, writer))

        begin = partial(asyncio.start_server, meet, limit=RECEIVING, backlog=BACKLOG)
        self._servers = [await begin(sock=each) for each in self._listeners]

    def _poll(self, wanted: frozenset[str]) -> None:
        for address in self._pollers.keys() - wanted:
            self._pollers.pop(address).cancel()
        for address in wanted - self._pollers.keys():
            poller = Poller(address, self._asking, self._peers, self._tell)
            self._pollers[address] = self._do(poller.run())

    def _do(self, what: Coroutine[None, None, None]) -> asyncio.Task[None]:
        """Start a task in the background; what it raises is told."""
        task = self._loop.create_task(what)
        self._tasks.add(task)  # the loop itself does not hold it
        task.add_done_callback(self._done)
        return task

    def _done(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()):
            self._trouble(self._loop, {"message": "a task ended", "exception": error})

    async def _answer(self, asked: Asked) -> Reply:
        match asked.path:
            case "/status":
                if asked.boot and not self._peers.member(asked.remote, asked.boot):
                    self.stranger(asked.remote)
                reply = await self._publisher.answer(asked)
                return self._standing() or reply
            case "/members":
                return self._publisher.members(asked)
            case "/healthz":
                return self._standing() or pages.sentence_reply(200, "ok")
        return await self._page(asked.path)

    async def _page(self, path: str) -> Reply:
        """Return a page on what is heard of all, copied for it alone: a thousand members do not ask for it."""
        own, heard = self._publisher.now, self._peers.snapshot()
        match path:
            case "/readyz":
                return pages.ready(own, pages.word_of(own, heard), self.waiting)
            case "/":
                return await self._front_page(own, heard)
            case "/gang":
                return self._gang_reply.of(partial(self._gang, own, heard))
            case "/metrics":
                # Beside the loop: the first time it imports packages for a tenth of a second.
                word = pages.word_of(own, heard)
                page = await asyncio.to_thread(metrics.metrics_page, own, word, self._facts(), heard)
                return Reply(code=200, body=page, kind=metrics.KIND)
        return pages.sentence_reply(404, "expected /, /status, /healthz, /readyz, /metrics or /gang")

    def _gang(self, own: Status, heard: Mapping[str, Heard]) -> Reply:
        facts = self._facts()
        return pages.gang_reply(own, heard, self.leader, time.monotonic(), facts.ratios, facts.failures)

    async def _front_page(self, own: Status, heard: Mapping[str, Heard]) -> Reply:
        if own.word is None:
            return pages.elsewhere(self.leader)
        facts = self._facts()
        members = partial(pages.gang_lines, own, heard, time.monotonic(), facts.ratios)
        return await self._page_maker.reply(facts.about, own.word, members)

    def _standing(self) -> Reply | None:
        away = self._away(time.monotonic())
        return pages.still_reply(away) if lease.stands_still(away, self._limits) else None

    def _trouble(self, _loop: asyncio.AbstractEventLoop, context: dict[str, object]) -> None:
        """Tell an unexpected error, each kind once."""
        kind = repr(type(context.get("exception")))
        if kind not in self._troubles:
            self._troubles.add(kind)
            self._tell("statuses_trouble", why=f"{context.get('message')}: {context.get('exception')!r}")


def _hold(members: int, files: float) -> None:
    """Refuse a gang whose leader, which any of its launchers may become, could not hold all connections."""
    if (needed := files_for(members)) > files:
        most = most_members(files)
        raise SettingsError(
            [
                f"a gang of {members} pods needs {needed} open files in its leader, and this process may have "
                f"{files}: expected a hard limit (ulimit -Hn) of {needed}, or at most {most} pods"
            ]
        )


def _listen(bind: str, port: int) -> tuple[socket.socket, ...]:
    """Return listening sockets: at one address and localhost, or at all of IPv4 and of IPv6 where there is one."""
    places = [bind] if bind else ["0.0.0.0", *(["::"] if socket.has_dualstack_ipv6() else [])]  # noqa: S104
    listeners: list[socket.socket] = []
    for place in places:
        try:
            listeners.append(_listener(place, port))
        except OSError as error:
            for each in listeners:
                each.close()
            raise SettingsError([_problem(place, port, error)]) from None
    if bind and not _is_loopback(bind):
        # For `kubectl port-forward`. Where several launchers share a machine, another one may have it.
        with suppress(OSError):
            listeners.append(_listener("127.0.0.1", port))
    return tuple(listeners)


def _listener(place: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in place else socket.AF_INET
    listener = socket.create_server((place, port), family=family, backlog=BACKLOG)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, RECEIVING)  # what comes in inherits it
    return listener


def _is_loopback(address: str) -> bool:
    try:
        return ipaddress.ip_address(address).is_loopback
    except ValueError:
        return False


def _problem(place: str, port: int, error: OSError) -> str:
    if error.errno == errno.EADDRINUSE:
        return f"LAUNCHER_STATUS_PORT={port} is taken at {place}: expected a free port"
    return f"LAUNCHER_STATUS_PORT={port} cannot be bound at {place}: {error.strerror}"
