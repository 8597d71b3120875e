"""Tables on the command line: what somebody asks of a CSV, and what they see."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.commands import Run

PEOPLE = """name,born,occupation,born_in
Ada Keller,1815-12-10,mathematician,London
Charles Babb,1791-12-26,engineer,London
Bo Strand,1901,painter,Oslo
"""


def _ingest(run: Run, folder: Path, text: str = PEOPLE, name: str = "people.csv") -> None:
    (folder / name).write_text(text, encoding="utf-8-sig")
    found = run("ingest", name, "--format", "json")
    assert found.code == 0
    assert found.json["warnings"] == []
    assert found.json["facts"] >= 9


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("Where was Ada Keller born?", "Ada Keller: born in London. [1]"),
        ("When was Charles Babb born?", "Charles Babb: born 1791-12-26. [1]"),
        ("Who was born in London?", "Ada Keller: born in London. [1]"),
        ("What was the occupation of Bo Strand?", "Bo Strand: occupation painter. [1]"),
        ("Who is a painter?", "Bo Strand: occupation painter. [1]"),
        ("Who was born in Paris?", "No sentence in the documents is a sure answer."),
    ],
)
@pytest.mark.parametrize("separator", [",", ";", "\t"])
def test_questions_are_answered_from_rows(
    run: Run, folder: Path, question: str, answer: str, separator: str
) -> None:
    _ingest(run, folder, PEOPLE.replace(",", separator))
    found = run("ask", question, "--format", "json").json
    assert found["answer"] == answer
    lines = PEOPLE.replace(",", separator).splitlines()[1:]
    quotes = [source["quote"] for citation in found["citations"] for source in citation["sources"]]
    assert set(quotes) <= set(lines)
    text = PEOPLE.replace(",", separator)
    for citation in found["citations"]:
        for source in citation["sources"]:
            start = source["char_offset"]
            assert text[start : start + source["char_length"]] == source["quote"]


def test_the_trace_of_such_an_answer_holds_and_the_store_is_whole(run: Run, folder: Path) -> None:
    _ingest(run, folder)
    session = run("ask", "Who was born in London?", "--format", "json").json["question_iri"].rsplit(":", 1)[1]
    assert run("trace", "verify", session).code == 0
    assert run("check").code == 0


def test_tables_of_markdown_and_html_are_asked_the_same_way(run: Run, folder: Path) -> None:
    rows = [line.split(",") for line in PEOPLE.splitlines()]
    marked = ["| " + " | ".join(row) + " |" for row in rows]
    text = "# The club\n\n" + "\n".join([marked[0], "|---|---|---|---|", *marked[1:]]) + "\n"
    _ingest(run, folder, text, "club.md")
    found = run("ask", "Where was Ada Keller born?", "--format", "json").json
    assert found["answer"] == "Ada Keller: born in London. [1]"
    assert found["citations"][0]["sources"][0]["quote"] == marked[1]
    cells = ["".join(f"<td>{cell}" for cell in row) for row in rows[1:]]
    heads = "".join(f"<th>{cell}" for cell in rows[0])
    html = f"<h1>Club</h1><table><tr>{heads}" + "".join(f"<tr>{row}" for row in cells) + "</table>"
    (folder / "other.html").write_text(html.replace("Ada Keller", "Zoe Wright"), encoding="utf-8")
    assert run("ingest", "other.html").code == 0
    assert (
        run("ask", "Where was Zoe Wright born?", "--format", "json")
        .json["answer"]
        .startswith("Zoe Wright: born in London.")
    )


def test_columns_are_spoken_of_whatever_language_other_documents_are_in(run: Run, folder: Path) -> None:
    _ingest(run, folder, PEOPLE + "Cy Moor,1902,baker,Rome\n")
    (folder / "brief.txt").write_text(
        "Der Dampfer sank im Jahr 1911 vor der Küste, und die Versicherung hat den Schaden bezahlt. Die "
        "Mannschaft wurde von einem Fischer gerettet, der sie am Morgen auf dem Wasser gesehen hatte.\n",
        encoding="utf-8",
    )
    (folder / "ships.md").write_text(
        "| Ship | Built | Sank |\n|---|---|---|\n"
        "| Petrel | 1903 | 17 November 1911 |\n| Halden | 1962 | - |\n",
        encoding="utf-8",
    )
    assert run("ingest", "brief.txt", "ships.md").code == 0
    for question, answer in (
        ("When did the Petrel sink?", "Petrel: sank 17 November 1911. [1]"),
        ("Which ship was built in 1962?", "Halden: built 1962. [1]"),
        ("Who is a baker?", "Cy Moor: occupation baker. [1]"),
    ):
        assert run("ask", question, "--format", "json").json["answer"] == answer


def test_a_workbook(run: Run, folder: Path) -> None:
    import openpyxl

    book = openpyxl.Workbook()
    for line in PEOPLE.splitlines():
        book.active.append(line.split(","))
    book.save(folder / "people.xlsx")
    assert run("ingest", "people.xlsx", "--format", "json").json["facts"] == 9
    found = run("ask", "Where was Ada Keller born?", "--format", "json").json
    assert found["answer"] == "Ada Keller: born in London. [1]"
    assert found["citations"][0]["sources"][0]["page_number"] == 1


def test_what_is_no_table_of_things_is_said_and_nothing_is_made_up(run: Run, folder: Path) -> None:
    (folder / "rain.csv").write_text("year,rain\n1990,5\n1990,6\n", encoding="utf-8")
    found = run("ingest", "rain.csv")
    assert found.code == 0
    assert "rain.csv: no column of the table has a different name in each row" in found.err
    assert "language" not in found.err


@pytest.mark.parametrize("count", [200, pytest.param(5000, marks=pytest.mark.slow)])
def test_many_rows_in_many_passages(run: Run, folder: Path, count: int) -> None:
    syllables = ("ka", "lo", "mi", "ru", "se", "ta", "vo", "ne", "du")
    firsts = [f"{a.title()}{b}" for a in syllables for b in syllables]
    names = [f"{first} {last}son" for first in firsts for last in firsts]
    rows = [
        f"{name},{1500 + n % 400},{('Oslo', 'Kelm', 'Rome')[n % 3]}" for n, name in enumerate(names[:count])
    ]
    _ingest(run, folder, "name,born,born_in\n" + "\n".join(rows) + "\n")
    for number in (1, count // 2, count - 1):
        name, born, _ = rows[number].split(",")
        assert (
            run("ask", f"When was {name} born?", "--format", "json").json["answer"]
            == f"{name}: born {born}. [1]"
        )


def test_headings_are_not_quoted(run: Run, folder: Path) -> None:
    text = (
        "# The Petrel\n\n## The sinking of the Petrel\n\nThe Petrel sank in Skell Sound in 1911.\n\n"
        "## The crew of the Petrel\n\n- James Reay\n"
    )
    (folder / "petrel.md").write_text(text, encoding="utf-8")
    run("ingest", "petrel.md")
    found = run("ask", "When did the Petrel sink?", "--format", "json").json["answer"]
    assert found == "The Petrel sank in Skell Sound in 1911. [1]"
    found = run("ask", "the crew of the Petrel", "--format", "json").json["answer"]
    assert "James Reay" in found
    assert "crew" not in found
