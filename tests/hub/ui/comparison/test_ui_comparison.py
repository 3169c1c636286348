"""An attempt beside the one before it, with the differences."""

import re
from typing import Any

from dashboard_client import open_dashboard, text_of
from transactions import transaction
from ui_world import World

from hub.ui.comparison.attempts import MOST_LINES, compare


def attempt(**given: Any) -> dict[str, Any]:
    usual = {
        "status_code": 500,
        "error": None,
        "url": "https://a.example/?token=s3cr3t",
        "address": "192.0.2.1:443",
        "duration": 40_000,
        "request_headers": {"webhook-timestamp": "1", "webhook-signature": "x", "Host": "a"},
        "response_headers": {"Server": "it"},
        "response_body": "one\ntwo\nthree",
    }
    return usual | given


def test_nothing_differs() -> None:
    later = {"webhook-timestamp": "2", "webhook-signature": "y", "Host": "a"}
    assert compare(attempt(), attempt(request_headers=later)).is_empty


def test_facts_and_headers_that_differ() -> None:
    after = attempt(
        status_code=401,
        url="https://b.example/?token=other",
        response_headers={"Server": "it", "Retry-After": "9"},
        request_headers={},
    )
    found = [(one.name, one.before, one.after) for one in compare(attempt(), after).facts]
    assert found == [
        ("Outcome", "500", "401"),
        ("URL", "https://a.example/?token=•••", "https://b.example/?token=•••"),
        ("Request: Host", "a", "–"),
        ("Response: Retry-After", "–", "9"),
    ]


def test_lines_that_differ_have_context_and_an_end() -> None:
    long = "\n".join(str(number) for number in range(100))
    found = compare(attempt(response_body=long), attempt(response_body=long.replace("50", "x")))
    assert found.lines == [
        ("same", "48"), ("same", "49"), ("removed", "50"), ("added", "x"), ("same", "51"),
        ("same", "52"),
    ]  # fmt: skip
    endless = "\n".join("y" * 9 for _ in range(10_000))
    found = compare(attempt(response_body=None, response_headers=None), attempt(
        response_body=endless
    ))  # fmt: skip
    assert len(found.lines) == MOST_LINES


async def test_the_second_attempt_is_shown_beside_the_first(world: World) -> None:
    (first,) = world.send(world.failing, "a", status_code=500, response_body="<one>\nsame")

    with transaction(world.store) as db:
        db.execute(
            "INSERT INTO attempt (delivery_id, hook_id, event_id, repo_id, number, redelivery,"
            " started_at, duration, status_code, url, address, timings, request_head,"
            " response_head, response_body) SELECT delivery_id, hook_id, event_id, repo_id, 2, 0,"
            " started_at, duration, 401, url, address, timings, request_head, response_head,"
            " :body FROM attempt",
            body="<two>\nsame",
        )
    async with open_dashboard(world.store, world.seed.token) as browser:
        assert "Compared with" not in await browser.page(f"/ui/deliveries/{first}")
        page = await browser.page(f"/ui/deliveries/{first + 1}")
        assert re.findall(r"<(del|ins)>(.*?)</", page) == [
            ("del", "500"), ("ins", "401"), ("del", "- &lt;one&gt;"), ("ins", "+ &lt;two&gt;"),
        ]  # fmt: skip
        assert "Outcome 500 401" in text_of(page)
