"""The graph_rag pipeline on the sample documents, without a model."""

from __future__ import annotations

import json
import shutil
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from graphrag_rdf.config import Settings
from graphrag_rdf.engine import Engine
from graphrag_rdf.errors import ConfigError, UsageError
from graphrag_rdf.rdf.namespaces import RAG, Graphs
from graphrag_rdf.steps.kinds import kinds
from graphrag_rdf.trace.messages import GraphRagResponse
from tests.support.stores import open_engine

QUESTIONS = [
    json.loads(line)
    for line in (Path(__file__).resolve().parents[2] / "examples" / "questions.jsonl")
    .read_text("utf-8")
    .splitlines()
]
PLAIN = [item for item in QUESTIONS if item["group"] == "plain"]
# what words and names do not reach; a model does
BEYOND_RULES = {
    "Who was the father of the woman who opened the Skell Tidal Station?",
    "In which town is the maker of the broken hinge pin that the museum shows?",
}


def run(engine: Engine, question: str, **options: Any) -> list[GraphRagResponse]:
    return list(engine.ask(question, **options))


def final(engine: Engine, question: str, **options: Any) -> dict[str, Any]:
    answer = run(engine, question, **options)[-1].answer
    assert answer is not None
    return answer


@pytest.mark.parametrize(
    "item", [one for one in QUESTIONS if one not in PLAIN], ids=lambda item: str(item["id"])
)
def test_sample_questions_are_answered_from_their_documents(samples: Engine, item: dict[str, Any]) -> None:
    if item["q"] in BEYOND_RULES:
        pytest.skip("needs a model: listed in examples/questions.md as hard")
    answer = final(samples, item["q"])
    texts = " ".join(passage["text"] for passage in answer["passages"])
    if not item["answers"]:
        assert answer["citations"] == []
        assert not answer["answered"]
        assert "no_relevant_facts" in {warning["type"] for warning in answer["warnings"]}
    elif item["group"] == "contradiction":
        assert all(wanted in texts for wanted in item["answers"])
    else:
        assert any(wanted in texts for wanted in item["answers"])


def test_plain_questions_are_answered_by_passages(samples: Engine) -> None:
    """Nine of ten by one of three passages, two of three by the first."""
    first = three = 0
    for item in PLAIN:
        texts = [" ".join(one["text"].split()) for one in final(samples, item["q"])["passages"]]
        first += any(wanted in text for wanted in item["answers"] for text in texts[:1])
        three += any(wanted in text for wanted in item["answers"] for text in texts)
    assert three >= 0.9 * len(PLAIN)
    assert first >= 0.66 * len(PLAIN)


def test_what_is_said_of_somebody_else_is_no_answer(samples: Engine) -> None:
    """Elspeth studied, and Beatrice is mentioned with her; without the name in question it is an answer."""
    asked = final(samples, "What did Beatrice Pennock study?")
    assert asked["citations"] == []
    assert "engineering" in final(samples, "What did Elspeth Marwick study?")["answer"]


@pytest.mark.parametrize(
    ("text", "question", "quoted", "not_quoted"),
    [
        (
            "Who opened the station? Beatrice Pennock opened the station in 1926.",
            "Who opened the station?",
            "Beatrice Pennock opened the station in 1926.",
            "Who opened",
        ),
        (
            "潮东水电站在哪里？潮东水电站位于浙江省。水电站什么时候建成的呢。水电站于1986年建成。",
            "水电站什么时候建成的？",
            "水电站于1986年建成。",
            "什么时候",
        ),
        (
            "Ada: Hey Bert! Ada: Did you try the bakery? Bert: I liked the raspberry tart of it most.",
            "What did Bert like most at the bakery?",
            "raspberry tart",
            "Hey",
        ),
    ],
    ids=["question", "question in Chinese", "greeting"],
)
def test_what_answers_nothing_is_not_quoted(
    tmp_path: Path, text: str, question: str, quoted: str, not_quoted: str
) -> None:
    document = tmp_path / "text.txt"
    document.write_text(text, "utf-8")
    with open_engine(":memory:", config=Settings()) as engine:
        engine.ingest([document])
        answer = final(engine, question)["answer"]
    assert quoted in answer
    assert not_quoted not in answer


def test_the_margin_is_the_sum_of_its_shares(samples: Engine) -> None:
    triples = [
        triple
        for message in run(samples, "When was the Skell Tidal Station opened?")
        if message.kind == "synthesis"
        for triple in message.explain_triples
    ]
    (margin,) = [float(triple.object.value) for triple in triples if triple.predicate == RAG.margin]
    shares = [float(triple.object.value) for triple in triples if triple.predicate == RAG.share]
    signals = {triple.object.value for triple in triples if triple.predicate == RAG.signal}
    assert signals == {"said", "lead", "unknown", "incomplete", "no figure", "reversed", "left out"}
    assert sum(shares) == pytest.approx(margin)


def test_messages_come_in_their_order(samples: Engine) -> None:
    messages = run(samples, "When was the Skell Tidal Station opened?")
    kinds = [message.kind for message in messages]
    assert kinds == [
        "session",
        "question",
        "grounding",
        "exploration",
        "focus",
        "answer",
        "synthesis",
        "final",
    ]
    assert [message.message_id for message in messages] == [str(n) for n in range(len(messages))]
    assert messages[-1].end_of_session
    assert all(message.message_type == "explain" for message in messages[:5])


def test_triples_are_in_the_store_before_their_message_is_seen(samples: Engine) -> None:
    for message in samples.ask("When was the Skell Tidal Station opened?"):
        stored = set(samples.store.quads(Graphs.RETRIEVAL)) if message.explain_triples else set()
        assert set(message.explain_triples) <= stored


def test_every_quote_stands_at_its_offset(samples: Engine) -> None:
    """Each citation can be checked against the document's kept text, character by character."""
    for question in ("When was the Skell Tidal Station opened?", "What caused the failure of Gate 4?"):
        answer = final(samples, question)
        for citation in answer["citations"]:
            for source in citation["sources"]:
                text = _text_of(samples, source["document"])
                start = source["char_offset"]
                assert text[start : start + source["char_length"]] == source["quote"]
                assert source["verified"]


def test_pages_of_a_pdf_are_named(samples: Engine) -> None:
    answer = final(samples, "What caused the failure of Gate 4?")
    pages = {
        s["page_number"] for c in answer["citations"] for s in c["sources"] if s["document"].endswith(".pdf")
    }
    assert pages
    assert None not in pages


def test_an_answer_is_repeatable(samples: Engine) -> None:
    first, second = (final(samples, "On which date did the Petrel sink?") for _ in range(2))
    volatile = {"question_iri", "steps", "seconds"}
    assert {k: v for k, v in first.items() if k not in volatile} == {
        k: v for k, v in second.items() if k not in volatile
    }


@pytest.mark.parametrize("pipeline", ["hops_rag", "graph_rag"])
def test_both_explorations_answer(samples: Engine, pipeline: str) -> None:
    answer = final(samples, "Who invented the reversing gear?", pipeline=pipeline)
    assert "Rhoda Tennant" in answer["answer"]


@pytest.mark.parametrize("setting", ["exploration.max_path_length", "exploration.edge_limit"])
def test_sentences_answer_where_no_facts_are_followed(samples: Engine, setting: str) -> None:
    """Also sentences whose mention of what the question names was not recorded."""
    answer = final(samples, "Who invented the reversing gear?", pipeline="hops_rag", settings={setting: "0"})
    assert "Rhoda Tennant" in answer["answer"]
    assert answer["citations"]


def test_an_unread_index_is_said_and_does_not_stop_the_answer(sample_folder: Path, tmp_path: Path) -> None:
    """Without the text index the degraded path says so."""
    damaged = tmp_path / "store"
    shutil.copytree(sample_folder, damaged)
    for file in (damaged / "index" / "text").rglob("*"):
        if file.is_file() and file.suffix == ".json":
            file.write_text("{broken")
    with open_engine(damaged, config=Settings()) as engine:
        answer = final(engine, "Who invented the reversing gear?")
    assert "index_missing" in {warning["type"] for warning in answer["warnings"]}


@pytest.mark.parametrize("question", ["", "   \n", "x" * 100_000])
def test_unfit_questions_are_refused(samples: Engine, question: str) -> None:
    with pytest.raises(UsageError):
        run(samples, question)


def test_hostile_questions_are_data(samples: Engine) -> None:
    hostile = "Who } DROP ALL ; INSERT DATA { <urn:x> <urn:y> <urn:z> } #\"'\\ \x1b[31m {{ 7*7 }} ?"
    before = len(samples.store.query("SELECT * { ?s ?p ?o }").rows or [])
    final(samples, hostile)
    assert len(samples.store.query("SELECT * { ?s ?p ?o }").rows or []) == before


def test_an_excluded_entity_is_not_followed(samples: Engine) -> None:
    answer = final(samples, "Who invented the reversing gear?", exclude=["Rhoda Tennant"])
    quotes = [source["quote"] for citation in answer["citations"] for source in citation["sources"]]
    assert not any("Rhoda Tennant" in text for text in (answer["answer"], *quotes))
    assert not any("Rhoda Tennant" in source["quote"] for source in answer["closest"])


def test_an_unknown_entity_is_an_error(samples: Engine) -> None:
    with pytest.raises(UsageError, match="Nobody Atall"):
        run(samples, "Who?", include=["Nobody Atall"])


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ({"nothing.x": "1"}, "no step"),
        ({"focus.nothing": "1"}, "no parameter"),
        ({"focus.edge_limit": "many"}, "whole number"),
        ({"exploration.use": "magic"}, "cannot use"),
        ({"exploration.use": "hybrid"}, "graph_rag cannot use 'hybrid': hybrid_rag can"),
        ({"exploration.relation_hops": "2"}, "no parameter 'relation_hops': hybrid_rag has it"),
        ({"exploration.entity_limit": "2"}, "no parameter 'entity_limit': hops_rag has it"),
    ],
)
def test_wrong_settings_of_a_pipeline_name_what_is_known(
    samples: Engine, setting: dict[str, str], message: str
) -> None:
    with pytest.raises(ConfigError, match=message):
        run(samples, "Who?", settings=setting)


def test_a_question_that_is_abandoned_closes_its_trace(samples: Engine) -> None:
    messages = samples.ask("When was the Skell Tidal Station opened?")
    session = next(messages).explain_id
    next(messages)
    messages.close()
    outcome = "<https://w3id.org/graphrag-rdf/ns#outcome>"
    found = samples.store.query(
        f'ASK {{ GRAPH <urn:graph:retrieval> {{ <{session}> {outcome} "cancelled" }} }}'
    )
    assert found.boolean


def test_a_retrieval_that_is_interrupted_closes_its_trace(
    samples: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    ways = kinds()["explore"].ways
    monkeypatch.setitem(ways, "activation", replace(ways["activation"], run=interrupted))  # type: ignore[arg-type]
    question = "Who invented the reversing gear, and was interrupted?"
    with pytest.raises(KeyboardInterrupt):
        samples.retrieve(question, stored=True)
    asked = "<https://trustgraph.ai/ns/query>"
    outcome = "<https://w3id.org/graphrag-rdf/ns#outcome>"
    found = samples.store.query(
        f'ASK {{ GRAPH <urn:graph:retrieval> {{ ?s {asked} "{question}" ; {outcome} "cancelled" }} }}'
    )
    assert found.boolean


def test_retrieve_ranks_passages_and_writes_nothing(samples: Engine) -> None:
    before = samples.store.commit_number()
    found = samples.retrieve("Who invented the reversing gear?", k=5, preview=True)
    assert samples.store.commit_number() == before
    assert "reversing gear" in found["results"][0]["text"]
    ranks = [result["rank"] for result in found["results"]]
    assert 1 < len(ranks) <= 5
    assert ranks == list(range(1, len(ranks) + 1))
    assert found["edges"]


def _text_of(engine: Engine, document: str) -> str:
    rows = engine.store.query(
        "SELECT ?text { GRAPH <urn:graph:source> {"
        f" <{document}> <https://w3id.org/graphrag-rdf/ns#currentVersion>/"
        "<https://w3id.org/graphrag-rdf/ns#extractedText> ?text } }"
    ).rows
    assert rows
    text = engine.blobs.text(rows[0]["text"])  # type: ignore[arg-type]
    assert text is not None
    return text


def test_a_line_that_ends_with_a_comma_becomes_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "letter.txt").write_text("Dear Miriam Reyl,\n\nwe reached Cape Sorrow on 2 July 1887.\n")
    with open_engine(":memory:") as engine:
        engine.ingest([tmp_path])
        answer = final(engine, "Who is Miriam Reyl?")["answer"]
    assert "Dear Miriam Reyl. [" in answer


def test_the_first_message_comes_before_anything_is_looked_for(
    samples: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However long its trace takes to be stored: who waits sees that something is under way."""
    store, ran = samples.store, list[str]()
    run_template, commit = store.run, store.commit

    def noted(template: str, /, **values: Any) -> Any:
        ran.append(template)
        return run_template(template, **values)

    def slow(changes: Any) -> int:
        time.sleep(0.1)
        return commit(changes)

    monkeypatch.setattr(store, "run", noted)
    monkeypatch.setattr(store, "commit", slow)
    messages = samples.ask("When did the Petrel sink?")
    assert next(messages).kind == "session"
    assert not [name for name in ran if name.startswith("retrieval/")]
    assert list(messages)[-1].answer
    assert [name for name in ran if name.startswith("retrieval/")]
