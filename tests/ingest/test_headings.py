"""Search finds chunks by the headings of their section, also where these stand in an earlier chunk."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from graphrag_rdf.documents.chunk import chunk_text
from graphrag_rdf.documents.readers import read_bytes
from graphrag_rdf.documents.tables import sentences_in
from tests.ingest.conftest import MakeEngine, by_model, everything
from tests.support.scripted_server import ScriptedServer

GUIDE = """# Lintie guide

## Boats

{boats}

### Winter timetable

{winter}

```
# Storms
```

## Museum

{museum}
"""
FILLED = GUIDE.format(
    boats=" ".join(f"Number {n} leaves the pier with post and bread." for n in range(40)),
    winter=" ".join(f"Departure {n} waits for the tide and the mail van." for n in range(40)),
    museum=" ".join(f"Room {n} shows a lamp and a rope." for n in range(40)),
)


def test_the_headings_above_a_place_are_those_of_its_section() -> None:
    parsed = read_bytes(FILLED.encode(), "guide.md")
    above = {
        word: parsed.headings_above(parsed.text.index(word)) for word in ("Number 7", "Departure 9", "Room 3")
    }
    assert above == {
        "Number 7": ("Boats",),
        "Departure 9": ("Boats", "Winter timetable"),
        "Room 3": ("Museum",),
    }
    assert parsed.headings_above(0) == parsed.headings_above(parsed.text.index("## Boats")) == ()


def test_headings_of_laid_out_formats_are_known() -> None:
    page = "<h1>Lintie</h1><p>Boats go.</p><h2>Boats</h2><p>Twelve boats.</p><h2>Winter</h2><p>None.</p>"
    parsed = read_bytes(page.encode(), "guide.html")
    assert parsed.headings_above(parsed.text.index("Twelve")) == ("Boats",)
    assert parsed.headings_above(parsed.text.index("None")) == ("Winter",)


def test_a_chunk_in_the_middle_of_a_section_is_found_by_its_headings(
    engine_of: MakeEngine, docs: Path
) -> None:
    guide = docs / "guide.md"
    guide.write_text(FILLED)
    engine = engine_of()
    engine.ingest([docs])
    index = engine.text_index
    assert index is not None
    below = [hit.iri for hit in index.search("winter timetable", kind="chunk", k=20)]
    assert len(below) > 2  # the chunk with the heading, and those that go on with its section
    guide.write_text(FILLED.replace("Winter timetable", "Summer hours"))
    engine.ingest([docs])
    assert index.search("winter timetable", kind="chunk", k=20) == []
    assert len(index.search("summer hours", kind="chunk", k=20)) == len(below)


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        (
            "Surgery may follow. Chemotherapy Chemotherapy is given in cycles. Few refuse chemotherapy.",
            [
                "Surgery may follow.",
                "Chemotherapy",
                "Chemotherapy is given in cycles.",
                "Few refuse chemotherapy.",
            ],
        ),
        ("Stage I Stage I means a small tumour.", ["Stage I", "Stage I means a small tumour."]),
        ("Overview The pancreas is a gland.", ["Overview", "The pancreas is a gland."]),
        (
            "Key points Non-small cells grow. Key points Smoking is bad. Key points Age counts.",
            [
                "Key points",
                "Non-small cells grow.",
                "Key points",
                "Smoking is bad.",
                "Key points",
                "Age counts.",
            ],
        ),
        (
            "Bora Bora is an island. Nobody left Bora Bora.",
            ["Bora Bora is an island.", "Nobody left Bora Bora."],
        ),
        (
            "Ada saw The Beatles. She told Ada of The Band.",
            ["Ada saw The Beatles.", "She told Ada of The Band."],
        ),
        (
            "He told Ada so. He told Bob so. He told Eve so.",
            ["He told Ada so.", "He told Bob so.", "He told Eve so."],
        ),
    ],
)
def test_headings_that_are_glued_to_sentences_are_cut_off(text: str, sentences: list[str]) -> None:
    parsed = read_bytes(text.encode(), "guide.txt")
    (chunk,) = chunk_text(parsed.text, size=2000)
    found = sentences_in(parsed, chunk)
    assert [chunk.text[s.offset : s.offset + s.length] for s in found] == sentences


def test_a_heading_states_nothing(docs: Path, engine_of: MakeEngine, scripted_server: ScriptedServer) -> None:
    """What a model reads out of a heading alone is left out, quoted with or without its marks."""
    (docs / "guide.md").write_text(
        "# Orrin Mill\n\nAda Bell owns it.\n\n## Tarn sold Orrin Mill\n\nIt was 1873.\n"
    )
    relation = {"subject": "Tarn", "predicate": "sold", "object": "Orrin Mill"}
    owns = {
        "subject": "Ada Bell",
        "predicate": "owns",
        "object": "Orrin Mill",
        "evidence": "Ada Bell owns it.",
    }
    for quote in ("## Tarn sold Orrin Mill", "Tarn sold Orrin Mill"):
        scripted_server.script(
            json.dumps(
                {
                    "entities": [
                        {"name": "Orrin Mill", "definition": "a mill", "definition_evidence": "# Orrin Mill"}
                    ],
                    "relations": [{**relation, "evidence": quote}, owns],
                }
            )
        )
        engine = engine_of(**by_model(scripted_server))
        report = engine.ingest([docs])
        assert report.rejected["heading"] == 1
        said = {quad.predicate.value.rpartition("/")[2] for quad in everything(engine)}
        assert "owns" in said
        assert "sold" not in said
        assert "core#definition" not in said
