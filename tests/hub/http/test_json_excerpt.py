"""The beginning of a body as people read it."""

import json
from collections.abc import Iterator

import pytest

from hub.http import json_excerpt
from hub.http.json_excerpt import MOST_PARSED, excerpt


@pytest.mark.parametrize(
    ("body", "most", "shown"),
    [
        (b'{"a":[1,"\xc3\xbc"]}', 100, ('{\n  "a": [\n    1,\n    "ü"\n  ]\n}', False)),
        (b'{"a":[1,2]}', 12, ('{\n  "a": [\n ', True)),
        (b"no JSON", 7, ("no JSON", False)),
        (b"no JSON", 6, ("no JSO", True)),
        ("üü".encode(), 1, ("ü", True)),
        (b"\xff", 1, ("\ufffd", False)),
        (b"", 1, ("", False)),
    ],
)
def test_json_has_indents_and_another_body_is_unchanged(
    body: bytes, most: int, shown: tuple[str, bool]
) -> None:
    assert excerpt(body, most) == shown


def test_json_that_is_nested_too_deeply_or_is_too_large_is_unchanged() -> None:
    deep = b"[" * 1020 + b"]" * 1020
    assert excerpt(deep, 10_000_000) == (deep.decode(), False)
    assert excerpt(b"[" + b"1," * (MOST_PARSED // 2) + b"1]", 4) == ("[1,1", True)


class CountingEncoder(json.JSONEncoder):
    """An encoder that counts the characters it has made."""

    made = 0

    def iterencode(self, o: object, _one_shot: bool = False) -> Iterator[str]:
        for part in super().iterencode(o, _one_shot):
            self.made += len(part)
            yield part


def test_the_text_is_made_no_further_than_it_is_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    encoder = CountingEncoder(indent=2)
    monkeypatch.setattr(json_excerpt, "_ENCODER", encoder)
    # The whole text would have 2 million characters. A part has 1,800 at most.
    body = b"[" * 900 + b"0," * 250 + b"0" + b"]" * 900
    assert excerpt(body, 1000).is_cut
    assert 1000 < encoder.made < 3000
