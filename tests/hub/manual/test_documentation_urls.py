"""`documentation_url` of every error, at every endpoint, leads to a heading of the manual."""

from collections.abc import Iterator

import httpx
import pytest
from assertions import is_in_manual

from hub.http.error_headings import operation_place, place_of
from hub.http.errors import STATUSES, HubError, MovedPermanently, NotServed
from hub.openapi.not_served import FAMILIES
from hub.openapi.other_endpoints import OTHER_ENDPOINTS
from hub.operations import OPERATIONS
from store.errors import StoreError

PLACES = ["", *(operation_place(one.id) for one in OPERATIONS)]
PLACES += [operation_place(door.name) for door in OTHER_ENDPOINTS.values()]


def kinds_below(base: type[Exception]) -> Iterator[type[Exception]]:
    for kind in base.__subclasses__():
        yield kind
        yield from kinds_below(kind)


KINDS = [*kinds_below(HubError), *kinds_below(StoreError), MovedPermanently, RuntimeError]


def test_all_kinds_of_errors_are_known() -> None:
    assert set(STATUSES) <= set(KINDS)


@pytest.mark.parametrize("kind", [one for one in KINDS if one is not NotServed])
def test_an_error_leads_to_a_heading_wherever_it_happens(kind: type[Exception]) -> None:
    error = kind.__new__(kind)
    lost = [place for place in PLACES if not is_in_manual(place_of(error, place))]
    assert lost == []


@pytest.mark.parametrize("family", FAMILIES, ids=lambda one: one.title)
def test_a_path_that_is_not_served_leads_to_its_family(family) -> None:
    assert is_in_manual(place_of(NotServed(family.place)))


async def test_the_url_is_served_with_its_heading(client: httpx.AsyncClient) -> None:
    answer = await client.get("/repos/octo/nothing")
    url, _, anchor = answer.json()["documentation_url"].partition("#")
    page = await client.get(url)
    assert page.status_code == 200
    assert f'id="{anchor}"' in page.text


@pytest.mark.parametrize("place", ["/nothing", "/reference/errors#nothing", "/concepts/"])
def test_a_place_that_is_not_there_is_noticed(place: str) -> None:
    assert not is_in_manual(place)
