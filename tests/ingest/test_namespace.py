"""`extract.namespace`: documents, entities, relations and types have IRIs in a domain of the user's."""

from __future__ import annotations

from pathlib import Path

from graphrag_rdf import Engine
from graphrag_rdf.config import Settings
from graphrag_rdf.rdf.iris import PROVENANCE_BASE
from graphrag_rdf.trace.documents import list_documents
from tests.support.commands import documents_in
from tests.support.endpoint import Endpoint

NAMESPACE = "https://data.example.org/kg/"


def engine_at(place: Path, namespace: str | None) -> Engine:
    extract = {} if namespace is None else {"namespace": namespace}
    return Engine.open(config=Settings(store=str(place), extract=extract))  # type: ignore[arg-type]


def documents(engine: Engine) -> set[str]:
    return {one.iri for one in list_documents(engine.store)}


def test_everything_with_a_name_is_in_the_namespace(tmp_path: Path) -> None:
    with engine_at(tmp_path / "store", NAMESPACE) as engine:
        engine.ingest([documents_in(tmp_path)])
        assert documents(engine) == {
            f"{NAMESPACE}doc/documents/company.txt",
            f"{NAMESPACE}doc/documents/harbour.md",
        }
        named = {
            term.value
            for quad in engine.store.quads()
            for term in (quad.subject, quad.predicate, quad.object)
            if getattr(term, "value", "").startswith(("http://trustgraph.ai/", PROVENANCE_BASE))
        }
    kinds = {name.removeprefix(PROVENANCE_BASE).partition("/")[0] for name in named}
    assert kinds <= {"ns", "subgraph", "activity", "agent"}  # the patterns of TrustGraph's provenance


def test_documents_of_an_older_store_keep_their_iris(tmp_path: Path) -> None:
    """Until this version documents did not follow the setting; no document is there twice."""
    folder = documents_in(tmp_path)
    with engine_at(tmp_path / "store", None) as engine:
        engine.ingest([folder])
        before = documents(engine)
        assert all(iri.startswith(PROVENANCE_BASE) for iri in before)
    with engine_at(tmp_path / "store", NAMESPACE) as engine:
        again = engine.ingest([folder])
        assert again.documents.unchanged == 2
        (folder / "new.txt").write_text("Mona Kell founded the Lantern Society.\n", encoding="utf-8")
        (folder / "company.txt").write_text("Mona Kell owned a boat.\n", encoding="utf-8")
        later = engine.ingest([folder])
        assert (later.documents.added, later.documents.updated) == (1, 1)
        assert documents(engine) == {*before, f"{NAMESPACE}doc/documents/new.txt"}


def test_a_server_resolves_the_iris(tmp_path: Path) -> None:
    """As it does behind a proxy that has the address of the namespace."""
    folder = documents_in(tmp_path)
    (folder / "größe und zahl.txt").write_text("Erna Größe owned the Zürich Mill.\n", encoding="utf-8")
    with engine_at(tmp_path / "store", NAMESPACE) as engine:
        engine.ingest([folder])
    iris = [
        f"{NAMESPACE}doc/documents/company.txt",
        f"{NAMESPACE}doc/documents/gr%C3%B6%C3%9Fe%20und%20zahl.txt",
        f"{NAMESPACE}e/walter-pennock",
        f"{NAMESPACE}e/zürich-mill",
        f"{NAMESPACE}r/founded",
    ]
    environment = {"GRAPHRAG_RDF_EXTRACT__NAMESPACE": NAMESPACE}
    with Endpoint.start(tmp_path / "store", **environment) as endpoint, endpoint.client() as client:
        for iri in iris:
            path = iri.removeprefix(NAMESPACE)
            response = client.get(f"/{path}", headers={"Accept": "text/turtle"})
            assert response.status_code == 303, iri
            found = client.get(response.headers["location"], headers={"Accept": "text/turtle"})
            assert found.status_code == 200, (iri, response.headers["location"])
            assert iri in found.text or path in found.text
        assert "company.txt" in client.get("/documents/documents/company.txt").text
