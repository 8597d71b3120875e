"""What pipeline.yaml declares is what its steps read and run, and meaningless values are refused."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyoxigraph import Literal

from graphrag_rdf.config import load_settings
from graphrag_rdf.engine import Engine
from graphrag_rdf.errors import ConfigError
from graphrag_rdf.pipeline import STEPS, Pipeline, PipelineDefinition, load_pipeline
from graphrag_rdf.rdf.namespaces import RAG
from graphrag_rdf.resources import folder
from graphrag_rdf.steps.parameters import PARAMETERS
from tests.pipeline.test_with_a_model import QUESTION, model, settings
from tests.support.scripted_server import ScriptedServer
from tests.support.stores import open_engine

EXPLORATIONS = ("hops", "activation", "hybrid")


class Watched(dict[str, Any]):
    """Parameters that know which of them were read."""

    def __init__(self, values: dict[str, Any]) -> None:
        super().__init__(values)
        self.read: set[str] = set()

    def __getitem__(self, key: str) -> Any:
        self.read.add(key)
        return super().__getitem__(key)


@pytest.fixture
def full(sample_folder: Path, tmp_path: Path, scripted_server: ScriptedServer) -> Iterator[Engine]:
    """The sample store with a scripted model for answers, one for embeddings, and a reranker."""
    place = tmp_path / "store"
    shutil.copytree(sample_folder, place)
    scripted_server.answer_with(model())
    models = {"embedding.model": "openai/test-embedding", "rerank.model": "lexical"}
    config = settings(scripted_server, **models)
    with open_engine(place, config=config) as engine:
        engine.rebuild_indexes()
        yield engine


def watch(monkeypatch: pytest.MonkeyPatch) -> dict[str, set[str]]:
    """From now on, the parameters that each kind of step reads."""
    seen: dict[str, set[str]] = {kind: set() for kind in STEPS}
    for kind, ways in STEPS.items():
        for use, function in ways.items():

            def watched(
                context: Any, state: Any, parameters: Any, kind: str = kind, function: Any = function
            ) -> Any:
                watcher = Watched(dict(parameters))
                yield from function(context, state, watcher)
                seen[kind] |= watcher.read

            monkeypatch.setitem(ways, use, watched)  # type: ignore[arg-type]
    return seen


def test_every_parameter_is_read_and_every_read_one_declared(
    full: Engine, samples: Engine, scripted_server: ScriptedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = watch(monkeypatch)
    for use in EXPLORATIONS:
        for engine in (full, samples):
            list(engine.ask(QUESTION, settings={"exploration.use": use}))
            list(engine.ask("Where did Roda Tennant work?", settings={"exploration.use": use}))
    list(full.ask(QUESTION, settings={"focus.filter": "rerank"}))
    scripted_server.answer_with(lambda _: '{"missing": "Roda Tennant"}')
    list(full.ask("Who knew Roda Tennant?"))
    assert seen == {kind: set(kinds) for kind, kinds in PARAMETERS.items()}
    for step in full.pipeline("graph_rag").definition.steps:
        assert set(step.parameters) == seen[step.step]


def test_declared_templates_are_those_that_run(full: Engine, samples: Engine) -> None:
    """Over all explorations, with and without models."""
    ran: dict[str, set[str]] = {}
    for use in EXPLORATIONS:
        for engine in (full, samples):
            collect(engine, ran, {"exploration.use": use})
    collect(full, ran, {"focus.use": "rank"})
    declared = {s.name: set(s.templates) for s in full.pipeline("graph_rag").definition.steps}
    declared["synthesis"] -= {"retrieval/chunks"} - ran["synthesis"]  # of passages that focus did not read
    assert {name: found for name, found in ran.items() if found} == {
        name: found - SOMETIMES for name, found in declared.items() if found - SOMETIMES
    }


SOMETIMES = {
    "provenance/containers",  # for facts without a quote
    "facts/text-wrong",  # where somebody decided so: see ingest/test_fact_edits
    "selection/filtered",  # with a reranker as filter: see test_filter
    "retrieval/sentences-with",  # of hubs that the question names: there too
    "retrieval/unread-facts",  # where facts were imported: see exchange/test_take
    "retrieval/document-texts",  # of dialogues: see test_evidence
    "retrieval/passage-degrees",  # where the number of relations counts: see test_hybrid
    "retrieval/passage-relations",  # where there are relations
    "retrieval/synonyms",  # where names that are nearly the same count: see ingest/test_candidates
    "retrieval/entities-by-label",  # without the index of words: see test_degraded
}


def collect(engine: Engine, ran: dict[str, set[str]], settings: dict[str, str]) -> None:
    """Add the templates that each step of a question recorded."""
    for message in engine.ask(QUESTION, settings={"synthesis.suggestions": "1", **settings}):
        for triple in message.explain_triples:
            if triple.predicate == RAG.template and isinstance(triple.object, Literal):
                ran.setdefault(message.kind, set()).add(triple.object.value)


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ({"focus.edge_limit": "-1"}, "whole number from 0"),
        ({"exploration.max_path_length": "-1"}, "from 0 to 20"),
        ({"exploration.triple_limit": "99999999999999999999"}, "to 1e"),
        ({"exploration.passages": "0"}, "from 1"),
        ({"synthesis.max_sentences": "0"}, "from 1"),
        ({"focus.min_score": "nan"}, "from 0 to 1"),
        ({"exploration.lexical_weight": "-0.5"}, "from 0"),
        ({"exploration.threshold": "1.5"}, "from 0 to 1"),
        ({"synthesis.allow_general_knowledge": "maybe"}, "true or false"),
    ],
)
def test_meaningless_values_are_refused(samples: Engine, setting: dict[str, str], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        list(samples.ask(QUESTION, settings=setting))


@pytest.mark.parametrize(
    "setting",
    [
        {"focus.edge_limit": "0"},
        {"focus.sentence_limit": "0"},
        {"exploration.max_path_length": "0"},
        {"exploration.max_path_length": "5"},
        {"synthesis.max_sentences": "1"},
        {"exploration.sentence_limit": "0"},
        {"exploration.lexical_weight": "0", "exploration.graph_weight": "0"},
        {"exploration.use": "activation", "exploration.passage_limit": "1", "exploration.rounds": "0"},
    ],
)
def test_values_at_the_edge_work(samples: Engine, setting: dict[str, str]) -> None:
    answer = list(samples.ask(QUESTION, settings=setting))[-1].answer
    assert answer is not None
    assert answer["answer"]
    if "synthesis.max_sentences" in setting:
        assert len({c["sentence"] for c in answer["citations"]}) == 1


def test_auto_is_offered_only_where_it_can_be_used(samples: Engine) -> None:
    with pytest.raises(ConfigError) as refused:
        list(samples.ask(QUESTION, settings={"exploration.use": "auto"}))
    assert refused.value.hint == "it can use: hops, activation, hybrid"


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("rounds: 4 ", "roundz: 4 ", "rounds|roundz"),
        ("rounds: 4 ", "rounds: many ", "whole number"),
        ("min_score: 0.15", "min_score: 15", "from 0 to 1"),
    ],
)
def test_a_pipeline_of_ones_own_is_checked_when_it_is_read(
    tmp_path: Path, old: str, new: str, message: str
) -> None:
    """The message names the file, before any step has run."""
    shutil.copytree(folder("pipelines") / "graph_rag", tmp_path / "graph_rag")
    file = tmp_path / "graph_rag" / "pipeline.yaml"
    text = file.read_text("utf-8")
    assert old in text
    file.write_text(text.replace(old, new), "utf-8")
    with pytest.raises(ConfigError, match=message) as refused:
        load_pipeline("graph_rag", [folder("pipelines"), tmp_path])
    assert str(file) in str(refused.value)


def test_whole_numbers_will_do_where_any_number_is_taken(tmp_path: Path) -> None:
    shutil.copytree(folder("pipelines") / "graph_rag", tmp_path / "graph_rag")
    file = tmp_path / "graph_rag" / "pipeline.yaml"
    file.write_text(file.read_text("utf-8").replace("lexical_weight: 1.0", "lexical_weight: 1"), "utf-8")
    pipeline: Pipeline = load_pipeline("graph_rag", [tmp_path])
    definition: PipelineDefinition = pipeline.with_settings({"exploration.lexical_weight": "0.5"}).definition
    assert definition.steps[1].parameters["lexical_weight"] == 0.5


def test_the_wishes_for_an_answer_reach_the_prompt(full: Engine, scripted_server: ScriptedServer) -> None:
    wishes = {"synthesis.response_type": "one haiku", "synthesis.allow_general_knowledge": "true"}
    list(full.ask(QUESTION, settings=wishes))
    assert "one haiku" in scripted_server.requests[-1].prompt
    assert "[LLM: verify]" in scripted_server.requests[-1].prompt
    list(full.ask(QUESTION))
    assert "one haiku" not in scripted_server.requests[-1].prompt
    assert "[LLM: verify]" not in scripted_server.requests[-1].prompt


@pytest.mark.parametrize("key", ["trace.graph", "extract.namespace"])
def test_settings_that_must_be_iris_are(key: str) -> None:
    with pytest.raises(ConfigError, match=f"{key}: not an absolute IRI"):
        load_settings(overrides={key: "not an iri"})
