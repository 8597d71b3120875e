"""The gate of SHACL shapes in front of a store behind an endpoint, which cannot try an update."""

from __future__ import annotations

from pathlib import Path

import pytest

from graphrag_rdf.config import load_settings
from graphrag_rdf.engine import Engine
from graphrag_rdf.ingest.gate import BrokenShapesError, CannotValidateError, Gate
from tests.support.endpoints import Server

pytest.importorskip("pyshacl")

SHAPES = """@prefix sh: <http://www.w3.org/ns/shacl#> .
<urn:s> a sh:NodeShape ; sh:targetSubjectsOf <urn:captain> ;
  sh:property [ sh:path <urn:captain> ; sh:class <urn:Person> ; sh:message "a captain is a person" ] .
"""
BAD = "INSERT DATA { <urn:petrel> <urn:captain> <urn:kell> }"
GOOD = "INSERT DATA { <urn:petrel> <urn:captain> <urn:ada> . <urn:ada> a <urn:Person> }"
WHERE = "DELETE { ?s a ?t } WHERE { ?s a ?t }"


@pytest.mark.parametrize("mode", ["reject", "report"])
def test_an_update_is_validated_if_what_it_adds_is_given(server: Server, tmp_path: Path, mode: str) -> None:
    (tmp_path / "shapes.ttl").write_text(SHAPES)
    loaded = load_settings(
        None,
        {
            "store": server.url,
            "remote.folder": str(tmp_path / "local"),
            "validation.shapes": (str(tmp_path / "shapes.ttl"),),
            "validation.mode": mode,
        },
    )
    with Engine.open(config=loaded) as engine:
        gate = Gate(engine)
        assert gate.update(GOOD).results == []
        engine.store.update(GOOD)
        if mode == "reject":
            with pytest.raises(BrokenShapesError, match="a captain is a person"):
                gate.update(BAD)
            with pytest.raises(CannotValidateError, match="behind an endpoint"):
                gate.update(WHERE)
        else:
            passed = gate.update(BAD)
            assert len(passed.results) == 1
            engine.store.update(BAD)
            passed.keep()
            assert len(engine.store.select("validation/results", limit=9)) == 1
            assert gate.update(WHERE).unvalidated
