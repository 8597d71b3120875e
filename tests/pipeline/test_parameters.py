"""What pipeline.yaml declares is what its steps read and run, and meaningless values are refused."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from pyoxigraph import Literal
from rdflib import Graph, URIRef

from graphrag_rdf.config import load_settings
from graphrag_rdf.engine import Engine
from graphrag_rdf.errors import ConfigError
from graphrag_rdf.pipeline import load_pipeline, pipeline_names
from graphrag_rdf.rdf.namespaces import RAG
from graphrag_rdf.resources import folder
from graphrag_rdf.sparql.library import TemplateLibrary
from graphrag_rdf.steps.activate import SEARCH, ActivationParameters
from graphrag_rdf.steps.checking import SENTINEL
from graphrag_rdf.steps.kinds import StepKind, Way, check_values, kinds, takes
from tests.pipeline.test_with_a_model import QUESTION, model, settings
from tests.support.scripted_server import Reply, ScriptedServer
from tests.support.stores import open_engine

PIPELINES = ("graph_rag", "hybrid_rag", "hops_rag")


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
    models |= {"communities.reports": "extractive"}
    config = settings(scripted_server, **models)
    with open_engine(place, config=config) as engine:
        engine.rebuild_indexes()
        yield engine


def watch(monkeypatch: pytest.MonkeyPatch) -> dict[tuple[str, str], set[str]]:
    """From now on, the parameters that each way of a step reads."""
    seen: dict[tuple[str, str], set[str]] = {}
    for kind in kinds().values():
        for use, way in kind.ways.items():

            def watched(
                context: Any,
                state: Any,
                parameters: Any,
                key: tuple[str, str] = (kind.name, use),
                way: Way = way,
            ) -> Any:
                watcher = Watched(dict(parameters))
                yield from way.run(context, state, watcher)
                seen.setdefault(key, set()).update(watcher.read & way.parameters.model_fields.keys())
                assert watcher.read <= way.parameters.model_fields.keys() | SEARCH.keys() | ACTIVATION

            monkeypatch.setitem(kind.ways, use, replace(way, run=watched))  # type: ignore[arg-type]
    return seen


ACTIVATION = ActivationParameters.model_fields.keys()
"""What an activation falls back to, where a way has no such parameter."""


def test_every_declared_parameter_is_read(
    full: Engine, samples: Engine, scripted_server: ScriptedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    full.refresh("communities")
    seen = watch(monkeypatch)
    quoting = {"primer.use": "extractive", "follow_up.use": "words", "synthesis.use": "extractive"}
    list(full.ask(QUESTION, "drift", settings=quoting))
    for pipeline in pipeline_names([folder("pipelines")]):
        for engine in (full, samples):
            list(engine.ask(QUESTION, pipeline))
            list(engine.ask("Where did Roda Tennant work?", pipeline))
    for use in ("words", "meaning", "both"):
        list(full.ask(QUESTION, "doc_rag", settings={"exploration.use": use, "focus.diversity": "mmr"}))
    for use in ("rank", "llm-score", "chunks", "edges"):
        list(full.ask(QUESTION, settings={"focus.filter": "rerank", "focus.use": use}))
    scripted_server.answer_with(lambda _: "MISSING: Roda Tennant")
    for use in ("llm", "chunks"):
        settings = {"focus.filter": "rerank", "focus.use": use, "focus.chunk_tokens": "30"}
        list(full.ask("Who knew Roda Tennant?", settings=settings))
    scripted_server.answer_with(lambda _: SENTINEL)
    list(full.ask(QUESTION))
    list(full.ask(QUESTION, "overview"))
    scripted_server.answer_with(lambda _: "SELECT * { ?s ?p ?o } LIMIT 3")
    list(full.ask("Who knew Roda Tennant?", "sparql"))
    points = '{"points": [{"description": "It is so.", "score": 80, "findings": [1]}],'
    points += ' "ratings": [{"report": 1, "rating": 9}]}'
    scripted_server.answer_with(lambda request: "So. [1]" if request.body.get("stream") else points)
    for use in ("extractive", "llm"):
        settings = {"reports.use": "dynamic", "points.use": use, "synthesis.use": use}
        list(full.ask(QUESTION, "global", settings=settings))
    declared = {
        (kind.name, use): set(way.parameters.model_fields)
        for kind in kinds().values()
        for use, way in kind.ways.items()
    }
    seen["reduce_points", "extractive"].add("max_sentences")  # where a finding answers: see test_global
    for way in (way for way, names in declared.items() if "dates" in names):  # see test_dates
        seen[way] |= {"dates", "since", "until", "valid", "outside_weight"} & declared[way]
    assert seen == declared


def test_declared_templates_are_those_that_run(
    full: Engine, samples: Engine, scripted_server: ScriptedServer
) -> None:
    """Over all explorations, with and without models."""
    ran: dict[str, set[str]] = {}
    declared: dict[str, set[str]] = {}
    for pipeline in PIPELINES:
        for engine in (full, samples):
            collect(engine, ran, pipeline)
        for step in full.pipeline(pipeline).definition.steps:
            for way in step.kind.ways.values():
                declared.setdefault(f"{pipeline}.{step.name}", set()).update(way.templates)
        for use in ("rank", "llm-score"):
            collect(full, ran, pipeline, {"focus.use": use})
        scripted_server.answer_with(lambda _: "MISSING: Roda Tennant")
        collect(full, ran, pipeline, {"focus.chunk_tokens": "30"})
        scripted_server.answer_with(model())
    for step, found in declared.items():
        own = ran.get(step, set())
        assert own <= found, step
        unread: set[str] = set()
        if step.endswith(".synthesis"):
            # by other steps, at times
            unread |= {"retrieval/chunks", "retrieval/mentioned-entities", "retrieval/passage-sentences"}
            unread.add("provenance/places")
            unread.add("retrieval/evidence-sentences")  # of questions with dates: see test_dates
            # where an answer cites a fact by its own number: see test_evidence
            unread |= {"provenance/quotes", "provenance/derivations"}
        assert found - own <= SOMETIMES | unread, step


SOMETIMES = {
    *("retrieval/edges", "derived/fact-descriptions"),  # where an import described facts
    "selection/weighed",  # where documents have an authority: see cli/test_authority
    "retrieval/inferred-facts",  # where the answer may rest on them: see cli/test_inferred_answers
    "provenance/origins",  # of facts that were read from no text
    "facts/text-wrong",  # where somebody decided so: see ingest/test_fact_edits
    "retrieval/sentence-texts",  # of the hops, where no facts are followed: see test_graph_rag
    "retrieval/counted",  # where no seed is counted: see store/test_written_before
    "retrieval/unread-facts",  # where facts were imported: see exchange/test_take
    "retrieval/document-texts",  # of dialogues: see test_evidence
    "retrieval/passage-degrees",  # where the number of relations counts: see test_hybrid
    "retrieval/passage-relations",  # where there are relations
    "retrieval/entities-by-label",  # without the index of words: see test_degraded
    "documents/languages",  # the same
    # of questions with dates: see test_dates
    *("retrieval/chunks-of-period", "retrieval/oldest-newest", "facts/validity"),
    # where the store has such facts, or relations that are one: see ingest/test_fact_edits
    *("retrieval/facts-by-hand", "retrieval/metadata-facts", "retrieval/unverified-facts"),
    *("retrieval/relation-names", "selection/decided-against"),
}


def collect(
    engine: Engine, ran: dict[str, set[str]], pipeline: str, settings: dict[str, str] | None = None
) -> None:
    """Add the templates that each step of a question recorded."""
    for message in engine.ask(
        QUESTION, pipeline, settings={"synthesis.suggestions": "1", **(settings or {})}
    ):
        for triple in message.explain_triples:
            if triple.predicate == RAG.template and isinstance(triple.object, Literal):
                ran.setdefault(f"{pipeline}.{message.kind}", set()).add(triple.object.value)


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ({"focus.edge_limit": "-1"}, "whole number from 0"),
        ({"exploration.rounds": "-1"}, "from 0 to 2"),
        ({"exploration.rounds": "1.0"}, "whole number"),
        ({"exploration.passages": "99999999999999999999"}, "to 1,000,000"),
        ({"focus.filter": "both"}, "one of none, llm, rerank"),
        ({"exploration.passages": "0"}, "from 1"),
        ({"synthesis.max_sentences": "0"}, "from 1"),
        ({"focus.min_score": "nan"}, "from 0 to 1"),
        ({"exploration.passage_words": "-0.5"}, "from 0"),
        ({"exploration.rerank_weight": "1.5"}, "from 0 to 1"),
        ({"synthesis.allow_general_knowledge": "maybe"}, "true or false"),
    ],
)
def test_meaningless_values_are_refused(samples: Engine, setting: dict[str, str], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        list(samples.ask(QUESTION, settings=setting))


@pytest.mark.parametrize(
    ("pipeline", "setting"),
    [
        ("graph_rag", {"focus.edge_limit": "0"}),
        ("graph_rag", {"focus.sentence_limit": "0"}),
        ("hops_rag", {"exploration.max_path_length": "0"}),
        ("hops_rag", {"exploration.max_path_length": "5"}),
        ("graph_rag", {"synthesis.max_sentences": "1"}),
        ("graph_rag", {"exploration.passage_words": "0"}),
        ("hops_rag", {"exploration.lexical_weight": "0", "exploration.graph_weight": "0"}),
        ("hybrid_rag", {"exploration.passage_limit": "1", "exploration.rounds": "0"}),
    ],
)
def test_values_at_the_edge_work(samples: Engine, pipeline: str, setting: dict[str, str]) -> None:
    answer = list(samples.ask(QUESTION, pipeline, settings=setting))[-1].answer
    assert answer is not None
    assert answer["answer"]
    assert all(0 <= cited["score"] <= 1 for cited in answer["citations"])
    if "synthesis.max_sentences" in setting:
        assert len({c["sentence"] for c in answer["citations"]}) == 1


def test_auto_is_offered_only_where_it_can_be_used(samples: Engine) -> None:
    with pytest.raises(ConfigError) as refused:
        list(samples.ask(QUESTION, settings={"exploration.use": "auto"}))
    assert refused.value.hint == "it can use: activation"


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("rounds: 2 ", "roundz: 2 ", "roundz"),
        ("rounds: 2 ", "rounds: many ", "whole number"),
        ("rounds: 2 ", "rerank_weight: 15 ", "from 0 to 1"),
        ("step: explore", "step: explor", "unknown kind 'explor'"),
        ("step: explore", "step: explore\n    use: hybrid", "cannot use 'hybrid'"),
        ("summary:", "sumary:", "summary|sumary"),
        ("label: GraphRAG", "label: GraphRAG\nprompts_of: graph_rga", "no pipeline named 'graph_rga'"),
        ("step: synthesise", "step: synthesise\n    prompts: {answr: mine.j2}", "no prompt 'answr'"),
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


@pytest.mark.parametrize("text", ["", "# nothing yet", "- ground"])
def test_a_file_without_keys_is_refused_and_hides_no_other_error(tmp_path: Path, text: str) -> None:
    (tmp_path / "mine").mkdir()
    file = tmp_path / "mine" / "pipeline.yaml"
    file.write_text(text, "utf-8")
    folders = [folder("pipelines"), tmp_path]
    with pytest.raises(ConfigError, match="has no keys") as refused:
        load_pipeline("mine", folders)
    assert str(file) in str(refused.value)
    with pytest.raises(ConfigError, match="hybrid_rag can"):
        load_pipeline("graph_rag", folders).with_settings({"exploration.use": "hybrid"})


def copy_of_graph_rag(tmp_path: Path, **changes: str) -> Path:
    """A folder of pipelines with a copy of graph_rag, in which texts are replaced."""
    shutil.copytree(folder("pipelines") / "graph_rag", tmp_path / "graph_rag")
    file = tmp_path / "graph_rag" / "pipeline.yaml"
    text = file.read_text("utf-8")
    for old, new in changes.items():
        assert old in text
        text = text.replace(old, new)
    file.write_text(text, "utf-8")
    return tmp_path


def test_whole_numbers_will_do_where_any_number_is_taken(tmp_path: Path) -> None:
    copy_of_graph_rag(tmp_path, **{"rounds: 2 ": "rerank_weight: 1 "})
    pipeline = load_pipeline("graph_rag", [tmp_path])
    assert pipeline.parameters(with_model=False)["exploration"]["rerank_weight"] == 1
    changed = pipeline.with_settings({"exploration.rerank_weight": "0.25"})
    assert changed.parameters(with_model=False)["exploration"]["rerank_weight"] == 0.25


OLD_FILE = """
name: graph_rag
summary: As written by an earlier version.
flow: sequence
label: GraphRAG
question: [tg:GraphRagQuestion]
steps:
  - {name: grounding, step: ground, class: tg:Grounding, use: auto, prompt: concepts.j2,
     templates: [documents/languages], parameters: {max_concepts: 7}}
  - {name: exploration, step: explore, class: tg:Exploration, use: activation, templates: [retrieval/names],
     parameters: {rounds: 2, entity_limit: 50, relation_hops: 1, weight_causes: 0.22,
                  synonym_weight: 0.5}, stop_when_empty: true}
  - {name: focus, step: focus, class: tg:Focus, prompt: mine.j2, filter_prompt: filter.j2}
  - {name: synthesis, step: synthesise, class: tg:Synthesis, prompt: answer.j2, suggest_prompt: suggest.j2,
     repair_prompt: repair.j2}
"""


def test_a_file_of_an_earlier_version_still_works(
    sample_folder: Path, tmp_path: Path, scripted_server: ScriptedServer
) -> None:
    """Its prompts are used; what it holds that nothing reads is named in warnings."""
    mine = copy_of_graph_rag(tmp_path / "pipelines") / "graph_rag"
    (mine / "pipeline.yaml").write_text(OLD_FILE, "utf-8")
    (mine / "select.j2").rename(mine / "mine.j2")
    pipeline = load_pipeline("graph_rag", [folder("pipelines"), mine.parent])
    parameters = pipeline.parameters(with_model=True)
    assert parameters["grounding"]["max_concepts"] == 7
    assert parameters["exploration"]["rounds"] == 2
    assert "entity_limit" not in parameters["exploration"]
    shutil.copytree(sample_folder, tmp_path / "store")
    scripted_server.answer_with(model())
    config = settings(scripted_server, pipelines=str(mine.parent))
    with open_engine(tmp_path / "store", config=config) as engine:
        *_, last = engine.ask(QUESTION)
        ranked = engine.retrieve(QUESTION)
    assert last.answer is not None
    assert last.answer["citations"]
    told, again = (
        [one["detail"] for one in found["warnings"] if one["type"] == "setting_ignored"]
        for found in (last.answer, ranked)
    )
    assert told == again
    assert len(told) == 4
    assert all(words.startswith(str(mine / "pipeline.yaml")) for words in told)
    unused = "class, templates, entity_limit, relation_hops, weight_causes, synonym_weight"
    assert told[1].endswith(f"step exploration does not use {unused}: remove them")


@pytest.mark.parametrize("kind", kinds().values(), ids=lambda kind: kind.name)
def test_each_kind_of_step_declares_all_its_parts(kind: StepKind) -> None:
    library = TemplateLibrary(folder("queries"))
    prompts = {path.name for path in folder("pipelines").glob("*/*.j2")}
    assert kind.about.endswith(".")
    assert kind.ways
    assert kind.auto is None or {*kind.auto} <= kind.ways.keys()
    defaults: dict[str, object] = {}
    for use, way in kind.ways.items():
        assert set(way.templates) <= library.keys(), use
        assert set(way.prompts.values()) <= prompts, use
        assert bool(way.needs_model) <= bool(way.prompts), f"{use} asks a model, but has no prompt"
        for name, parameter in way.parameters.model_fields.items():
            assert parameter.description, f"{use}.{name} has no line of help"
            assert "\n" not in parameter.description
            assert not parameter.is_required(), f"{use}.{name} has no default"
            assert defaults.setdefault(name, parameter.default) == parameter.default, f"{use}.{name}"
            assert check_values(way.parameters, "step", {name: parameter.default})[name] == parameter.default
            assert takes(parameter)
    declared = set(Graph().parse(folder("ontology") / "graphrag-rdf.ttl").subjects())
    declared |= set(Graph().parse(folder("ontology") / "trustgraph.ttl").subjects())
    for node in (kind.node.type, *kind.node.types, *(item.type for item in kind.node.items if item.type)):
        assert URIRef(node.value) in declared
    assert kind.node.about.endswith(".")
    if kind.auto:
        without, with_one = (kind.ways[use] for use in kind.auto)
        assert (without.needs_model, with_one.needs_model) == (False, True)


def test_activation_has_few_parameters() -> None:
    assert len(kinds()["explore"].parameters) <= 15


def test_each_pipeline_finds_its_prompts() -> None:
    folders = [folder("pipelines")]
    for name in pipeline_names(folders):
        pipeline = load_pipeline(name, folders)
        for step in pipeline.definition.steps:
            for file in {**step.kind.prompts, **step.prompts}.values():
                assert any((place / file).is_file() for place in pipeline.prompt_folders), (name, file)


def test_the_wishes_for_an_answer_reach_the_prompt(full: Engine, scripted_server: ScriptedServer) -> None:
    wishes = {"synthesis.response_type": "one haiku", "synthesis.allow_general_knowledge": "true"}
    list(full.ask(QUESTION, settings=wishes))
    assert "one haiku" in scripted_server.requests[-1].prompt
    assert "[LLM: verify]" in scripted_server.requests[-1].prompt
    list(full.ask(QUESTION))
    assert "one haiku" not in scripted_server.requests[-1].prompt
    assert "[LLM: verify]" not in scripted_server.requests[-1].prompt


def test_general_knowledge_is_marked_in_the_trace(full: Engine, scripted_server: ScriptedServer) -> None:
    scripted_server.answer_with(
        lambda request: Reply(
            "It sank. [1] Ships sink when they fill. [LLM: verify]" if request.body.get("stream") else "[]"
        )
    )
    *_, last = full.ask(QUESTION, settings={"synthesis.allow_general_knowledge": "true"})
    assert last.answer is not None
    assert {one["sentence"] for one in last.answer["citations"]} == {"It sank. [1]"}
    trace = full.traces["last"]
    said = [(one.general, bool(one.cites)) for step in trace.steps for one in step.sentences]
    assert said == [(None, True), (True, False)]
    *_, last = full.ask(QUESTION)
    assert last.answer is not None
    assert "general_knowledge" in {one["type"] for one in last.answer["warnings"]}


@pytest.mark.parametrize("key", ["trace.graph", "extract.namespace"])
def test_settings_that_must_be_iris_are(key: str) -> None:
    with pytest.raises(ConfigError, match=f"{key}: not an absolute IRI"):
        load_settings(overrides={key: "not an iri"})
