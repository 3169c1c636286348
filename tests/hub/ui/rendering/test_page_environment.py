"""Templates of the dashboard render the same text as in Jinja."""

from typing import Any

import pytest
from jinja2 import Environment, StrictUndefined, UndefinedError
from markupsafe import Markup, escape

from hub.ui.charts.strip import strip_path
from hub.ui.rendering.page_environment import PageEnvironment, escaped

OPTIONS: dict[str, Any] = {"autoescape": True, "undefined": StrictUndefined}


class Link:
    """An object that is HTML by itself."""

    label = "a & b"

    def __html__(self) -> str:
        return "<a>a</a>"

    def shown(self, text: str) -> str:
        return f"<{text}>"


@pytest.mark.parametrize(
    "value",
    [
        "", "plain", "a & b", "<b>", 'say "x"', "it's", ">", "é\u202e", Markup("<b>&</b>"), 0, -7,
        2.5, True, None, [1, "<"], {"a": "&"}, Link(),
    ],
)  # fmt: skip
def test_a_value_is_escaped_as_in_markupsafe(value: object) -> None:
    assert escaped(value) == str(escape(value))


@pytest.mark.parametrize(
    "template",
    [
        "{{ row.name }} {{ row.id }} {{ row['name'] }} {{ row.none }}",
        # A row's member does not hide a method.
        "{% for key, value in row.items() %}{{ key }}={{ value }};{% endfor %}",
        "{{ row.get('name') }}{{ row.absent is defined }}{{ link.label }}{{ link }}",
        "{{ link.shown(row.name) }}{{ row.name ~ link }}{{ [row.name, row.id] | join('<') }}",
        "{% macro one(a, b='<', c=none) %}{{ a }}{{ b }}{{ c }}{% endmacro %}"
        "{{ one(row.name) }}{{ one(1, c='&') }}{{ one(*[1, 2]) }}{{ one(one('>')) }}",
        "{% macro box() %}<p>{{ caller() }}</p>{% endmacro %}{% call box() %}{{ row.name }}"
        "{% endcall %}{% for x in [1, 2] %}{% set y = x %}{{ y }}{{ loop.last }}{% endfor %}",
        "{% macro rest() %}{{ varargs }}{{ kwargs }}{% endmacro %}{{ rest(1, b='<') }}",
        "{% set text %}<i>{{ row.name }}</i>{% endset %}{{ text }}{{ row.name | e }}",
        "{% autoescape false %}{{ row.name }}{{ row.name | e }}{% endautoescape %}",
    ],
)
def test_a_template_renders_the_same_text_as_in_jinja(template: str) -> None:
    row = {"name": "<b> & 'c'", "id": 7, "none": None, "items": "a member", "get": 1}
    values = {"row": row, "link": Link()}
    made = [one(**OPTIONS).from_string(template) for one in (PageEnvironment, Environment)]
    shown, wanted = (one.render(values) for one in made)
    assert shown == wanted


@pytest.mark.parametrize("template", ["{{ row.absent }}", "{{ absent.name }}", "{{ absent() }}"])
def test_a_missing_value_is_an_error(template: str) -> None:
    with pytest.raises(UndefinedError):
        PageEnvironment(**OPTIONS).from_string(template).render(row={"name": "a"})


def test_a_strip_has_a_tall_bar_for_a_success_and_a_short_one_for_a_failure() -> None:
    outcomes = [True, False, True]
    assert strip_path(outcomes, kind=True) == "M0 1h4v18h-4zM12 1h4v18h-4z"
    assert strip_path(outcomes, kind=False) == "M6 11h4v8h-4z"
    assert strip_path([], kind=True) == ""
