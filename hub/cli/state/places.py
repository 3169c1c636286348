"""The line of a place in a state document, and suggestions for unknown keys."""

import re
from collections.abc import Iterator, Sequence
from typing import Any, get_args

import yaml
from pydantic import BaseModel

from hub.cli.console.similar_names import similar_names
from hub.cli.state.strict_yaml import Strict

# The place that begins a message, such as `hooks[0].url: ...`.
PLACE = re.compile(r"\w+(?:\[\d+\]|\.\w+)*(?=: )")
PART = re.compile(r"\[(\d+)\]|(\w+)")
LINE = re.compile(r"line (\d+): ")


def located(name: str, text: str, message: str) -> str:
    """Return a message with the file's name and the line number before each of its lines."""
    lines = message.splitlines()
    # A message without a place may be about a document that is too long to read.
    root = _root(text) if any(map(PLACE.match, lines)) else None
    return "\n".join(f"{name}{_line(root, line)}" for line in lines)


def _root(text: str) -> yaml.Node | None:
    try:
        return Strict(text).get_single_node()
    except (ValueError, yaml.YAMLError, RecursionError):
        return None


def _line(root: yaml.Node | None, message: str) -> str:
    said, place = LINE.match(message), PLACE.match(message)
    if said is not None:
        return f":{said[1]}: {message[said.end() :]}"
    if root is None or place is None:
        return f": {message}"
    parts = [int(index) if index else key for index, key in PART.findall(place[0])]
    return f":{_node_at(root, parts).start_mark.line + 1}: {message}"


def _node_at(node: yaml.Node, parts: Sequence[str | int]) -> yaml.Node:
    """Return the node of a place, or the innermost node around it.

    The node of a member is the one of its key.
    """
    for number, part in enumerate(parts):
        found = next((each for name, each in _children(node) if name == part), None)
        if found is None:
            return node
        key, node = found
        if number == len(parts) - 1:
            return key
    return node


def _children(node: yaml.Node) -> Iterator[tuple[str | int, tuple[yaml.Node, yaml.Node]]]:
    if isinstance(node, yaml.MappingNode):
        yield from ((key.value, (key, value)) for key, value in node.value)
    elif isinstance(node, yaml.SequenceNode):
        yield from ((index, (each, each)) for index, each in enumerate(node.value))


def meant(model: type[BaseModel], loc: Sequence[str | int]) -> str:
    """Return a question with the names that are similar to the unknown one, or ""."""
    *around, name = loc
    for part in around:
        if isinstance(part, str) and part in model.model_fields:
            inner = _model_in(model.model_fields[part].annotation)
            if inner is None:
                return ""
            model = inner
    close = similar_names(str(name), model.model_fields, most=2)
    return f"; did you mean {close}?" if close else ""


def _model_in(annotation: Any) -> type[BaseModel] | None:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    inner = (_model_in(part) for part in get_args(annotation))
    return next((one for one in inner if one is not None), None)
