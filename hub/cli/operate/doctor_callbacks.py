"""The checks of `tocsin doctor` on the hosts of callbacks."""

import asyncio
from collections.abc import Iterator

from hub.cli.operate.diagnosis import Finding, good, warning
from hub.cli.service.configuration import Settings
from hub.ui import formatting
from store import Store
from store.monitoring import diagnosis
from worker.http.addresses import Refused
from worker.http.callback_guard import make_guard
from worker.http.endpoint import Endpoint
from worker.http.guard import Guard

# The maximum of hooks to check, of hosts to look up, and of concurrent lookups; seconds for all.
MOST_HOOKS, MOST_HOSTS, AT_ONCE, PATIENCE = 5_000, 100, 16, 10.0
SHOWN = 5


def check_callbacks(store: Store, settings: Settings) -> Iterator[Finding]:
    """Check that the callbacks of active hooks resolve to addresses that settings allow."""
    about = "callbacks"
    found = store.read_sync(diagnosis.callbacks, MOST_HOOKS)
    guard = make_guard(settings)
    try:
        problems, asked = asyncio.run(_looked_up(guard, found))
    finally:
        guard.close()
    for problem in problems[:SHOWN]:
        yield warning(about, problem, "tell its owner, or `tocsin hook disable HOOK_ID`")
    if len(problems) > SHOWN:
        yield warning(about, f"and {len(problems) - SHOWN} more of that kind", "tocsin hook list")
    if not problems:
        hosts = formatting.pluralize(asked, "host")
        yield good(about, f"looked up {hosts} of {formatting.pluralize(len(found), 'hook')}")


async def _looked_up(guard: Guard, found: list[tuple[int, str]]) -> tuple[list[str], int]:
    """Return the problems, and the number of hosts that were looked up."""
    problems: list[str] = []
    hosts: dict[str, tuple[int, Endpoint]] = {}
    for hook_id, url in found:
        try:
            endpoint = guard.endpoint(url)
        except Refused as error:
            problems.append(f"hook {hook_id}: {error}")
            continue
        hosts.setdefault(endpoint.host, (hook_id, endpoint))
    chosen = list(hosts.values())[:MOST_HOSTS]
    turns = asyncio.Semaphore(AT_ONCE)
    ends = asyncio.get_running_loop().time() + PATIENCE
    answers = await asyncio.gather(*(_resolved(guard, each, turns, ends) for _, each in chosen))
    said = zip(chosen, answers, strict=True)
    problems += [f"hook {hook_id}: {answer}" for (hook_id, _), answer in said if answer]
    return problems, len(chosen)


async def _resolved(
    guard: Guard, endpoint: Endpoint, turns: asyncio.Semaphore, ends: float
) -> str | None:
    try:
        async with asyncio.timeout_at(ends), turns:
            await guard.resolve(endpoint)
    except Refused as error:
        return str(error)
    except TimeoutError:
        return f"{endpoint.host} was not looked up in time"
    except OSError as error:
        return f"{endpoint.host} cannot be looked up: {error.strerror or error}"
    return None
