"""The pipeline `auto` chooses among those that the store has input for, and the trace says which and why."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from graphrag_rdf.checks import run_checks, run_shapes
from graphrag_rdf.config import Settings
from graphrag_rdf.engine import Engine
from graphrag_rdf.errors import ConfigError
from graphrag_rdf.resources import folder
from graphrag_rdf.trace.model import Trace
from graphrag_rdf.wings.audit.verify import verify
from tests.support.scripted_server import Request, ScriptedServer
from tests.support.stores import open_engine
from tests.wings.agents.pipeline.test_agent import model

QUESTION = "Who invented the reversing gear?"
LACKING = "global needs communities; local needs communities; drift needs communities; agent needs model"


def ask(engine: Engine, **settings: str) -> Trace:
    *_, last = engine.ask(
        QUESTION, "auto", settings={key.replace("_", "."): v for key, v in settings.items()}
    )
    assert last.answer is not None, last.error
    return engine.traces["last"]


def kinds(trace: Trace) -> list[str]:
    return [step.kind for step in trace.steps]


@pytest.mark.parametrize(
    ("reply", "steps"),
    [
        ("graph_rag\na person", ["grounding", "exploration", "focus", "synthesis"]),
        ("doc_rag\na person", ["grounding", "exploration", "synthesis"]),
        ("**agent**\na person", ["pattern-decision", "analysis", "observation", "analysis", "conclusion"]),
        ("`sparql`\na person", ["grounding", "query", "synthesis"]),
    ],
)
def test_a_model_chooses(
    engine: Engine, scripted_server: ScriptedServer, reply: str, steps: list[str]
) -> None:
    def routed(request: Request) -> object:
        if "name of one way" not in request.prompt:
            if "sparql" in reply:
                return "ASK { ?s ?p ?o }" if "Write a SPARQL" in request.prompt else "Yes. [1]"
            return model(request)
        return reply if "graph_rag:" in request.prompt else "react"

    scripted_server.answer_with(routed)  # type: ignore[arg-type]
    trace = ask(engine)
    assert kinds(trace) == ["question", "pattern-decision", *steps]
    assert trace.steps[1].values == {
        "pattern": reply.partition("\n")[0].strip("*`"),
        "task": "a person",
        "reason": "the model chose it",
    }
    prompt = scripted_server.requests[0].prompt
    for option in ("graph_rag", "doc_rag", "sparql", "agent"):
        assert f"{option}: {engine.pipeline(option).definition.good_for}" in prompt
    assert run_checks(engine.store, engine.blobs, engine.text_index) == []
    assert run_shapes(engine.store.quads()) == []


def test_a_reply_that_names_none_means_the_first(engine: Engine, scripted_server: ScriptedServer) -> None:
    scripted_server.answer_with(
        lambda request: "I think so." if "name of one way" in request.prompt else model(request)
    )
    trace = ask(engine)
    assert kinds(trace)[2] == "grounding"
    assert trace.steps[1].values["pattern"] == "graph_rag"
    assert trace.steps[1].values["reason"] == "the model named no option, so it is the first"


def test_without_a_model_the_first_that_has_input_counts(samples: Engine) -> None:
    trace = ask(samples)
    assert trace.steps[1].values["pattern"] == "graph_rag"
    assert "agent needs model" in trace.steps[1].values["reason"]
    assert "Rhoda Tennant" in (trace.steps[-1].answer or "")


@pytest.mark.parametrize(
    ("question", "pattern", "reason"),
    [
        (
            "How many people are there?",
            "sparql",
            "the template cookbook/how-many-of-type answers the question",
        ),
        ("List all organisations.", "sparql", "the template cookbook/of-type answers the question"),
        (
            "What happened between 1911 and 1924?",
            "sparql",
            "the template cookbook/between answers the question",
        ),
        (
            "When did the Petrel sink?",
            "graph_rag",
            f"the first pipeline that can answer here ({LACKING})",
        ),
        (
            "Who invented the reversing gear?",
            "graph_rag",
            f"the first pipeline that can answer here ({LACKING})",
        ),
        (
            "How many tonnes of stone filled the hole?",
            "graph_rag",
            f"the first pipeline that can answer here ({LACKING})",
        ),
    ],
)
def test_without_a_model_counts_and_lists_are_queries(
    samples: Engine, question: str, pattern: str, reason: str
) -> None:
    *_, last = samples.ask(question, "auto")
    assert last.answer is not None, last.error
    assert last.answer["answered"]
    trace = samples.traces["last"]
    assert trace.steps[1].values == {"pattern": pattern, "task": None, "reason": reason}
    assert [check for check in verify(samples, trace.iri) if not check.ok] == []
    assert run_shapes(samples.store.quads()) == []


def test_a_store_without_names_is_searched_by_words(tmp_path: Path) -> None:
    text = tmp_path / "weather.txt"
    text.write_text("the weather was wet and the sheep stayed in their pens until it was dry again.\n")
    with open_engine(tmp_path / "store", config=Settings()) as engine:
        engine.ingest([text])
        *_, last = engine.ask("Where did the sheep stay in wet weather?", "auto")
        assert last.answer is not None
        assert "in their pens" in last.answer["answer"]
        values = engine.traces["last"].steps[1].values
        assert values["pattern"] == "doc_rag"
        assert "graph_rag needs entities" in values["reason"]


def test_an_option_can_be_asked_for(samples: Engine) -> None:
    trace = ask(samples, choice_pattern="doc_rag")
    assert trace.steps[1].values["reason"] == "it was asked for"
    assert "focus" not in kinds(trace)
    *_, last = samples.ask(QUESTION, "auto", settings={"choice.pattern": "nothing"})
    assert last.error is not None
    assert "there is no option 'nothing'" in last.error["message"]


def test_options_that_all_lack_something_are_an_error(sample_folder: Path, tmp_path: Path) -> None:
    own = tmp_path / "pipelines" / "auto"
    shutil.copytree(folder("pipelines") / "auto", own)
    text = (own / "pipeline.yaml").read_text()
    kept = [line for line in text.splitlines() if "run: agent" in line or "run:" not in line]
    (own / "pipeline.yaml").write_text("\n".join(kept))
    shutil.copytree(sample_folder, tmp_path / "store")
    config = Settings(pipelines=tmp_path / "pipelines")
    with open_engine(tmp_path / "store", config=config) as engine:
        *_, last = engine.ask(QUESTION, "auto")
        assert last.error is not None
        assert "no pipeline can answer from this store" in last.error["message"]
        assert "agent needs model" in last.error["message"]


def test_without_a_model_the_hint_leads_to_no_second_error(samples: Engine) -> None:
    *_, last = samples.ask(QUESTION, "agent")
    assert last.error is not None
    assert last.error["hint"] == "name one with --model"
    *_, last = samples.ask(QUESTION, "agent", settings={"pattern.use": "rules"})
    assert last.error is not None
    assert last.error["hint"] == "name a model with --model"


def test_what_has_no_search_cannot_retrieve(samples: Engine) -> None:
    with pytest.raises(ConfigError, match="auto has no step that searches"):
        samples.retrieve(QUESTION, pipeline="auto")
