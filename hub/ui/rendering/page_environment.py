"""An environment of Jinja that takes less time for pages with long tables.

A page of fifty rows escapes thousands of values, reads as many members of rows, and calls hundreds
of macros. Templates have the same syntax and render the same text as in Jinja.
"""

import re
from collections.abc import Callable
from typing import Any

from jinja2 import Environment, Template
from jinja2.runtime import Context, Macro
from markupsafe import Markup, escape

_has_special = re.compile("[&<>'\"]").search
# Jinja reads an attribute of this name, even if a row has a member of this name.
METHODS = frozenset(dir(dict))


def escaped(value: Any) -> str:
    """Return a value as HTML, like `markupsafe.escape`.

    That returns a Markup, and making one takes three times as long. A template joins the texts.
    """
    kind = type(value)
    if kind is Markup or (kind is str and _has_special(value) is None):
        return value  # type: ignore[no-any-return]
    return str(value) if kind is int else escape(value)


class PageTemplate(Template):
    """A template that escapes values with `escaped`."""

    @classmethod
    def from_code(cls, *args: Any, **kwargs: Any) -> Template:
        """Return a template of compiled code."""
        made = super().from_code(*args, **kwargs)
        # The code calls a global function of its own module.
        made.root_render_func.__globals__["escape"] = escaped
        return made


class PageContext(Context):
    """A context that calls a macro without asking whether it is one of other kinds of callables."""

    def call(self, function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
        """Call a function or a macro for a template."""
        if type(function) is not Macro:
            return super().call(function, *args, **kwargs)
        kwargs.pop("_block_vars", None)
        kwargs.pop("_loop_vars", None)
        return function(self.eval_ctx, *args, **kwargs)


class PageEnvironment(Environment):
    """An environment whose templates are PageTemplates."""

    template_class = PageTemplate
    context_class = PageContext

    def getattr(self, obj: Any, attribute: str) -> Any:
        """Return an attribute, or else a member."""
        # Rows have members alone, and an error for each would take longer than the rest.
        if type(obj) is dict and attribute in obj and attribute not in METHODS:
            return obj[attribute]
        try:
            return getattr(obj, attribute)
        except AttributeError:
            return super().getattr(obj, attribute)
