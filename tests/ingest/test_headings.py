"""Search finds chunks by the headings of their section, also where these stand in an earlier chunk."""

from __future__ import annotations

from pathlib import Path

from graphrag_rdf.documents.readers import read_bytes
from tests.ingest.conftest import MakeEngine

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
