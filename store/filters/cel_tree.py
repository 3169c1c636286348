"""The tree of a compiled CEL expression.

The library shows no tree, but it serializes one, as a message of Protocol Buffers: `CheckedExpr` in
`cel/expr/checked.proto` and `Expr` in `cel/expr/syntax.proto` of the language's definition.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

VARINT, FIXED64, LENGTH_DELIMITED = 0, 1, 2
Fields = dict[int, list[Any]]


@dataclass(frozen=True, slots=True)
class Node:
    id: int


@dataclass(frozen=True, slots=True)
class Constant(Node):
    text: str | None
    """The constant's value if it is a text, else None."""


@dataclass(frozen=True, slots=True)
class Name(Node):
    name: str


@dataclass(frozen=True, slots=True)
class Select(Node):
    """A member of an object, or the question whether there is one."""

    owner: Node


@dataclass(frozen=True, slots=True)
class Call(Node):
    """A function or an operator."""

    function: str
    operands: list[Node]


@dataclass(frozen=True, slots=True)
class Values(Node):
    """A list or a map that the expression makes."""

    elements: list[Node]


@dataclass(frozen=True, slots=True)
class Macro(Node):
    """`exists`, `all` or `exists_one`."""

    variable: str
    range: Node
    body: Node


@dataclass(frozen=True, slots=True)
class Tree:
    root: Node
    offsets: dict[int, int]
    """Where each node begins in the source."""


def read(serialized: bytes) -> Tree:
    checked = _fields(_one(_fields(serialized), 2))
    positions = map(_fields, _fields(_one(checked, 5))[4])
    offsets = {_one(entry, 1, 0): _one(entry, 2, 0) for entry in positions}
    return Tree(_node(_one(checked, 4)), offsets)


def _node(message: bytes) -> Node:
    fields = _fields(message)
    node_id = _one(fields, 2, 0)
    for number, build in _KINDS.items():
        if number in fields:
            return build(node_id, _fields(_one(fields, number)))
    raise ValueError("an unknown kind of CEL expression")


def _constant(node_id: int, fields: Fields) -> Node:
    return Constant(node_id, _one(fields, 6).decode() if 6 in fields else None)


def _name(node_id: int, fields: Fields) -> Node:
    return Name(node_id, _one(fields, 1).decode())


def _member(node_id: int, fields: Fields) -> Node:
    return Select(node_id, _node(_one(fields, 1)))


def _call(node_id: int, fields: Fields) -> Node:
    return Call(node_id, _one(fields, 2).decode(), list(map(_node, fields[1] + fields[3])))


def _list(node_id: int, fields: Fields) -> Node:
    return Values(node_id, list(map(_node, fields[1])))


def _map(node_id: int, fields: Fields) -> Node:
    entries = map(_fields, fields[2])
    return Values(node_id, [_node(one) for entry in entries for one in entry[3] + entry[4]])


def _macro(node_id: int, fields: Fields) -> Node:
    step = _node(_one(fields, 6))
    if not isinstance(step, Call):
        raise ValueError("an unknown CEL macro")
    # The step of `exists_one` is `body ? result + 1 : result`; the others' is `result || body`.
    body = step.operands[0 if step.function == "_?_:_" else 1]
    return Macro(node_id, _one(fields, 1).decode(), _node(_one(fields, 2)), body)


_KINDS: dict[int, Callable[[int, Fields], Node]] = {
    3: _constant, 4: _name, 5: _member, 6: _call, 7: _list, 8: _map, 9: _macro,
}  # fmt: skip


def _one(fields: Fields, number: int, default: Any = b"") -> Any:
    return fields[number][-1] if number in fields else default


def _fields(message: bytes) -> Fields:
    """Return the values of a message's fields by number."""
    found: Fields = defaultdict(list)
    rest = iter(message)
    for first in rest:
        key = _varint(rest, first)
        found[key >> 3].append(_value(rest, key & 7))
    return found


def _value(rest: Iterator[int], kind: int) -> Any:
    if kind == VARINT:
        return _varint(rest, next(rest))
    size = _varint(rest, next(rest)) if kind == LENGTH_DELIMITED else 8 if kind == FIXED64 else 4
    return bytes(_first(rest, size))


def _first(rest: Iterator[int], count: int) -> Iterable[int]:
    return (next(rest) for _ in range(count))


def _varint(rest: Iterator[int], first: int) -> int:
    value, shift, byte = first & 0x7F, 7, first
    while byte & 0x80:
        byte = next(rest)
        value |= (byte & 0x7F) << shift
        shift += 7
    return value
