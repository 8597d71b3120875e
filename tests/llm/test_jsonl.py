"""Reading what models write."""

from __future__ import annotations

import json
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphrag_rdf.errors import LlmError
from graphrag_rdf.llm.jsonl import Bad, Section, parse_items, parse_sections

SECTIONS = {
    "entities": Section(("entities",), ("name",)),
    "relations": Section(("relations", "relationships"), ("predicate",)),
}
A, B = {"name": "A"}, {"name": "B"}

scalars = st.none() | st.booleans() | st.integers(-(10**9), 10**9) | st.text(max_size=20)
objects = st.dictionaries(
    st.text(min_size=1, max_size=8), scalars | st.lists(scalars, max_size=3), min_size=1, max_size=4
)
prose = st.text(st.characters(exclude_characters="{}[]<", codec="utf-8"), max_size=40)


@pytest.mark.parametrize(
    ("text", "items", "reasons"),
    [
        ('[{"name":"A"},{"name":"B"}]', [A, B], []),
        ('{"name":"A"}\n{"name":"B"}\n', [A, B], []),
        ('Here you are:\n```json\n[{"name":"A"}]\n```\nAnything else?', [A], []),
        ('As [1] and {this} say: {"name":"A"} (see [2, 3]).', [A], []),
        ('[{"name":"A",},{"name":"B"},]', [A, B], []),
        ("{“name”: “A”}", [A], []),
        ('{"name":"A"}{"name":"A"} {"name":"B"}', [A, B], []),
        ('"[{\\"name\\": \\"A\\"}]"', [A], []),
        ('\ufeff{"name":"A"}', [A], []),
        ('{"name":"A"}\n{"name": oops, sorry\n{"name":"B"}', [A, B], None),
        ('[{"name":"A"},{"name":"B"},{"name":"C', [A, B], ["cut_off"]),
        (
            '{"name":"A","n":NaN,"m":-Infinity,"k":1e999}',
            [{"name": "A", "n": None, "m": None, "k": None}],
            [],
        ),
        ("{'name': 'A'}", [A], ["repaired"]),
        ('{"name": "say "no" to it"}', [{"name": 'say "no" to it'}], ["repaired"]),
        ('{"name": "two\nlines"}', [{"name": "two\nlines"}], []),
        ('{"name": "a, ]", }', [{"name": "a, ]"}], []),
        ("nothing here", [], []),
        ("", [], []),
    ],
)
def test_items(text, items, reasons):
    found, bad = parse_items(text)
    if reasons is None:
        assert [item for item in found if item in items] == items
        assert bad
    else:
        assert found == items
        assert [piece.reason for piece in bad] == reasons


def test_a_bad_line_costs_only_itself():
    found, bad = parse_items('{"name":"A"}\n{broken: "\\u12"]\n{"name":"B"}')
    assert A in found
    assert B in found
    assert len(bad) == 1


@pytest.mark.parametrize(
    "text",
    [
        '{"entities":[{"name":"A"}],"relations":[{"predicate":"p"}]}',
        '{"entities":[{"name":"A"},{"name":"A"}],"relationships":[{"predicate":"p"}]}',
        '{"result":{"entities":[{"name":"A"}],"relations":[{"predicate":"p"}]}}',
        '{"name":"A"}\n{"predicate":"p"}',
        '{"entities":[{"name":"A"}]}\n\n{"relations":[{"predicate":"p"}]}',
        '[{"entities":[{"name":"A"}]},{"relations":{"predicate":"p"}}]',
        '{"entities":[{"name":"A"}],"relations":[{"predicate":"p"},{"predic',
    ],
)
def test_sections(text):
    found, _ = parse_sections(text, SECTIONS)
    assert found == {"entities": [A], "relations": [{"predicate": "p"}]}


def test_empty_sections_are_an_answer():
    assert parse_sections('{"entities": [], "relations": null}', SECTIONS) == (
        {"entities": [], "relations": []},
        [],
    )


def test_what_belongs_nowhere_is_told():
    found, bad = parse_sections('[{"name":"A"}, {"colour":"red"}, 3]', SECTIONS)
    assert found["entities"] == [A]
    assert bad == [Bad("unknown_form", '{"colour": "red"}'), Bad("unknown_form", "3")]


@pytest.mark.parametrize("text", ["", "I cannot help with that.", "[1, 2]", '{"error": "no"}'])
def test_no_section_at_all(text):
    with pytest.raises(LlmError) as caught:
        parse_sections(text, SECTIONS)
    assert caught.value.kind == "unparsable"


@given(st.text(st.sampled_from('{}[]":, \n\\antrue0.e-“”`<>') | st.characters()))
def test_never_raises(text):
    items, bad = parse_items(text)
    json.dumps(items)
    assert all(piece.text for piece in bad)


@given(
    st.lists(objects, min_size=1, max_size=5),
    prose,
    prose,
    st.sampled_from(["array", "lines", "pretty", "fenced", "fenced lines"]),
    st.booleans(),
)
def test_valid_items_survive_any_wrapping(items, before, after, form, ascii_only):
    dumps = lambda value, indent=None: json.dumps(value, indent=indent, ensure_ascii=ascii_only)  # noqa: E731
    body = {
        "array": dumps(items),
        "lines": "\n".join(map(dumps, items)),
        "pretty": dumps(items, 2),
        "fenced": f"```json\n{dumps(items)}\n```",
        "fenced lines": "```\n" + "\n".join(map(dumps, items)) + "\n```",
    }[form]
    found, bad = parse_items(f"{before}\n{body}\n{after}")
    unique = [item for index, item in enumerate(items) if dumps(item) not in map(dumps, items[:index])]
    assert [dumps(item) for item in found] == [dumps(item) for item in unique] or _equal(found, unique)
    assert not bad


def _equal(left, right):
    """Equal up to the order of keys, by which equal objects are told."""
    key = lambda item: json.dumps(item, sort_keys=True)  # noqa: E731
    return list(dict.fromkeys(map(key, left))) == list(dict.fromkeys(map(key, right)))


@given(st.lists(st.fixed_dictionaries({"name": st.text(max_size=20)}), min_size=1, max_size=6), st.data())
def test_a_cut_answer_keeps_its_whole_items(entities, data):
    """Cut anywhere inside the list: what is found are the first items, unchanged."""
    head = '{"entities": ['
    body = ", ".join(json.dumps(entity, ensure_ascii=False) for entity in entities)
    cut = data.draw(st.integers(0, len(body)))
    text = head + body[:cut]
    try:
        found = parse_sections(text, SECTIONS)[0]["entities"]
    except LlmError:
        found = []
    whole = sum(
        len(body[:cut]) >= len(", ".join(json.dumps(e, ensure_ascii=False) for e in entities[: n + 1]))
        for n in range(len(entities))
    )
    if whole:
        unique = list({json.dumps(entity): entity for entity in entities[:whole]}.values())
        assert found == unique


@pytest.mark.parametrize(
    "text",
    [
        "[" * 100_000,
        '{"a":' * 50_000,
        '[{"a":' * 20_000,
        '{"' * 30_000,
        "{:}" * 30_000,
        '"{' * 50_000,
        "{'" * 9_000,
    ],
)
def test_nonsense_is_given_up_quickly(text):
    start = time.thread_time()
    parse_items(text)
    assert time.thread_time() - start < 2.0
