"""Facts from rows: which column is the subject, what cells are, and what is left out."""

from __future__ import annotations

import json
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphrag_rdf.documents.chunk import chunk_text
from graphrag_rdf.documents.readers import read_bytes
from graphrag_rdf.documents.tables import rows_in, sentences_in
from graphrag_rdf.errors import DocumentError
from graphrag_rdf.extract.model import Extraction, RelationCandidate
from graphrag_rdf.extract.names import RuleSettings
from graphrag_rdf.extract.table_columns import Column, literal_of, predicate_of, read_columns
from graphrag_rdf.extract.table_rows import Row
from graphrag_rdf.wings.rules.extractor import RuleExtractor

XSD = "http://www.w3.org/2001/XMLSchema#"
HEAD = "name,born,occupation,born_in\n"
ROWS = (
    "Ada Keller,1815-12-10,mathematician,London\nCharles Babb,1791-12-26,engineer,London\n"
    "Bo Strand,1901,painter,Oslo\n"
)


def extractions(
    text: str, suffix: str = ".csv", *, size: int = 2000, settings: RuleSettings | None = None
) -> list[tuple[str, Extraction]]:
    parsed = read_bytes(text.encode(), f"x{suffix}")
    readings = [read_columns(parsed.text, table, parsed.language) for table in parsed.tables]
    rules = RuleExtractor(settings)
    found = []
    for chunk in chunk_text(parsed.text, size=size, language=parsed.language, tables=parsed.tables):
        rows = [Row(part, readings[part.table]) for part in rows_in(parsed, chunk)]
        sentences = sentences_in(parsed, chunk)
        one = rules.extract(chunk.text, sentences, language=parsed.language, title="X", topic="X", rows=rows)
        places = {(s.offset, s.length) for s in sentences}
        for relation in one.relations:
            assert relation.span is not None
            offset, length = relation.span
            assert chunk.text[offset : offset + length] == relation.quote
            assert relation.span in places or not rows
        for mention in one.mentions:
            assert 0 <= mention.offset <= mention.offset + mention.length <= len(chunk.text)
        found.append((chunk.text, one))
    return found


def facts(text: str, suffix: str = ".csv", **options: int) -> set[tuple[str, str, str, str | None]]:
    return {fact for _, one in extractions(text, suffix, **options) for fact in map(_fact, one.relations)}


def _fact(r: RelationCandidate) -> tuple[str, str, str, str | None]:
    kind = "entity" if r.object_is_entity else (r.datatype or "").removeprefix(XSD) or None
    return r.subject, r.predicate, r.object, kind


def reasons(text: str, suffix: str = ".csv") -> set[str]:
    return {item.reason for _, one in extractions(text, suffix) for item in one.rejected}


def test_rows_are_facts() -> None:
    assert facts(HEAD + ROWS) == {
        ("Ada Keller", "born", "1815-12-10", "date"),
        ("Ada Keller", "occupation", "mathematician", None),
        ("Ada Keller", "born in", "London", "entity"),
        ("Charles Babb", "born", "1791-12-26", "date"),
        ("Charles Babb", "occupation", "engineer", None),
        ("Charles Babb", "born in", "London", "entity"),
        ("Bo Strand", "born", "1901", "gYear"),
        ("Bo Strand", "occupation", "painter", None),
        ("Bo Strand", "born in", "Oslo", "entity"),
    }


def test_names_in_rows_are_mentioned_at_their_characters() -> None:
    ((text, one),) = extractions(HEAD + ROWS)
    places = [(text[m.offset : m.offset + m.length], m.name) for m in one.mentions]
    assert places[:2] == [("Ada Keller", "Ada Keller"), ("London", "London")]
    assert not any(name in {"name", "born", "mathematician"} for _, name in places)


def test_no_language_is_missed_where_rows_are_read() -> None:
    assert all(one.language_warning is None for _, one in extractions(HEAD + ROWS))


@pytest.mark.parametrize(
    ("name", "predicate"),
    [
        ("born_in", "born in"),
        ("bornIn", "born in"),
        ("Born in:", "born in"),
        ("GDP", "gdp"),
        ("#", ""),
        ("__", ""),
    ],
)
def test_names_of_columns_are_predicates_in_words(name: str, predicate: str) -> None:
    assert predicate_of(name) == predicate


@pytest.mark.parametrize(
    ("head", "rows", "subject"),
    [
        ("id,date,name,city", ["1,1990-01-02,Ada Keller,Oslo", "2,1991-03-04,Bo Strand,Oslo"], "Ada Keller"),
        ("city,name,age", ["Oslo,ada keller,5", "Bergen,bo strand,6"], "ada keller"),
        ("code,height", ["A-17,5.5", "B-18,6.5"], "A-17"),
        ("first_name,last_name,age", ["Ada,Keller,5", "Ada,Strand,6"], "Ada Keller"),
        ("nr,what,cost", ["17,the new lamp,5", "18,the old lamp,6"], "the new lamp"),
        ("Employee,Manager", ["Ada Keller,Bo Strand", "Cy Moor,Bo Strand", "Di Orr,Bo Strand"], "Ada Keller"),
    ],
)  # fmt: skip
def test_the_column_that_names_the_subject(head: str, rows: list[str], subject: str) -> None:
    assert subject in {fact[0] for fact in facts("\n".join([head, *rows]) + "\n")}


def test_without_such_a_column_nothing_is_made_up() -> None:
    text = "country,year,population\n" + "".join(
        f"{country},{year},{year * 3}\n" for country in ("France", "Spain") for year in range(1990, 2000)
    )
    assert facts(text) == set()
    assert "no_key_column" in reasons(text)
    assert facts(ROWS) == set()
    assert "no_column_names" in reasons(ROWS)


@pytest.mark.parametrize(
    "text",
    [
        "Item,2021,2022\nRevenue,100,120\nNet income,10,\n",
        ",2021,2022\nRevenue,100,120\nNet income,10,-\n",
        "Year,Revenue,Net income\n2021,100,10\n2022,120,n/a\n",
    ],
)
def test_periods_are_predicates_whichever_way_the_table_lies(text: str) -> None:
    assert facts(text) == {
        ("Revenue", "2021", "100", "integer"),
        ("Revenue", "2022", "120", "integer"),
        ("Net income", "2021", "10", "integer"),
    }


def test_what_happens_to_stand_beside_a_year_does_not_name_it() -> None:
    text = "Year,Population,Mayor\n2019,5000,Mona Ferrer\n2020,5100,Ben Arkle\n"
    text += "2021,,\n2022,,\n2023,,\nTotal,10100,\n"
    assert facts(text) == {
        ("Population", "2019", "5000", "integer"),
        ("Population", "2020", "5100", "integer"),
        ("Mayor", "2019", "Mona Ferrer", "entity"),
        ("Mayor", "2020", "Ben Arkle", "entity"),
    }
    assert reasons(text) == {"no_period"}
    named = "Year,Name,Height\n1999,Skerry Light,31\n2001,Brae Light,28\n"
    assert {fact[0] for fact in facts(named)} == {"Skerry Light", "Brae Light"}


def test_a_row_that_stands_twice_over_time_is_ambiguous() -> None:
    text = "Item,2021,2022\nBasic,1,2\nDiluted,3,4\nRevenue,5,6\nBasic,7,8\n"
    assert {fact[0] for fact in facts(text)} == {"Diluted", "Revenue"}
    assert reasons(text) == {"ambiguous_row"}


def test_names_of_columns_from_two_lines() -> None:
    text = "Region,2021,,2022,\n,Sales,Staff,Sales,Staff\nNorth,1,2,3,4\nSouth,5,6,7,8\n"
    assert {fact[:3] for fact in facts(text) if fact[0] == "North"} == {
        ("North", "sales 2021", "1"), ("North", "staff 2021", "2"),
        ("North", "sales 2022", "3"), ("North", "staff 2022", "4"),
    }  # fmt: skip


def test_units_stay_with_the_numbers() -> None:
    text = "Product,Weight [kg],Cost (EUR m),Made in\nTide gauge,2.5,1,Oslo\nLamp,about 3,2,Kelm\n"
    text += "Old bell,4,3,Kelm\n"
    assert {fact for fact in facts(text) if fact[0] != "Old bell"} == {
        ("Tide gauge", "weight (kg)", "2.5", "decimal"), ("Tide gauge", "cost (EUR m)", "1", "integer"),
        ("Tide gauge", "made in", "Oslo", "entity"), ("Lamp", "weight (kg)", "about 3", None),
        ("Lamp", "cost (EUR m)", "2", "integer"), ("Lamp", "made in", "Kelm", "entity"),
    }  # fmt: skip


def test_the_unit_that_a_caption_tells_holds_for_what_it_does_not_leave_out() -> None:
    text = '"Income (EUR in millions, except share data)",,\nItem,2021,2022\nRevenue,100,120\n'
    text += "Earnings per share,2.5,3\nShares,5,6\nMargin in %,7,8\n"
    assert {fact[:2] for fact in facts(text) if fact[1].startswith("2021")} == {
        ("Revenue", "2021 (EUR in millions)"),
        ("Earnings per share", "2021"),
        ("Shares", "2021"),
        ("Margin in %", "2021"),
    }


@pytest.mark.parametrize("nothing", ["", "-", "n/a", "N/A", "null", "—", "?"])
def test_nothing_is_said_where_nothing_stands(nothing: str) -> None:
    text = f"name,age,city\nAda Keller,5,{nothing}\nBo Strand,6,Oslo\nCy Moor,7,Rome\n"
    assert {fact for fact in facts(text) if fact[0] == "Ada Keller"} == {
        ("Ada Keller", "age", "5", "integer")
    }


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("12", ("12", "integer")), ("-12", ("-12", "integer")), ("+3.50", ("+3.50", "decimal")),
        ("1,250", ("1250", "integer")), ("1,250.75", ("1250.75", "decimal")), ("007", None),
        ("12345678901234567", None),
        ("true", ("true", "boolean")), ("FALSE", ("false", "boolean")), ("yes", None),
        ("https://a.example/b", ("https://a.example/b", "anyURI")), ("javascript:alert(1)", None),
        ("1990-02-30", None), ("1990-02-03", ("1990-02-03", "date")), ("3 May 1936", ("1936-05-03", "date")),
        ("1990-02", ("1990-02", "gYearMonth")),
        ("2024-01-03T10:00:00Z", ("2024-01-03T10:00:00Z", "dateTime")),
        ("10/12/1815", None), ("12 km", None), ("40%", None), ("0123", None), ("3,5", None),
        ("£5", ("5", "integer")), ("(1,250)", ("-1250", "integer")), ("$(2.50)", ("-2.50", "decimal")),
        ("(1,250", None), ("(a)", None),
    ],
)  # fmt: skip
def test_values(value: str, expected: tuple[str, str] | None) -> None:
    found = literal_of(value, Column("x", "value"), "en")
    assert found == (expected and (expected[0], XSD + expected[1]))


def test_commas_before_decimals_are_known_from_their_column() -> None:
    rows = "name;price;weight\nTide gauge;1.250,50;1.250\nLamp;3,5;1.5\n"
    assert {fact[1:3] for fact in facts(rows)} == {
        ("price", "1250.50"), ("price", "3.5"), ("weight", "1.250"), ("weight", "1.5"),
    }  # fmt: skip


def test_years_are_years_only_where_all_of_a_column_are() -> None:
    text = "name,opened,amount,price\nAda Keller,1901,1250,1999\nBo Strand,1911,85,1750\n"
    kinds = {fact[1]: fact[3] for fact in facts(text)}
    assert kinds == {"opened": "gYear", "amount": "integer", "price": "integer"}


def test_types_and_aliases() -> None:
    text = "name,type,alias\nSkerry Light,Lighthouse,The Candle; Old Nell\nBrae Quarry,Quarry,\n"
    ((_, one),) = extractions(text)
    known = {entity.name: entity for entity in one.entities}
    assert known["Skerry Light"].type == "Lighthouse"
    assert known["Skerry Light"].aliases == ("The Candle", "Old Nell")
    assert one.relations == ()
    ((_, one),) = extractions(text, settings=RuleSettings(entity_types=("quarry",)))
    assert {entity.type for entity in one.entities} == {None, "quarry"}


def test_long_texts_are_no_objects_but_name_things() -> None:
    note = "She was taught by Magnus Marwick for many years, and later on taught many others in turn at Kelm."
    ((_, one),) = extractions(f'name,age,note\nAda Keller,5,"{note}"\nBo Strand,6,x y\n')
    assert ("Ada Keller", "age", "5", "integer") in set(map(_fact, one.relations))
    assert not any(relation.object == note for relation in one.relations)
    assert "Magnus Marwick" in {mention.name for mention in one.mentions}


def test_noise_and_settings() -> None:
    text = "name,knows\nAda Keller,Ada Keller\nthe,Bo Strand\nBo Strand,Cy Moor\n"
    assert facts(text) == {("Bo Strand", "knows", "Cy Moor", "entity")}
    assert {"same_subject_and_object", "stop_word"} <= reasons(text)
    sure = RuleSettings(min_confidence=0.95)
    assert not any(one.relations for _, one in extractions(HEAD + ROWS, settings=sure))
    few = extractions(HEAD + ROWS, settings=RuleSettings(max_facts=2))
    assert [len(one.relations) for _, one in few] == [6]
    assert "too_many" in {item.reason for _, one in few for item in one.rejected}


def test_sums_are_no_things() -> None:
    text = "product,units\nTide gauge,12\nLamp,7\nTotal,19\n"
    assert {fact[0] for fact in facts(text)} == {"Tide gauge", "Lamp"}
    assert reasons(text) == {"total"}


def test_a_row_with_too_many_cells_is_told_and_not_guessed() -> None:
    text = (
        "name,city,age\nAda Keller,Oslo,5\nBo, Strand,Oslo,6\nCy Moor,Rome,7\nDi Orr,Rome,8\nEd Yew,Rome,9\n"
    )
    assert {fact[0] for fact in facts(text)} == {"Ada Keller", "Cy Moor", "Di Orr", "Ed Yew"}
    assert "cells_unlike_columns" in reasons(text)


def test_prose_and_tables_of_one_text() -> None:
    text = (
        "# The club\n\nAda Keller was born in London in 1815. She founded the Tide Club in 1840.\n\n"
        "| Member | Joined | Home |\n|---|---|---|\n"
        "| Ada Keller | 1840 | London |\n| Bo Strand | 1901 | Oslo |\n"
    )
    found = facts(text, ".md")
    assert ("Bo Strand", "home", "Oslo", "entity") in found
    assert any(predicate == "was born in" for _, predicate, _, _ in found)


def test_cells_of_a_row_longer_than_a_passage_say_what_they_say_in_one() -> None:
    names = [f"column_{n}" for n in range(60)]
    text = "name," + ",".join(names) + "\n"
    for who in ("Ada Keller", "Bo Strand"):
        text += who + "," + ",".join(f"Place{n} {who.split()[1]}" for n in range(60)) + "\n"
    whole = facts(text, size=10_000)
    assert len(whole) == 120
    assert facts(text, size=500) == whole


TABLES = st.lists(
    st.tuples(
        st.sampled_from(["Ada Keller", "Bo Strand", "Cy Moor", "Di Orr", "Ed Yew", "Flo Ash"]),
        st.sampled_from(["1815", "12", "3.5", "", "n/a", "12 km"]),
        st.sampled_from(["Oslo", "the sea", "Kelm on Sea", '"a, b"', '"two\nlines"', "x" * 90]),
    ),
    min_size=2,
    max_size=30,
)


@given(TABLES, st.integers(60, 300), st.integers(60, 300))
def test_facts_do_not_depend_on_where_passages_end(
    rows: list[tuple[str, str, str]], one: int, other: int
) -> None:
    text = "name,count,place\n" + "".join(",".join(row) + "\n" for row in rows)
    assert facts(text, size=one) == facts(text, size=other)


@given(st.text(max_size=200), st.text(max_size=60))
def test_no_text_breaks_the_reading(body: str, head: str) -> None:
    text = f"name,{head}\nAda Keller,{body}\n"
    with suppress(DocumentError):  # as binary data
        extractions(text.encode("utf-8", "replace").decode(), size=120)


@pytest.mark.parametrize("ascii_only", [True, False])
def test_names_in_running_text_of_records_are_read_without_escapes(ascii_only: bool) -> None:
    note = 'She went to Orrin in May.\nMona Kell built the weir in Tarnäy, called "Old Weir".'
    records = [{"name": "Ada Keller", "home": "Oslo", "note": note}, {"name": "Bo Strand", "home": "Oslo"}]
    [(text, found)] = extractions(json.dumps(records, ensure_ascii=ascii_only), ".json")
    written = {m.name: text[m.offset : m.offset + m.length] for m in found.mentions}
    assert written.keys() == {"Ada Keller", "Oslo", "Orrin", "Mona Kell", "Tarnäy", "Old Weir", "Bo Strand"}
    assert all(json.loads(f'"{as_written}"') == name for name, as_written in written.items())


def test_names_with_an_article_are_those_of_sentences() -> None:
    text = "name,home\nThe Lantern Society,The Hague\nThe Who,Las Palmas\nthe old mill,Orrin\n"
    assert facts(text) == {
        ("Lantern Society", "home", "Hague", "entity"),
        ("The Who", "home", "Las Palmas", "entity"),
        ("the old mill", "home", "Orrin", "entity"),
    }
    [(_, found)] = extractions(text)
    [society] = [entity for entity in found.entities if entity.name == "Lantern Society"]
    assert society.aliases == ("The Lantern Society",)


def test_each_value_of_a_list_in_a_record_is_a_fact() -> None:
    text = (
        '[{"name": "Ada Venn", "clubs": ["Tidal Club", "The \\"Lantern\\" Society"], "years": [1901, 1905]},'
    )
    text += ' {"name": "Mona Kell", "clubs": [], "years": [1907], "kin": [["x"]]}]'
    assert facts(text, ".json") == {
        ("Ada Venn", "clubs", "Tidal Club", "entity"),
        ("Ada Venn", "clubs", 'The "Lantern" Society', "entity"),
        ("Ada Venn", "years", "1901", "gYear"),
        ("Ada Venn", "years", "1905", "gYear"),
        ("Mona Kell", "years", "1907", "gYear"),
    }
    [(chunk, found)] = extractions(text, ".json")
    assert {chunk[m.offset : m.offset + m.length] for m in found.mentions} >= {"Ada Venn", "Tidal Club"}


def test_labels_of_lines_of_figures_are_terms() -> None:
    text = "| | 2021 | 2022 |\n|---|---|---|\n| Cost of sales | 12 | 14 |\n| Kelmar Ltd | 3 | 4 |\n"
    [(_, found)] = extractions(text, ".md")
    assert [(r.subject, r.object, r.of_term) for r in found.relations] == [
        ("Cost of sales", "12", True),
        ("Cost of sales", "14", True),
        ("Kelmar Ltd", "3", False),
        ("Kelmar Ltd", "4", False),
    ]
    assert {("Cost of sales", True), ("Kelmar Ltd", False)} <= {(m.name, m.term) for m in found.mentions}
    assert "Cost of sales" not in {entity.name for entity in found.entities}


def test_rows_that_tell_more_than_figures_are_of_things() -> None:
    [(_, found)] = extractions("tree,height,home\noak tree,30,Tarnow\nlime tree,20,Narne\n", ".csv")
    assert [entity.name for entity in found.entities][::2] == ["oak tree", "lime tree"]
