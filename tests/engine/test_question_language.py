"""In which language a question is read where documents are in several."""

from __future__ import annotations

import pytest

from graphrag_rdf import Engine
from graphrag_rdf.prepare import language_of
from tests.support.stores import open_engine

DOCUMENTS = {
    "brewery.txt": "The Hollerbach Brewery was founded in 1842 by Jakob Hollerbach. It stands on a hill.",
    "well.txt": "The well of the brewery was dug in 1841 by the miner Georg Rau. It is 84 metres deep.",
    "hotel.txt": "Het hotel De Zwaan werd geopend door Pieter Bakker. Pieter Bakker kwam uit Zutphen.",
    "brief.txt": "Der Brunnen auf dem Hof ist 84 Meter tief. Agathe Hollerbach leitet die Brauerei.",
}


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Engine:
    folder = tmp_path_factory.mktemp("languages")
    for name, text in DOCUMENTS.items():
        (folder / name).write_text(text)
    with open_engine(":memory:") as made:
        made.ingest([folder])
        yield made


@pytest.mark.parametrize(
    ("question", "language"),
    [
        ("Who founded the Hollerbach Brewery?", "en"),
        ("Where did Agathe Hollerbach die?", "en"),
        ("Waar kwam Pieter Bakker vandaan?", "nl"),
        ("Wer leitet die Brauerei?", "de"),
        ("Georg Rau", "en"),
        ("Où est la brasserie ?", "en"),
        ("谁建的？", "zh"),
    ],
)
def test_the_language_of_a_question_is_one_of_the_documents(
    engine: Engine, question: str, language: str
) -> None:
    assert engine.languages()[0] == "en"
    assert language_of(engine, question) == language


def test_answered_in_the_language_of_few_documents(engine: Engine) -> None:
    *_, last = engine.ask("Waar kwam Pieter Bakker vandaan?")
    assert last.answer is not None
    assert "Zutphen" in last.answer["answer"]
