"""Authentication and authorization of event senders, batched.

Events often arrive at the same moment, because one commit answered all their senders. All requests
of one pass of the event loop share a few transactions, and equal ones a look-up. Nothing is cached.
"""

import asyncio

from hub.auth import credentials
from hub.auth.credentials import Caller
from hub.http.errors import HubError
from hub.ingest.push_access import repository_to_push
from store import Connection, Row, Store
from store.errors import Missing

Key = tuple[str, str, str]
Authenticated = tuple[Caller, Row]
# With more look-ups, a transaction would be too long for the event loop, and be repeated.
MOST = 100
Future = asyncio.Future[Authenticated]


class AuthBatcher:
    """Finds caller and repository, and checks that the caller may push to it."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._asking: dict[Key, list[Future]] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    async def ask(self, token: str, owner: str, repo: str) -> Authenticated:
        """Return the caller and the repository.

        Raises Unauthenticated, Missing or Forbidden, as for any operation.
        """
        loop = asyncio.get_running_loop()
        if not self._asking:
            task = loop.create_task(self._answer())
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
        # Each request has its own future, so that cancelling one cancels no other.
        future: Future = loop.create_future()
        self._asking.setdefault((token, owner, repo), []).append(future)
        return await future

    async def _answer(self) -> None:
        asking, self._asking = [*self._asking.items()], {}
        for start in range(0, len(asking), MOST):
            await self._answer_some(dict(asking[start : start + MOST]))

    async def _answer_some(self, asking: dict[Key, list[Future]]) -> None:
        try:
            answers = await self._store.read(_check_all, [*asking])
        except Exception as error:  # any error is passed on to the waiting requests
            answers = [error] * len(asking)
        for futures, answer in zip(asking.values(), answers, strict=True):
            for future in futures:
                if future.done():
                    continue
                if isinstance(answer, Exception):
                    future.set_exception(answer)
                else:
                    future.set_result(answer)


def _check_all(db: Connection, keys: list[Key]) -> list[Authenticated | Exception]:
    answers: list[Authenticated | Exception] = []
    for token, owner, name in keys:
        try:
            caller = credentials.authenticate(db, token)
            answers.append((caller, repository_to_push(db, caller, owner, name)))
        except (HubError, Missing) as error:
            answers.append(error)
    return answers
