"""When texts were written, and questions about a period."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date
from pathlib import Path

import pytest
from pyoxigraph import Literal

from graphrag_rdf import Engine
from graphrag_rdf.documents.readers import read_bytes
from graphrag_rdf.errors import ConfigError
from graphrag_rdf.extract.document_dates import dates_in, dates_of
from graphrag_rdf.extract.periods import find_period
from graphrag_rdf.rdf.namespaces import DCTERMS, XSD, Graphs
from tests.support.stores import open_engine

DOCUMENTS = {
    "2022-11-20 minutes.md": "The sailing club elected Dora Finch as chair.\n",
    "2023-05-20 minutes.md": "The sailing club elected Emil Stone as chair, as everybody knows.\n",
    "harbour.md": "The harbour was built in 1911 by Ada Moor. Its keeper is Ira Lund.\n",
    "letter.md": "Date: 3 June 2023\n\nThe boat house burned down. Carl Hook saw it.\n",
}


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    folder = tmp_path_factory.mktemp("dated")
    for name, text in DOCUMENTS.items():
        (folder / name).write_text(text)
    with open_engine(":memory:") as engine:
        engine.ingest([str(folder)])
        yield engine


def found(engine: Engine, question: str, **settings: str) -> list[str]:
    """The names of the ranked documents, and after them the types of warnings."""
    result = engine.retrieve(
        question, settings={f"exploration.{key}": value for key, value in settings.items()}
    )
    names = [one["uri"].rpartition("/")[2].replace("%20", " ") for one in result["results"]]
    return [*names, *(warning["type"] for warning in result["warnings"])]


@pytest.mark.parametrize(
    ("name", "text", "whole", "first"),
    [
        ("a.txt", "Time: 20260408_08:38\nAlice: I am Alice from the bakery.\n", "2026-04-08", ()),
        ("2023-05-12 minutes.md", "# Minutes\n\nIn 1911 it was built.\n", "2023-05-12", ()),
        ("Report_202305.txt", "On 3 May 1999 we met.\n", None, ()),
        ("q.txt", "Date: Mon, 8 May 2023 10:00:00 +0000\n\nI wrote.\n", "2023-05-08", ()),
        ("z.txt", "日期：2023年5月12日\n\n你好，世界。\n", "2023-05-12", ()),
        ("w.txt", "12 May 2023 was a fine day.\n", None, ()),
        ("d.txt", "## 12 May 1843\n\nI went.\n\n## 14 May 1843\n\nNothing.\n", "1843-05-12", ("1843-05-12",)),
        # only the third line shows which is the month
        ("c.txt", "03/04/2023, 10:15 - Ada: I am here\n12/04/2023, 10:16 - Bob: You are\n"
                  "13/04/2023, 9:01 - Ada: I know\n", "2023-04-03", ("2023-04-03",)),
        # nothing shows the month but the order
        ("u.txt", "03/04/2023, 10:15 - Ada: I am here\n04/03/2023, 10:16 - Bob: You are\n", "2023-03-04",
         ("2023-03-04",)),
        ("l.txt", "Berlin, den 17. März 1934\n\nLieber Karl, ich war dort.\n", "1934-03-17", ()),
        ("l.txt", "den 17. März 1934\n\nLieber Karl, ich war dort.\n", "1934-03-17", ()),
        ("l.txt", "Skell Works\nStratford-upon-Avon, 12th May 1907.\n\nDear Ada,\n", "1907-05-12", ()),
        ("l.txt", "Inquiry\n\nSpringfield, Illinois, March 3, 1998\n\nGentlemen,\n", "1998-03-03", ()),
        ("l.txt", "Wien, im Mai 1934\n\nLieber Karl\n", "1934-05", ()),
        ("l.txt", "北京，1986年10月20日\n\n李明：\n", "1986-10-20", ()),
        ("l.txt", "李明：\n一九八六年十月二十日于北京\n\n你好。\n", "1986-10-20", ()),
        ("l.txt", "London, 1907\n\nTo the owners.\n", None, ()),
        ("l.txt", "Elspeth Marwick\nBorn, 12 May 1907\n\nShe wrote.\n", None, ()),
        ("l.txt", "The Skell Bridge, 12 May 1907\n\nIt was long.\n", None, ()),
        ("l.txt", "Lisbon, Portugal, September 17–21, 2015\n\nA call.\n", None, ()),
        ("l.txt", "one,\ntwo,\n3.\n4.\n5.\n6.\n7.\n8.\n9.\n10.\nBerlin, 17. März 1934\n", None, ()),
        # the date of a sentence that goes on
        ("p.txt", "This package was made by Ada Venn on\nFri, 3 Aug 2001 10:02:38 +0200.\n", None, ()),
        ("o.txt", "03/04/2023, 10:15 - Ada: I am here\n03/05/2023, 10:16 - Bob: You are\n", None, ()),
    ],
)  # fmt: skip
def test_when_a_text_was_written(name: str, text: str, whole: str | None, first: tuple[str, ...]) -> None:
    date_of_all, lines = dates_of(read_bytes(text.encode(), name), f"/somewhere/1999-01-01/{name}")
    assert date_of_all == whole
    assert dates_in(lines, 0, 20) == first


def test_a_part_without_a_date_has_that_of_the_line_before() -> None:
    text = (
        "# Diary\n\n## 12 May 1843\n\nDear diary, I went out and saw the sea.\n\n## 14 May 1843\n\nNothing.\n"
    )
    _, lines = dates_of(read_bytes(text.encode(), "diary.md"), "diary.md")
    assert dates_in(lines, 30, 60) == ("1843-05-12",)
    assert dates_in(lines, 40, len(text)) == ("1843-05-12", "1843-05-14")
    assert dates_in(lines, text.index("## 14"), len(text)) == ("1843-05-14",)


@pytest.mark.parametrize(
    ("question", "spans"),
    [
        ("What happened in May 2023?", "2023-05-01/2023-05-31"),
        ("What did Ada buy in May?", "2022-05-01/2022-05-31 2023-05-01/2023-05-31"),
        ("What was the discussion on 20230520?", "2023-05-20/2023-05-20"),
        ("What came on June 24th?", "2022-06-24/2022-06-24 2023-06-24/2023-06-24"),
        ("What were the sales in the last quarter of 2022?", "2022-10-01/2022-12-31"),
        ("Was geschah im Mai?", "2022-05-01/2022-05-31 2023-05-01/2023-05-31"),
        ("艾达在五月买了什么？", "2022-05-01/2022-05-31 2023-05-01/2023-05-31"),
        ("2023年5月3日发生了什么？", "2023-05-03/2023-05-03"),
        ("What was said last month?", "2023-05-01/2023-05-31"),
        ("上个月谁来了？", "2023-05-01/2023-05-31"),
        ("What changed between May and June 2023?", "2023-05-01/2023-06-30"),
        ("What has she done since March 2023?", "2023-03-01/9999-12-31"),
        ("Who may come?", ""),
        ("How did they march to Rome?", ""),
        ("Who was there on 31 February?", ""),
    ],
)
def test_the_days_that_a_question_names(question: str, spans: str) -> None:
    period = find_period(question, date(2022, 11, 20), date(2023, 6, 3))
    assert " ".join(f"{first}/{last}" for first, last in (period.spans if period else ())) == spans


def test_dates_are_typed(engine: Engine) -> None:
    dates = {quad.object for quad in engine.store.quads(Graphs.SOURCE) if quad.predicate == DCTERMS.date}
    days = ("2022-11-20", "2023-05-20", "2023-06-03")
    assert dates == {Literal(day, datatype=XSD.date) for day in days}


def test_a_date_in_the_question_prefers_texts_of_it(engine: Engine) -> None:
    both = "Who did the sailing club elect as chair"
    assert found(engine, f"{both} in November?")[0] == "2022-11-20 minutes.md"
    assert found(engine, f"{both} in May?")[:2] == ["2023-05-20 minutes.md", "2022-11-20 minutes.md"]
    assert found(engine, f"{both} last month?")[0] == "2023-05-20 minutes.md"
    assert "relative_dates" in found(engine, f"{both} last month?")
    assert found(engine, f"{both} in May?", dates="false") == found(engine, f"{both}?", dates="false")


def test_a_date_that_no_text_has_leaves_the_question_answerable(engine: Engine) -> None:
    assert found(engine, "Who built the harbour in 1911?") == ["harbour.md"]
    assert found(engine, "Who built the harbour in May 1911?") == ["harbour.md", "no_documents_of_period"]


def test_documents_without_dates_are_answered_from_as_before(tmp_path: Path) -> None:
    (tmp_path / "harbour.md").write_text(DOCUMENTS["harbour.md"])
    with open_engine(":memory:") as engine:
        engine.ingest([str(tmp_path)])
        for when in ("in 1911", "in May", "last month"):
            assert found(engine, f"Who built the harbour {when}?") == ["harbour.md"]


def test_a_given_period_is_a_filter(engine: Engine) -> None:
    chair = "Who is chair of the sailing club?"
    assert found(engine, chair, until="2022") == ["2022-11-20 minutes.md"]
    assert found(engine, chair, since="2023-05", until="2023-05-20") == ["2023-05-20 minutes.md"]
    assert found(engine, "Who built the harbour?", since="2022") == []  # it has no date
    assert found(engine, chair, until="1999") == ["no_documents_of_period"]
    for pipeline in ("doc_rag", "basic", "hybrid_rag", "hops_rag", "local"):
        result = engine.retrieve(chair, pipeline=pipeline, settings={"exploration.since": "2023"})
        assert [one["uri"].rpartition("/")[2] for one in result["results"]] == ["2023-05-20%20minutes.md"]
    with pytest.raises(ConfigError, match="not a date"):
        found(engine, chair, since="May")


@pytest.mark.parametrize("pipeline", ["graph_rag", "doc_rag", "basic", "hybrid_rag", "hops_rag"])
def test_every_pipeline_that_searches_prefers_texts_of_the_date(engine: Engine, pipeline: str) -> None:
    for month, name in (("November", "2022-11-20"), ("May", "2023-05-20")):
        question = f"Who did the sailing club elect as chair in {month}?"
        result = engine.retrieve(question, pipeline=pipeline, settings={})
        assert name in result["results"][0]["uri"]


@pytest.mark.parametrize("pipeline", ["hops_rag", "hybrid_rag"])
def test_a_period_leaves_no_fact_of_other_texts(engine: Engine, pipeline: str) -> None:
    *_, last = engine.ask(
        "Who is chair of the sailing club?", pipeline, settings={"exploration.since": "2023-05-20"}
    )
    assert last.answer is not None
    quotes = {source["quote"] for one in last.answer["citations"] for source in one["sources"]}
    assert all("Dora Finch" not in quote for quote in quotes)
    exploration = next(step for step in engine.traces["last"].steps if step.kind == "exploration")
    assert "2023-05-20/9999-12-31" in str(exploration.values)


def test_auto_gives_a_period_to_the_pipeline_that_it_chooses(engine: Engine) -> None:
    settings = {"exploration.since": "2023-05-20", "exploration.until": "2023-05-20"}
    *_, last = engine.ask("Who did the sailing club elect as chair?", "auto", settings=settings)
    assert last.answer is not None
    assert "Emil Stone" in last.answer["answer"]
    assert "Dora Finch" not in last.answer["answer"]
    with pytest.raises(ConfigError, match="has no step"):
        list(engine.ask("Who?", "auto", settings={"expedition.since": "2023"}))


CHAIRS = """Anna Berg was chair of the Skell Trust from 1898 to 1905. The trust built a pier.
Carl Hook was chair of the Skell Trust from 1905 to 1912.
Dora Finch has been chair of the Skell Trust since 1912. Emil Gray founded the Tarnay Bank in 1899.
"""


@pytest.mark.parametrize(
    ("when", "who", "missing"),
    [
        ("in 1907", "Carl Hook", []),
        ("in 1900", "Anna Berg", []),
        ("in May 1915", "Dora Finch", []),
        ("on 3 May 1906", "Carl Hook", []),
        ("", "Anna Berg", []),  # the first
    ],
)
def test_a_year_in_the_question_is_that_of_what_holds(
    tmp_path: Path, when: str, who: str, missing: list[str]
) -> None:
    (tmp_path / "trust.md").write_text(CHAIRS)
    with open_engine(":memory:") as engine:
        engine.ingest([str(tmp_path)])
        *_, last = engine.ask(f"Who was chair of the Skell Trust {when}?")
        assert last.answer is not None
        assert last.answer["answer"].startswith(who)
        assert (last.answer["answered"], last.answer["missing_words"]) == (True, missing)
        *_, last = engine.ask(
            "Who was chair of the Skell Trust in 1907?", settings={"exploration.dates": "false"}
        )
        assert last.answer is not None
        assert not last.answer["answered"]
        *_, last = engine.ask("Who founded the Tarnay Bank in 1899?")
        assert last.answer is not None
        assert last.answer["answer"].startswith("Emil Gray")


LEADERS = {
    "de": "Friedrich Harms leitete die Reederei von 1872 bis 1899.\n"
    "Seine Tochter Wilhelmine Harms leitete die Reederei von 1899 bis 1925.\n",
    "zh": "塞缪尔于1889年至1907年担任港务局主席。玛格丽特于1907年至1921年担任港务局主席。\n",
}


@pytest.mark.parametrize(
    ("language", "question", "who"),
    [
        ("de", "Wer leitete die Reederei im Jahr 1910?", "Seine Tochter Wilhelmine Harms"),
        ("de", "Wer leitete die Reederei 1880?", "Friedrich Harms"),
        ("de", "Wer leitete die Reederei 1930?", ""),
        ("zh", "谁在1910年担任港务局主席？", "玛格丽特"),
        ("zh", "谁在1930年担任港务局主席？", ""),
    ],
)
def test_a_sentence_says_in_its_own_words_when_it_holds(
    tmp_path: Path, language: str, question: str, who: str
) -> None:
    (tmp_path / "leaders.txt").write_text(LEADERS[language])
    with open_engine(":memory:") as engine:
        engine.ingest([str(tmp_path)])
        *_, last = engine.ask(question)
        assert last.answer is not None
        assert last.answer["answered"] == bool(who)
        if who:
            assert last.answer["answer"].startswith(who)
            assert not last.answer["missing_words"]
