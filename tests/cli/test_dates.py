"""`ask` and `retrieve` with dates: `--from`, `--to`, `--no-dates`, and what the trace says of a period."""

from __future__ import annotations

from pathlib import Path

from tests.support.commands import Run


def test_dates_filter_and_the_trace_says_so(run: Run, folder: Path) -> None:
    (folder / "club").mkdir()
    (folder / "club" / "2022-11-20 minutes.md").write_text("The sailing club elected Dora Finch as chair.\n")
    (folder / "club" / "2023-05-20 minutes.md").write_text("The sailing club elected Emil Stone as chair.\n")
    run("ingest", "club", "--model", "none")
    question = "Who did the sailing club elect as chair?"
    for year, name in (("2022", "Dora Finch"), ("2023", "Emil Stone")):
        given = run(
            "ask", question, "--model", "none", "--from", year, "--to", f"{year}-12", "--format", "json"
        )
        assert name in given.json["answer"]
        assert len(given.json["passages"]) == 1
        run("trace", "verify", "last")
        named = run("ask", f"{question[:-1]} in {year}?", "--model", "none", "--explain")
        assert name in named.out.splitlines()[0]
        assert f"Dates: {year}-01-01 – {year}-12-31. 1 chunk is of them. The score of" in named.out
        run("trace", "verify", "last")
    ignored = run("ask", f"{question[:-1]} in 2022?", "--model", "none", "--no-dates", "--explain")
    assert "Dates:" not in ignored.out
    wrong = run("retrieve", question, "--from", "spring")
    assert wrong.code == 2
    assert "'spring' is not a date" in wrong.err


def test_facts_that_are_valid_on_a_date(run: Run, folder: Path) -> None:
    """One document says the beginning, another one the end."""
    (folder / "town").mkdir()
    (folder / "town" / "one.md").write_text(
        "Ada Moor was mayor of Skell between 2010 and 2015. Carl Hook has been mayor of Skell since 2016.\n"
    )
    (folder / "town" / "two.md").write_text(
        "Carl Hook was mayor of Skell until 2020. Dora Finch lives in Skell.\n"
    )
    run("ingest", "town", "--model", "none")

    def mayors(*options: str) -> set[str]:
        facts = run("facts", "list", "--relation", "mayor of", *options, "--format", "json").json
        return {fact["s_label"] for fact in facts}

    assert mayors() == {"Ada Moor", "Carl Hook"}
    assert mayors("--valid", "2012-05") == {"Ada Moor"}
    assert mayors("--valid", "2019") == {"Carl Hook"}
    assert mayors("--valid", "2022") == set()
    assert "Dora Finch" in run("facts", "list", "--valid", "2022").out  # nothing says when
    assert run("facts", "list", "--valid", "spring").code == 2
    for year, name in (("2012", "Ada Moor"), ("2019", "Carl Hook")):
        answer = run(
            "ask", "Who was mayor of Skell?", "--model", "none", "--valid", year, "--format", "json"
        ).json
        assert name in answer["answer"]
        texts = " ".join(passage["text"] for passage in answer["passages"])
        assert ("Ada Moor" in texts) == (name == "Ada Moor")
        run("trace", "verify", "last")
    never = run(
        "ask", "Who was mayor of Skell?", "--model", "none", "--valid", "2022", "--format", "json"
    ).json
    assert not never["answered"]
