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
