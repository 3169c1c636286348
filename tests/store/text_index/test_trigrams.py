"""Signatures of texts: a text that contains another one has all bits of the other."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from store.text_index import trigrams

TEXTS = st.text(min_size=trigrams.LENGTH, max_size=40)


@given(TEXTS, st.text(max_size=20), st.text(max_size=20), st.booleans())
def test_a_text_is_never_missed(wanted: str, before: str, after: str, escaped: bool) -> None:
    forms = trigrams.forms(wanted)
    few = trigrams.bits_of_forms(forms)
    for text in (wanted, wanted.upper(), wanted.lower()):
        whole = json.dumps([before + text + after], ensure_ascii=escaped)
        bits = trigrams.bits(whole)
        if few is not None and trigrams.contains(whole, forms):
            assert any(one <= bits for one in few)


@given(st.text(max_size=2 * trigrams.LENGTH))
def test_every_form_needs_a_bit(text: str) -> None:
    forms = trigrams.forms(text)
    short = any(len(form) < trigrams.LENGTH for form in forms)
    assert (trigrams.bits_of_forms(forms) is None) == short


@pytest.mark.parametrize("separators", [(",", ":"), (", ", ": ")])
@pytest.mark.parametrize("escaped", [True, False])
def test_a_part_of_json_is_found_however_it_is_spaced(
    separators: tuple[str, str], escaped: bool
) -> None:
    document = {"ref": "Glöckner, {now}: one", "id": 5, "owner": {"names": ["a", "b"]}}
    # A field of one line drops the ends of lines.
    shown = json.dumps(document, indent=2, ensure_ascii=False).replace("\n", "")
    body = json.dumps(document, separators=separators, ensure_ascii=escaped)
    for part in (shown, '"ref": "GLÖCKNER, {no', '"id" : 5,"owner"', 'ner": {   "names": ["a",'):
        forms = trigrams.forms(part)
        assert trigrams.contains(body, forms), part
        few = trigrams.bits_of_forms(forms)
        assert few is not None
        assert any(one <= trigrams.bits(body) for one in few)
    for part in ('"ref": "Glöckner {now}', '"id": 6', '"id": 5, "names"'):
        assert not trigrams.contains(body, trigrams.forms(part)), part


def test_a_text_of_many_spaces_has_its_forms_at_once() -> None:
    # If each space began anew, this would take longer than the tests may.
    many = " " * 400_000
    assert trigrams.forms(f'"a"{many}b') == {f'"a"{many}b', f'\\"a\\"{many}b'}
    assert '"a":b,c' in trigrams.forms(f'"a"{many}:{many}b{many},{many}c')


def test_a_text_without_the_words_lacks_bits() -> None:
    (wanted,) = trigrams.bits_of_forms({"a rare bell"}) or []
    assert not wanted <= trigrams.bits("nothing of interest, but a bell and a rare flower")
    assert wanted <= trigrams.bits("... a rare bell ...")


def test_a_long_text_has_few_bits_to_compare_and_a_longest_one_has_all() -> None:
    text = "".join(map(chr, range(0x4E00, 0x4E00 + 1000)))
    (few,) = trigrams.bits_of_forms({text}) or []
    assert len(few) <= trigrams.COMPARED
    assert few <= trigrams.bits(text)
    assert trigrams.bits("x" * (trigrams.LONGEST + 1)) == frozenset(range(trigrams.BITS))
