"""The optional conditions of a query."""

from store.database.paging import conditions


def test_a_condition_has_a_value_or_is_left_out() -> None:
    wanted = {
        "a.id = :id": 7,
        "a.private = :private": 0,
        "a.name = :name": None,
        "(a.state = :state OR a.end = :state)": "open",
        "a.listed = 1": True,
        "a.hidden = 1": False,
    }
    where, given = conditions(wanted)
    assert where == (
        "a.id = :id AND a.private = :private AND (a.state = :state OR a.end = :state)"
        " AND a.listed = 1"
    )
    assert given == {"id": 7, "private": 0, "state": "open"}


def test_the_caller_has_the_values_of_a_condition_that_is_true() -> None:
    assert conditions({"a.owner_id = :viewer_id": True}) == ("a.owner_id = :viewer_id", {})


def test_without_a_condition_every_row_is_in_the_list() -> None:
    assert conditions({"a.id = :id": None}) == ("1 = 1", {})
