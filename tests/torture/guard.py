"""The worker never connects to a special-purpose address, in a URL or behind a host name."""

import asyncio
from ipaddress import IPv4Address, IPv6Address, ip_network
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.torture.fault_outside import dialled
from tests.torture.finding import Trial
from tests.torture.special import V4, V6, spelled_v4, spelled_v6
from worker.http.addresses import Refused
from worker.http.guard import Guard
from worker.http.transport import Transport

HEAD = b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n"
PUBLIC = "93.184.215.14"
PORTS = ("", ":80", ":443", ":8080")


def _spelled(address: IPv4Address | IPv6Address) -> st.SearchStrategy[str]:
    spell: Any = spelled_v4 if isinstance(address, IPv4Address) else spelled_v6
    return st.sampled_from(spell(address))


ADDRESSES = st.sampled_from([ip_network(text) for text in (*V4, *V6)]).flatmap(
    lambda network: st.ip_addresses(network=network)
)


class Attempts:
    """Sends requests to forbidden addresses, and counts the outcomes."""

    def __init__(self) -> None:
        self.answers: list[list[str]] = []
        self.refused_early = 0
        self.refused_late = 0
        self.let_through: list[str] = []

    async def resolve(self, host: str, port: int) -> list[str]:
        return self.answers.pop(0) if self.answers else [PUBLIC]

    async def to(self, url: str, answers: list[list[str]]) -> None:
        """Send to a URL. If its host is a name, each resolution returns the next of `answers`."""
        self.answers = answers
        guard = Guard(resolver=self.resolve)
        transport = Transport(guard)
        try:
            answer = await transport.post(guard.endpoint(url), HEAD, b"{}", deadline=5)
        except Refused:
            self.refused_early += 1
        else:
            self._late(url, answer.error or "")
        finally:
            await transport.close()
            guard.close()

    def _late(self, url: str, error: str) -> None:
        self.refused_late += 1
        if not error.startswith(("guard: ", "resolve: ")):
            self.let_through.append(f"{url}: {error}")


async def torture(trial: Trial) -> None:
    """Try spellings of addresses as the host of a URL, and addresses behind a host name."""
    attempts = Attempts()
    with dialled() as addresses:
        await asyncio.to_thread(_by_spelling, trial, attempts)
        await asyncio.to_thread(_by_name, trial, attempts)
    tried = attempts.refused_early + attempts.refused_late
    trial.find("addresses tried", "some", f"{tried:,}", tried > 0)
    trial.none("let through", attempts.let_through)
    trial.none("addresses to which a socket was connected", addresses)


def _by_spelling(trial: Trial, attempts: Attempts) -> None:
    @settings(_settings(trial))
    @given(ADDRESSES.flatmap(_spelled), st.sampled_from(PORTS), st.sampled_from(["http", "https"]))
    def one(host: str, port: str, scheme: str) -> None:
        port = "" if host.endswith(":80") else port
        runner.run(attempts.to(f"{scheme}://{host}{port}/", []))

    with asyncio.Runner() as runner:
        one()


def _by_name(trial: Trial, attempts: Attempts) -> None:
    @settings(_settings(trial))
    @given(ADDRESSES, st.sampled_from(["alone", "after a public one", "the second time"]))
    def one(address: IPv4Address | IPv6Address, how: str) -> None:
        answers = {
            "alone": [[str(address)]],
            "after a public one": [[PUBLIC, str(address)]],
            "the second time": [[str(address)], [PUBLIC]],
        }[how]
        runner.run(attempts.to("http://rebind.example/", answers))

    with asyncio.Runner() as runner:
        one()


def _settings(trial: Trial) -> settings:
    return settings(
        max_examples=trial.rounds,
        database=None,
        deadline=None,
        derandomize=trial.seed == 0,
        suppress_health_check=list(HealthCheck),
    )
