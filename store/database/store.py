"""The store: runs functions over a `Connection`, each in a transaction."""

import contextlib
import time
from collections.abc import Callable, Coroutine, Iterator
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar

from store.clock import Clock
from store.database.connection import Connection, Engine, ReadBudgetExceeded, Session
from store.database.metrics import StoreMetrics
from store.database.notifications import StoreNotifier, WorkerNotifier
from store.database.wakeups import AnnouncingNotifier, Wakeups
from store.database.writing.condition import DatabaseCondition
from store.database.writing.retries import retried
from store.database.writing.write_group import Call, WriteJob
from store.database.writing.writer import Writer
from store.errors import Unavailable

if TYPE_CHECKING:
    import asyncio
    from concurrent.futures import ThreadPoolExecutor

P = ParamSpec("P")
T = TypeVar("T")
I = TypeVar("I")  # noqa: E741 - the item of a batch
READERS = 4
APART_SECONDS = 10.0


class Store:
    """One database, and the ways to run functions on it.

    Use `read`, `write`, `write_relaxed` and `batch` on the event loop, `read_sync` and `write_sync`
    in commands and tests.
    """

    def __init__(
        self, engine: Callable[[Callable[[], StoreNotifier]], Engine], clock: Clock | None = None
    ) -> None:
        self.engine = engine(lambda: self._announcing)
        self.clock = clock or self.engine.clock
        self.wakeups = Wakeups()
        """The requests in this process that wait for deliveries of a hook."""
        self.notifier = self.engine.remote_notifier()
        self.condition = DatabaseCondition()
        self.metrics = StoreMetrics()
        self.metrics.damaged.read = lambda: int(bool(self.condition.damage))
        self.audit_hook: Callable[[Connection], None] | None = None
        """Called at the end of each transaction of `write_sync`, to record who ran it."""
        self._apart_until: dict[str, float] = {}
        self._writer: Writer | None = None
        self._readers: ThreadPoolExecutor | None = None
        self._listening: asyncio.Task[Callable[[], None]] | None = None
        self._spare: list[Session] = []
        self._closed = False

    @property
    def notifier(self) -> WorkerNotifier:
        """The notifier for workers. A worker of this process puts its own here."""
        return self._notifier

    @notifier.setter
    def notifier(self, notifier: WorkerNotifier) -> None:
        self._notifier = notifier
        self._announcing = AnnouncingNotifier(notifier, self.wakeups)

    def read(
        self, function: Callable[Concatenate[Connection, P], T], *args: P.args, **kwargs: P.kwargs
    ) -> Coroutine[Any, Any, T]:
        """Run a function that only reads. It may run twice, so it must have no other effect."""
        return self.read_of("", function, *args, **kwargs)

    async def read_of(
        self,
        kind: str,
        function: Callable[Concatenate[Connection, P], T],
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> T:
        """Run a function like `read`, as one of a kind, such as all requests for one page.

        If one takes too long for the event loop's thread, it is repeated on another thread. For
        APART_SECONDS, others of its kind run there at once. The names of all kinds are kept.
        Raises Unavailable if the store is closed.
        """
        if self._closed:
            raise Unavailable("the store is closed")
        if self.engine.inline and time.monotonic() >= self._apart_until.get(kind, 0.0):
            try:
                return self._read(lambda db: function(db, *args, **kwargs), bounded=True)
            except ReadBudgetExceeded:
                if kind:
                    self._apart_until[kind] = time.monotonic() + APART_SECONDS
        return await self._read_apart(function, *args, **kwargs)

    async def _read_apart(
        self, function: Callable[Concatenate[Connection, P], T], *args: P.args, **kwargs: P.kwargs
    ) -> T:
        # Commands import this module, and read in their own thread.
        import asyncio
        from concurrent.futures import ThreadPoolExecutor

        loop = asyncio.get_running_loop()
        if self._readers is None:
            self._readers = ThreadPoolExecutor(READERS, thread_name_prefix="tocsin-reader")
        try:
            reading = loop.run_in_executor(
                self._readers, lambda: self._read(lambda db: function(db, *args, **kwargs))
            )
        except RuntimeError as error:
            # The executor wants a further thread even if others will soon be free.
            raise Unavailable(f"nothing can be read: {error}") from error
        return await reading

    def _read(self, function: Callable[[Connection], T], *, bounded: bool = False) -> T:
        # Threads share sessions: a new one reads the schema and the first pages again.
        session = self._kept_or_new()
        try:
            return self._transact(session, False, function, bounded=bounded)
        finally:
            self._spare.append(session)

    async def write(
        self, function: Callable[Concatenate[Connection, P], T], *args: P.args, **kwargs: P.kwargs
    ) -> T:
        """Run a function that writes, and return after its commit is on disk.

        Raises Busy or Unavailable.
        """
        result: T = await self._written(lambda db: function(db, *args, **kwargs), ())
        return result

    async def write_relaxed(
        self, function: Callable[Concatenate[Connection, P], T], *args: P.args, **kwargs: P.kwargs
    ) -> T:
        """Run a function that writes, like `write`, if a power loss may undo it.

        That is so for work that is then repeated: outcomes, renewals of leases, and claims of the
        only worker. A group with nothing else is committed without waiting for the disk.
        """
        result: T = await self._written(lambda db: function(db, *args, **kwargs), (), durable=False)
        return result

    async def batch(
        self,
        function: Callable[[Connection, list[I]], list[Any]],
        item: I,
        *,
        weight: int = 0,
    ) -> Any:
        """Run `function` on a list of items that includes this one. Return this item's result.

        If the result is an Exception, it is raised to the caller of that item. `weight` is the
        item's size in memory, in bytes.
        """
        return await self._written(function, (item,), batched=True, weight=weight)

    def _written(
        self, function: Callable[..., Any], arguments: tuple[Any, ...], **how: Any
    ) -> "asyncio.Future[Any]":
        if self._writer is None:
            self._writer = Writer(self._kept_or_new, self.clock, self.metrics, self.condition)
        future = self._writer.loop.create_future()
        self._writer.submit(WriteJob(function, arguments, future, **how))
        return future

    @property
    def pending_durable(self) -> int:
        """Return how many writes of this process wait for this machine's disk."""
        # For a database server this is 0: deliveries in this process do not delay the server's
        # commits, and the server gets large batches.
        if self._writer is None or not self.engine.embedded:
            return 0
        return self._writer.pending_durable

    def write_sync(
        self, function: Callable[Concatenate[Connection, P], T], *args: P.args, **kwargs: P.kwargs
    ) -> T:
        """Run a function that writes, in this thread. It is safe beside a running daemon.

        If a transaction of another process conflicts with it, it runs again.
        """

        def witnessed(db: Connection) -> T:
            result = function(db, *args, **kwargs)
            if self.audit_hook is not None:
                self.audit_hook(db)
            return result

        result, finished = retried(lambda: self._done(witnessed))
        for call in finished:
            call()
        return result

    def _done(self, function: Callable[[Connection], T]) -> tuple[T, list[Call]]:
        with self.borrow_session() as session:
            try:
                result = self._transact(session, True, function)
            except Exception as error:
                if not session.is_conflict(error):
                    raise
                result = self._transact(session, True, function)
            return result, list(session.finished)

    def read_sync(
        self, function: Callable[Concatenate[Connection, P], T], *args: P.args, **kwargs: P.kwargs
    ) -> T:
        """Run a function that only reads, in this thread."""
        with self.borrow_session() as session:
            return self._transact(session, False, lambda db: function(db, *args, **kwargs))

    @contextlib.contextmanager
    def borrow_session(self) -> Iterator[Session]:
        """Lend a session for one transaction. If nothing fails, it is kept for the next one."""
        session = self._kept_or_new()
        try:
            yield session
        except BaseException:
            session.close()
            raise
        self._spare.append(session)

    def _kept_or_new(self) -> Session:
        """Return a session that nobody uses. It may be called on any thread."""
        try:
            return self._spare.pop()
        except IndexError:
            return self.engine.session()

    def _transact(
        self,
        session: Session,
        write: bool,
        function: Callable[[Connection], T],
        *,
        bounded: bool = False,
    ) -> T:
        session.begin(self.clock.now(), write=write, bounded=bounded)
        try:
            result = function(session.db)
            session.commit()
        except BaseException as error:
            session.rollback()
            self.condition.note(error)
            raise
        return result

    async def listen(self, called: Callable[[list[int]], None]) -> Callable[[], None]:
        """Call `called` with the hooks for which other processes announce due work.

        An empty list means that any hook may have some. Return the function that ends it.
        """
        return await self.engine.listen(called)

    async def listen_for_waiters(self) -> None:
        """Wake the waiters of this process by announcements of others, until `close`.

        The first call begins to listen.
        """
        import asyncio

        if self._listening is None:
            self._listening = asyncio.create_task(
                self.engine.listen_for_waiters(self._wake_waiters)
            )
        await asyncio.shield(self._listening)

    def _wake_waiters(self, hook_ids: list[int]) -> None:
        if hook_ids:
            self.wakeups.wake(hook_ids)
        else:
            self.wakeups.wake_all()

    async def close(self) -> None:
        """Commit what is queued, then close all connections."""
        if self._listening is not None:
            (await self._listening)()
            self._listening = None
        if self._writer is not None:
            await self._writer.close()
        self._closed = True
        if self._readers is not None:
            self._readers.shutdown()
        self.shut()

    def abort(self) -> None:
        """Stop as if the process had been killed: the engine is closed, nobody is answered, and
        nothing is committed after this returns. `close` still has to follow.
        """
        self.engine.close()
        if self._writer is not None:
            self._writer.abort()

    def shut(self) -> None:
        """Close all connections, if nothing was written through the event loop."""
        for session in self._spare:
            session.close()
        self._spare.clear()
        self.engine.close()
