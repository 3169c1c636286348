"""The code's texts avoid turns of phrase that have to be read twice: docstrings, comments, help,
settings, errors, log lines, and the dashboard's pages.
"""

import ast
import functools
import inspect
import re
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path

import pytest
from jinja2 import Environment, nodes
from plain_english import found_in, hard_to_read
from statements import statements

ROOT = Path(__file__).parents[2]
PACKAGES = ("hub", "store", "worker")
FOLDERS = (*PACKAGES, "tests")
# A string, or a comment as the group. Python's own tokens take five times as long.
STRING_OR_COMMENT = re.compile(
    r"""\"{3}(?:\\.|[^\\])*?\"{3}|'{3}(?:\\.|[^\\])*?'{3}"""
    r"""|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'|(#[^\n]*)""",
    re.DOTALL,
)
# Strings with fewer words are names, keys and labels.
FEWEST_WORDS = 4
# Items of lists and rows of tables are paragraphs, too.
PARAGRAPH = r"\n\s*\n|\n\s*- |\n\s*\d\. |\n(?=.*\S {2,}\S)"
SQL = re.compile(r"\b(SELECT|UPDATE|INSERT|DELETE|JOIN|CASE|FROM|WHERE|AND|END)\b")
TEMPLATES = sorted((ROOT / "hub" / "ui" / "templates").glob("*.html"))
SCRIPTS = [
    one for one in sorted((ROOT / "hub" / "ui" / "static").glob("*.js")) if ".min." not in one.name
]


def modules(folder: str) -> list[Path]:
    return [path.relative_to(ROOT) for path in sorted((ROOT / folder).rglob("*.py"))]


@functools.cache
def texts(path: Path) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The documentation of a module, and its messages if it is in a package."""
    source = (ROOT / path).read_text(encoding="utf-8")
    tree = ast.parse(source)
    found = messages(tree) if path.parts[0] in PACKAGES else ()
    return documentation(source, tree), tuple(found)


def documentation(source: str, tree: ast.AST) -> tuple[str, ...]:
    """The docstrings and the comments of a module, with the docstrings below attributes."""
    docstrings = [
        inspect.cleandoc(str(getattr(node.value, "value", "")))
        for node in statements(tree)
        if isinstance(node, ast.Expr) and _said(node.value)
    ]
    comments = [one.lstrip("# ") for one in STRING_OR_COMMENT.findall(source) if one]
    return (*docstrings, *comments)


def messages(tree: ast.AST) -> Iterator[str]:
    """The texts of a module that people read. Each value within an f-string counts as one word."""
    nodes = [*ast.walk(tree)]
    pieces = {id(one) for node in nodes for one in _pieces(node)}
    for node in nodes:
        if isinstance(node, ast.JoinedStr):
            text = "".join(
                str(getattr(one, "value", "")) if _said(one) else "X" for one in node.values
            )
        elif _said(node) and id(node) not in pieces:
            text = str(getattr(node, "value", ""))
        else:
            continue
        if len(text.split()) >= FEWEST_WORDS and not SQL.search(text):
            yield from re.split(PARAGRAPH, text)


def _said(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


def _pieces(node: ast.AST) -> list[ast.expr]:
    """The constants within a node that are no separate texts."""
    if isinstance(node, ast.JoinedStr):
        return node.values
    return [node.value] if isinstance(node, ast.Expr) else []


class Texts(HTMLParser):
    """The texts of a page, and its attributes that people read."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, _: str, attrs: list[tuple[str, str | None]]) -> None:
        read = ("title", "placeholder", "aria-label", "alt", "data-label")
        self.found += [value for name, value in attrs if value and name in read]

    def handle_data(self, data: str) -> None:
        self.found.append(data)


def texts_of(template: str) -> list[str]:
    """The texts of a template. Each value within a text counts as one word."""
    parser = Texts()
    parser.feed(re.sub(r"\{\{.*?\}\}", "X", re.sub(r"\{%.*?%\}", "", template, flags=re.DOTALL)))
    return [" ".join(one.split()) for one in parser.found if one.strip()]


def arguments_of(template: str) -> list[str]:
    """The texts in a template's expressions, such as the labels of fields. Each value within a text
    counts as one word.
    """
    tree = Environment(autoescape=True).parse(template)
    joined = [*tree.find_all(nodes.Concat)]
    pieces = {id(piece) for one in joined for piece in one.nodes}
    alone = [one for one in tree.find_all(nodes.Const) if id(one) not in pieces]
    return [
        *("".join(_text(piece) for piece in one.nodes) for one in joined),
        *(one.value for one in alone if isinstance(one.value, str)),
    ]


def _text(piece: nodes.Node) -> str:
    return str(piece.value) if isinstance(piece, nodes.Const) else "X"


def texts_of_script(source: str) -> list[str]:
    """The texts of a script that have several words, and its comments."""
    return [
        one.strip('"`/ ')
        for one in re.findall(r"\"[^\"\n]*\"|`[^`\n]*`|//[^\n]*", source)
        if len(one.split()) >= FEWEST_WORDS
    ]


@pytest.mark.parametrize("folder", FOLDERS)
def test_docstrings_and_comments_use_no_banned_turn(folder: str) -> None:
    found = [
        f"{path}: {text}" for path in modules(folder) for text in texts(path)[0] if found_in(text)
    ]
    assert found == []


@pytest.mark.parametrize("folder", FOLDERS)
def test_sentences_of_docstrings_are_short(folder: str) -> None:
    found = [
        f"{path}: {sentence}"
        for path in modules(folder)
        for text in texts(path)[0]
        for paragraph in re.split(PARAGRAPH, text)
        for sentence in hard_to_read(paragraph)
    ]
    assert found == []


@pytest.mark.parametrize("package", PACKAGES)
def test_messages_help_and_log_lines_are_plain(package: str) -> None:
    found = [
        f"{path}: {sentence}"
        for path in modules(package)
        for text in texts(path)[1]
        for sentence in hard_to_read(text)
    ]
    assert found == []


@pytest.mark.parametrize("template", TEMPLATES, ids=lambda path: path.stem)
def test_the_dashboard_is_plain(template: Path) -> None:
    source = template.read_text(encoding="utf-8")
    texts = [*texts_of(source), *arguments_of(source)]
    assert [one for text in texts for one in hard_to_read(text)] == []


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_scripts_are_plain(script: Path) -> None:
    texts = texts_of_script(script.read_text(encoding="utf-8"))
    assert [one for text in texts for one in hard_to_read(text)] == []


def test_a_banned_turn_is_found() -> None:
    for source in (
        'def f():\n    """What is told."""\n',
        'x: int\n"""Of what it is."""\n',
        "# The key is that of the hub.\n",
    ):
        assert [text for text in documentation(source, ast.parse(source)) if found_in(text)]


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ('raise Invalid("What is given is wrong.")', ["What is given is wrong."]),
        ('log.info(f"The host is told {it} now")', ["The host is told X now"]),
        ('"""A docstring is no message at all."""', []),
        ('db.all("SELECT what is told FROM hook")', []),
        ('key = "two words"', []),
    ],
)
def test_messages_are_found(source: str, said: list[str]) -> None:
    assert list(messages(ast.parse(source))) == said


def test_texts_of_pages_are_found() -> None:
    page = '<p title="Of the hook">{% if x %}The {{ name }} is told{% endif %}</p>'
    assert texts_of(page) == ["Of the hook", "The X is told"]
    call = '{{ parts.field("hook", "Of the hook") }}{{ parts.empty("Who " ~ name ~ " is") }}'
    assert sorted(arguments_of(call)) == ["Of the hook", "Who X is", "hook"]
    assert texts_of_script('show("The hook is told now"); // Of the script it is') == [
        "The hook is told now", "Of the script it is",
    ]  # fmt: skip
