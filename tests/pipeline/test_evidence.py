"""What a model is shown when it chooses and when it answers, over the wire, and what its trace keeps."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from pyoxigraph import NamedNode

from graphrag_rdf.engine import Engine
from graphrag_rdf.rdf.json_values import to_json
from graphrag_rdf.rdf.terms import text_of
from graphrag_rdf.resources import folder
from graphrag_rdf.steps.checking import SENTINEL
from graphrag_rdf.trace.model import Trace
from graphrag_rdf.trace.reader import read_trace
from graphrag_rdf.trace.text import render_trace
from graphrag_rdf.wings.audit.verify import verify
from tests.documents.test_pdf_tables import head, row
from tests.pipeline.test_with_a_model import settings
from tests.support.pdf import make_pdf, show
from tests.support.scripted_server import Request, ScriptedServer, in_parts, number_of, offered, shown
from tests.support.stores import open_engine

QUESTION = "Who invented the reversing gear?"
Choose = Callable[[dict[str, str]], list[dict[str, Any]]]


@pytest.fixture
def engine(sample_folder: Path, tmp_path: Path, scripted_server: ScriptedServer) -> Iterator[Engine]:
    """The sample store with a scripted model, and a chat."""
    shutil.copytree(sample_folder, tmp_path / "store")
    (tmp_path / "chat.md").write_text(
        "---\nauthor: Nora Quill\ndate: 2024-05-06\n---\n"
        "Lena Brook: I moved to Kelmar last week. The flat has a view of the harbour.\n"
        "Omar Falk: You told me so! I went to the market. I bought eleven lemons there.\n"
        "Lena Brook: My sister bakes with lemons. She owns the Blue Oven.\n"
        "Omar Falk: I know you love that shop.\n"
    )
    with open_engine(
        tmp_path / "store", config=settings(scripted_server, **{"extract.use": "rules"})
    ) as opened:
        opened.ingest([tmp_path / "chat.md"])
        yield opened


def scripted(
    server: ScriptedServer, choose: Choose, answer: Callable[[dict[str, str]], str] | str
) -> dict[str, str]:
    """A model that chooses and answers so; its prompts, by what they ask for."""
    asked: dict[str, str] = {}

    def reply(request: Request) -> str:
        if "knowledge graph will be searched" in request.prompt:
            return "reversing gear"
        if "JSON Lines" in request.prompt:
            asked["reasons" if "select" in asked else "select"] = request.prompt
            return "\n".join(map(json.dumps, choose(offered(request.prompt))))
        asked["answer"] = request.prompt
        said = answer if isinstance(answer, str) else answer(shown(request.prompt))
        return in_parts(request.prompt, choose(offered(request.prompt)), said)

    server.answer_with(reply)
    return asked


def ask(
    engine: Engine, question: str = QUESTION, pipeline: str = "graph_rag", **steps: str
) -> tuple[dict[str, Any], Trace]:
    chosen = {key.replace("__", "."): value for key, value in steps.items()}
    *_, last = engine.ask(question, pipeline, settings=chosen, cache=False)
    assert last.answer is not None, last.error
    (owner,) = engine.store.select("trace/session-of", node=NamedNode(last.answer["question_iri"]))
    return last.answer, read_trace(engine.store, owner["session"].value, engine.blobs)


def checks(engine: Engine, trace: Trace) -> dict[str, bool]:
    return {check.check: check.ok for check in verify(engine, trace.iri)}


def nothing(offers: dict[str, str]) -> list[dict[str, Any]]:
    del offers
    return [{"id": "none"}]


def test_each_sentence_is_offered_once_also_without_a_fact(
    engine: Engine, scripted_server: ScriptedServer
) -> None:
    asked = scripted(scripted_server, nothing, "It is so. [1]")
    ask(engine, focus__use="llm-score")
    for prompt in asked.values():
        documents = prompt.partition("<evidence>")[2].split("\n# ")
        said = [re.findall(r"^(?:\[\d+\]\*?|\d+\.) (.+)$", text, re.MULTILINE) for text in documents]
        assert all(len(lines) == len(set(lines)) for lines in said)
        assert sum(map(len, said)) > 3
    facts = [words for words in offered(asked["select"]).values() if words.startswith("fact: ")]
    assert 0 < len(facts) < len(offered(asked["select"])) - len(facts)


def test_choosing_nothing_does_not_end_the_run(engine: Engine, scripted_server: ScriptedServer) -> None:
    """The chunks stay as evidence; what the answer cites of them is a selection, although nobody chose it."""
    scripted(scripted_server, nothing, lambda lines: f"Rhoda Tennant. [{number_of(lines, 'reversing gear')}]")
    answer, trace = ask(engine)
    focus = next(step for step in trace.steps if step.kind == "focus")
    assert [one for one in focus.selections if not one.whole] == []
    assert all(one.score and one.reasoning for one in focus.selections)
    (citation,) = answer["citations"]
    assert "reversing gear" in citation["sources"][0]["quote"]
    assert citation["sources"][0]["verified"]
    assert answer["answered"]
    assert all(checks(engine, trace).values())
    told = render_trace(trace, full=True)
    assert f"Selected {len(focus.selections)} chunk(s)" in told
    assert "Reason: rank 1 of" in told
    assert "Selected 1 more sentence(s)" in told
    synthesis = next(step for step in trace.steps if step.kind == "synthesis")
    assert [one["marker"] for one in to_json(synthesis)["selections"]] == [int(citation["marker"][1:-1])]


def test_what_was_needed_is_marked_in_the_next_prompt(
    engine: Engine, scripted_server: ScriptedServer
) -> None:
    def choose(offers: dict[str, str]) -> list[dict[str, Any]]:
        return [
            {"id": next(iter(offers)), "reasoning": "it names her"},
            {"id": 9999, "reasoning": "made up"},
            {"missing": "zzqx wqqzz"},
        ]

    asked = scripted(scripted_server, choose, lambda lines: "".join(f"So. [{n}]" for n in lines))
    answer, trace = ask(engine)
    (chosen,) = (one for one in trace.selections if one.reasoning == "it names her")
    assert chosen.sentence
    assert chosen.marker is not None
    assert re.search(r"^\[1\]\* .+\n   why: it names her$", asked["answer"], re.MULTILINE)
    assert "selection_ignored" in {warning["type"] for warning in answer["warnings"]}
    assert "it names her" in {c["reasoning"] for c in answer["citations"]}
    assert all(checks(engine, trace).values())


def test_a_fact_that_a_model_read_is_cited_by_its_own_number(
    tmp_path: Path, scripted_server: ScriptedServer
) -> None:
    """Those that rules read only repeat their sentences, and are not shown."""
    (tmp_path / "mill.md").write_text("# Mill\n\nAda Moor built Lindow Mill. The mill has four floors.\n")
    config = settings(scripted_server, **{"extract.use": "llm"})
    with open_engine(tmp_path / "store", config=config) as engine:
        engine.ingest([tmp_path / "mill.md"])

        def choose(offers: dict[str, str]) -> list[dict[str, Any]]:
            fact = next(
                key for key, words in offers.items() if words == "fact: Ada Moor | built | Lindow Mill"
            )
            return [{"id": fact, "reasoning": "says who"}]

        asked = scripted(scripted_server, choose, "made up")
        scripted_server.answer_with(
            lambda request: in_parts(
                asked.setdefault("answer", request.prompt),
                choose(offered(request.prompt)),
                f"Ada Moor built it. [{number_of(offered(request.prompt), 'built')}]"
                f"[{choose(offered(request.prompt))[0]['id']}]",
            )
        )
        answer, trace = ask(engine, "Who built Lindow Mill?", grounding__use="rules")
        assert re.search(
            r"^\[\d\] Ada Moor built Lindow Mill\.\n   \[\d\] fact: ", asked["answer"], re.MULTILINE
        )
        sentence, fact = answer["citations"]
        assert sentence["marker"] != fact["marker"]
        assert "edge" not in sentence
        assert fact["edge"]["o_label"] == "Lindow Mill"
        assert fact["reasoning"] == "says who"
        assert fact["sources"][0]["quote"] == "Ada Moor built Lindow Mill."
        assert all(checks(engine, trace).values())
        (cited,) = (
            engine.store.query(
                "SELECT ?s WHERE { GRAPH ?g { ?sentence <https://w3id.org/graphrag-rdf/ns#cites> ?item ."
                " ?item <https://trustgraph.ai/ns/edge> <<( ?s ?p ?o )>> } }"
            ).rows
            or []
        )
        assert text_of(cited["s"]) == "http://trustgraph.ai/e/ada-moor"


@pytest.mark.parametrize(
    ("text", "warned"),
    [
        ("", False),
        ("None.", False),
        ('{"id": "none"}', False),
        ('{"id": 1, "score": 0}', False),
        ("Sentences 1 and 2 help.", True),
        ('{"id": "9999", "reasoning": "made up"}', True),
    ],
)
def test_a_choice_of_nothing_and_one_that_cannot_be_read_differ(
    engine: Engine, scripted_server: ScriptedServer, text: str, warned: bool
) -> None:
    scripted_server.answer_with(lambda request: text if "JSON Lines" in request.prompt else "She did. [1]")
    answer, trace = ask(engine, focus__use="llm-score")
    assert ("selection_ignored" in {warning["type"] for warning in answer["warnings"]}) == warned
    assert [one for one in trace.selections if not one.whole and one.marker is None] == []
    assert answer["citations"]


def test_greetings_of_a_chat_have_no_number_of_their_own(
    engine: Engine, scripted_server: ScriptedServer, tmp_path: Path
) -> None:
    """They stand on the line of what follows in the turn, or of what went before; an emoji alone on none."""
    (tmp_path / "pier.md").write_text(
        "Lena Brook: Hey Omar! Have you seen the pier in Sandvik? I took the ferry there.\n"
        "Omar Falk: 🎉🎉\n"
        "Omar Falk: Wow! Cool. The pier in Sandvik was built by Jo Berg. Thanks!\n"
        "Lena Brook: Great! 5 pm!\n"
    )
    engine.ingest([tmp_path / "pier.md"])
    asked = scripted(scripted_server, nothing, lambda lines: f"Jo Berg. [{number_of(lines, 'Jo Berg')}]")
    answer, trace = ask(engine, "Who built the pier in Sandvik?")
    lines = set(shown(asked["answer"]).values())
    assert {
        "Lena Brook: Hey Omar! Have you seen the pier in Sandvik?",
        "Lena Brook: I took the ferry there.",
        "Omar Falk: Wow! Cool. The pier in Sandvik was built by Jo Berg. Thanks!",
        "Lena Brook: Great! 5 pm!",
    } <= lines
    assert "🎉" not in asked["answer"]
    quotes = {source["quote"] for citation in answer["citations"] for source in citation["sources"]}
    assert quotes == {"The pier in Sandvik was built by Jo Berg."}
    assert all(checks(engine, trace).values())


def test_rows_of_a_table_are_shown_with_their_columns_dashes_and_unit(
    engine: Engine, scripted_server: ScriptedServer, tmp_path: Path
) -> None:
    """Also those of which no facts are read: totals without a name, and names that stand twice."""
    page = show(50, 720, "Moor Works: pulp by mill") + show(50, 700, "(in thousands)")
    page += head(700, "2021", "2022", "2023")
    page += row(680, "Corrie", "120", "—", "145") + row(660, "Kelmar", "80", "95", "99")
    page += row(640, "", "200", "95", "244") + row(620, "% of pulp", "40%", "41%", "42%")
    page += row(600, "Sandvik", "12", "14", "19") + row(580, "% of pulp", "4%", "5%", "6%")
    (tmp_path / "pulp.pdf").write_bytes(make_pdf([page]))
    engine.ingest([tmp_path / "pulp.pdf"])
    asked = scripted(scripted_server, nothing, lambda lines: f"145. [{number_of(lines, 'Corrie')}]")
    _, trace = ask(engine, "How much pulp did Moor Works make in Corrie in 2023?")
    lines = [line for line in shown(asked["answer"]).values() if line.count("|") == 3]
    assert lines == [
        "Corrie | 120 | — | 145",
        "Kelmar | 80 | 95 | 99",
        "| 200 | 95 | 244",
        "% of pulp | 40% | 41% | 42%",
        "Sandvik | 12 | 14 | 19",
        "% of pulp | 4% | 5% | 6%",
    ]
    assert asked["answer"].count("\n(in thousands) | 2021 | 2022 | 2023\n") == 1
    assert all(checks(engine, trace).values())


def test_a_sentence_of_a_dialogue_has_its_speaker_and_its_document_who_and_when(
    engine: Engine, scripted_server: ScriptedServer
) -> None:
    asked = scripted(scripted_server, nothing, lambda lines: f"Omar. [{number_of(lines, 'eleven lemons')}]")
    answer, trace = ask(engine, "Who bought eleven lemons at the market?")
    lines = shown(asked["answer"]).values()
    assert "Omar Falk: I bought eleven lemons there." in lines
    assert "Lena Brook: She owns the Blue Oven." in lines
    assert not any("Omar Falk: Omar Falk" in line for line in lines)
    assert re.search(r"^# .*\(Nora Quill; 2024-05-06\)$", asked["answer"], re.MULTILINE)
    assert answer["citations"][0]["sources"][0]["quote"] == "I bought eleven lemons there."
    assert checks(engine, trace)["prompt"]


def test_long_chunks_are_shown_in_windows_and_the_trace_says_what_had_no_room(
    engine: Engine, scripted_server: ScriptedServer
) -> None:
    asked = scripted(scripted_server, nothing, lambda lines: f"She did. [{next(iter(lines))}]")
    limits = {
        "focus__whole_chunks": "0",
        "focus__window_tokens": "60",
        "focus__chunk_tokens": "120",
        "synthesis__evidence_tokens": "90",
    }
    _, trace = ask(engine, **limits)
    focus, synthesis = (s for s in trace.steps if s.kind in ("focus", "synthesis"))
    windows = [source.char_length or 0 for one in focus.selections if one.whole for source in one.sources]
    assert 0 < max(windows) < 500
    assert focus.values["left_out"]
    assert synthesis.values["left_out"]
    assert synthesis.values["evidence_tokens"]
    assert synthesis.values["evidence_tokens"] <= 90
    assert "reversing gear" in asked["answer"].partition("<evidence>")[2], (
        "the window is around what is asked"
    )
    assert all(checks(engine, trace).values())


def test_the_best_chunks_are_shown_whole_and_others_in_windows(
    engine: Engine, scripted_server: ScriptedServer
) -> None:
    scripted(scripted_server, nothing, "She did. [1]")
    _, trace = ask(engine, focus__window_tokens="30", focus__whole_chunks="1", focus__whole_tokens="2000")
    first, *others = (one for one in trace.selections if one.whole)
    texts = {
        row["chunk"].value: row["text"]
        for row in engine.store.select("retrieval/chunks", chunks=[one.chunk for one in (first, *others)])
    }
    assert first.char_length is None
    for one in others:
        if len(texts[str(one.chunk and one.chunk.value)].split()) > 40:
            assert one.char_length
            assert one.char_length < 300
    assert all(checks(engine, trace).values())


def test_with_edges_alone_the_answer_has_nothing_else(
    engine: Engine, scripted_server: ScriptedServer
) -> None:
    asked = scripted(
        scripted_server,
        lambda offers: [{"id": next(key for key, words in offers.items() if words.startswith("fact: "))}],
        "She did. [1]",
    )
    _, trace = ask(engine, focus__use="edges")
    assert len(shown(asked["answer"])) == 1
    assert [one.fact is not None for one in trace.selections] == [True]
    assert all(checks(engine, trace).values())
    asked = scripted(scripted_server, nothing, "made up")
    answer, _ = ask(engine, focus__use="edges")
    assert "answer" not in asked
    assert not answer["answered"]


def test_scores_first_then_reasons(engine: Engine, scripted_server: ScriptedServer) -> None:
    def choose(offers: dict[str, str]) -> list[dict[str, Any]]:
        return [
            {"id": key, "score": 0.9 - n / 10} if n < 9 else {"id": key, "score": 0}
            for n, key in enumerate(offers)
        ]

    asked = scripted(scripted_server, choose, "She did. [1]")
    answer, trace = ask(engine, focus__use="llm-score", focus__edge_limit="3")
    assert len(offered(asked["reasons"])) <= 4
    assert sorted(one.score or 0 for one in trace.selections if not one.whole) == pytest.approx(
        [0.7, 0.8, 0.9]
    )
    focus = next(step for step in trace.steps if step.kind == "focus")
    assert focus.in_tokens == sum(call.in_tokens or 0 for call in focus.calls)
    assert answer["usage"]["llm_calls"] == 3


def test_chunks_that_fit_cost_no_call(engine: Engine, scripted_server: ScriptedServer) -> None:
    asked = scripted(scripted_server, nothing, "She did. [1]")
    answer, trace = ask(
        engine, focus__use="chunks", focus__chunk_tokens="20000", focus__window_tokens="20000"
    )
    assert "Write in two parts" not in asked["answer"]
    assert answer["usage"]["llm_calls"] == 1
    assert answer["citations"]
    assert checks(engine, trace)["prompt"]
    ask(engine, focus__use="chunks", focus__window_tokens="50")
    assert "Write in two parts" in asked["answer"]


def test_by_rank_the_evidence_has_the_same_form(engine: Engine, scripted_server: ScriptedServer) -> None:
    asked = scripted(scripted_server, nothing, "She did. [1]")
    _, trace = ask(engine, focus__use="rank")
    assert "select" not in asked
    assert any(one.whole for one in trace.selections)
    assert any("*" in line for line in re.findall(r"^\[\d+\]\*?", asked["answer"], re.MULTILINE))
    assert all(checks(engine, trace).values())


def test_an_answer_may_still_be_that_it_does_not_know(
    engine: Engine, scripted_server: ScriptedServer
) -> None:
    scripted(scripted_server, nothing, SENTINEL)
    answer, trace = ask(engine)
    assert not answer["answered"]
    assert answer["citations"] == []
    assert all(checks(engine, trace).values())


def test_what_was_not_selected_in_the_prompt_is_found(
    engine: Engine, tmp_path: Path, scripted_server: ScriptedServer
) -> None:
    """A prompt of somebody's own that smuggles a sentence into the evidence."""
    place = engine.place
    assert place is not None
    engine.close()
    own = tmp_path / "own" / "graph_rag"
    shutil.copytree(folder("pipelines") / "graph_rag", own)
    prompt = (own / "answer.j2").read_text("utf-8")
    (own / "answer.j2").write_text(
        prompt.replace("</evidence>", "[99] The moon is made of cheese.\n</evidence>")
    )
    scripted(scripted_server, nothing, "She did. [1]")
    config = settings(scripted_server, pipelines=tmp_path / "own")
    with open_engine(place.root, config=config) as opened:
        _, trace = ask(opened)
        found = {c.check: c for c in verify(opened, trace.iri)}
    assert not found["prompt"].ok
    assert "[99] “The moon is made of cheese.” was not selected" in found["prompt"].detail
    assert all(check.ok for name, check in found.items() if name != "prompt")
