"""Quotes carry the language of their document."""

from pathlib import Path

from graphrag_rdf.checks import run_checks
from graphrag_rdf.rdf.namespaces import TG
from tests.ingest.conftest import everything
from tests.support.stores import open_engine

TEXTS = {
    "en": "Mary Hale founded the Lindow Mill in 1851. The mill was sold to the town of Tarn in 1902.",
    "de": "Maria Huber wurde 1851 in Linden geboren. Maria Huber gründete 1880 die Lindenmühle.",
    "zh": "李华于1851年在北京创办了清华学校。王明出生于上海。",
}


def test_quotes_have_the_language_of_their_document(tmp_path: Path) -> None:
    for language, text in TEXTS.items():
        page = f"---\nlang: {language}\n---\n\n{text}\n"
        (tmp_path / f"{language}.md").write_text(page, "utf-8")
    engine = open_engine(tmp_path / "store")
    engine.ingest([tmp_path / f"{language}.md" for language in TEXTS])
    quotes = [quad.object for quad in everything(engine) if quad.predicate == TG.sourceText]
    assert {quote.language for quote in quotes} == set(TEXTS)
    assert all(quote.value in TEXTS[quote.language] for quote in quotes)
    assert not list(run_checks(engine.store, engine.blobs))
