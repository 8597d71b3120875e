"""Words of files' names: what a file is called says what it is about, whatever its title."""

from __future__ import annotations

from pathlib import Path

from tests.ingest.conftest import MakeEngine

REPORT = "# Annual report\n\nThe number of ferries rose to twelve.\n"


def test_the_words_of_a_files_name_are_searched(engine_of: MakeEngine, docs: Path) -> None:
    (docs / "Drumlaw_2022_report.md").write_text(REPORT)
    (docs / "Halden_2022_report.md").write_text(REPORT.replace("twelve", "thirteen"))
    (docs / "2021.md").write_text(REPORT.replace("twelve", "nine"))
    engine = engine_of()
    engine.ingest([docs])
    for name, number in (("Drumlaw", "twelve"), ("Halden", "thirteen")):
        found = engine.retrieve(f"How many ferries had {name} in the end?", k=3)["results"]
        assert number in found[0]["text"]
        assert found[0]["score"] > found[1]["score"]
    index = engine.text_index
    assert index is not None
    assert len(index.search("Halden", kind="chunk", k=5)) == 1
    assert index.search("2021", kind="chunk", k=5) == []  # a number alone names nothing
