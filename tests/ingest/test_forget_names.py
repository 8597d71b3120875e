"""After forgetting, no word that only the forgotten document had stands anywhere in the store's folder."""

from __future__ import annotations

import contextlib
import random
import re
import zlib
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyoxigraph import DefaultGraph, NamedNode

from graphrag_rdf.checks import run_checks
from graphrag_rdf.engine import Engine
from graphrag_rdf.errors import UsageError
from graphrag_rdf.index.records import KINDS
from graphrag_rdf.ingest.entity_decisions import merge
from graphrag_rdf.ingest.forget import forget_documents
from graphrag_rdf.ingest.plan import find_documents
from graphrag_rdf.ingest.resolutions import Merge
from graphrag_rdf.rdf.namespaces import Graphs
from graphrag_rdf.trace.feedback import add_mark
from graphrag_rdf.trace.text import render_trace
from graphrag_rdf.wings.audit.verify import verify
from tests.ingest.conftest import MakeEngine, by_model, everything
from tests.support.scripted_server import ScriptedServer

_SYLLABLES = ("quor", "zan", "bleth", "vym", "drux", "fipp", "woth", "glau", "nesk", "jurb")
_SENTENCES = (
    "{a} met {b} at the {place}.",
    "{a} founded the {place}.",
    "{b} is a {trade}.",
    "The {place} was designed by {b}.",
    "{b} {verb} {a}.",
)


def words_of(text: str) -> set[str]:
    """The words of a text that are long enough not to stand in a number or hash by chance."""
    return {word for word in re.findall(r"[^\W\d_]+", text.lower()) if len(word) > 6}


class Author:
    """Writes documents of words that no language has, so that each word is of one document only."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        self._used: set[str] = set()

    def word(self) -> str:
        """A word that was not used before."""
        while (made := "".join(self._random.choices(_SYLLABLES, k=3))) in self._used:
            pass
        self._used.add(made)
        return made

    def name(self) -> str:
        """A name of two words."""
        return f"{self.word().title()} {self.word().title()}"

    def document(self, *shared: str) -> str:
        """A document on its own people, of which the first also met those of other documents."""
        a, b, place = self.name(), self.name(), f"{self.name()} Lighthouse"
        given = {"a": a, "b": b, "place": place, "trade": self.word(), "verb": self.word() + "ed"}
        lines = [line.format(**given) for line in _SENTENCES]
        lines += [f"{a} met {other}." for other in shared] + ["Ada Lovelace met Charles Babbage."]
        self._random.shuffle(lines)
        return f"# {self.word().title()} papers\n\n" + " ".join(lines) + "\n"


def found_in_files(folder: Path, words: set[str]) -> Iterator[str]:
    """Words that the bytes of files hold, in UTF-8 or UTF-16, plain or deflated."""
    for path in sorted(p for p in folder.rglob("*") if p.is_file()):
        data = path.read_bytes()
        with contextlib.suppress(zlib.error):
            data += zlib.decompress(data)
        data = data.lower()
        for word in words:
            if word.encode() in data or word.encode("utf-16-le") in data:
                yield f"{word} in {path.relative_to(folder)}"


def found_in_store(engine: Engine, words: set[str]) -> Iterator[str]:
    """Words that quads, kept texts or terms of the indexes hold."""
    for quad in everything(engine):
        said = str(quad).lower()
        yield from (f"{word} in {quad}" for word in words if word in said)
    for iri in engine.blobs.objects():
        said = (engine.blobs.get(iri) or b"").decode(errors="replace").lower()
        yield from (f"{word} in the object {iri}" for word in words if word in said)
    for kind in KINDS:
        yield from (
            f"{word} in the index of {kind}" for word in words if engine.text_index.holders(word, kind=kind)
        )


def work_on(engine: Engine, texts: dict[str, str]) -> None:
    """Ask about the documents, mark an answer, merge entities, correct a fact."""
    names = {name for text in texts.values() for name in re.findall(r"[A-Z][a-z]+ [A-Z][a-z]+(?= met)", text)}
    for name in sorted(names)[:3]:
        list(engine.ask(f"Whom did {name} meet?"))
    list(engine.ask("Who met Charles Babbage?"))
    for trace in engine.traces.list():
        note = f"about {trace.question}"
        with contextlib.suppress(UsageError):  # an answer that says that it does not know has nothing to mark
            add_mark(
                engine.store, NamedNode(trace.iri), "helpful", note=note, by="Ada", graph=Graphs.RETRIEVAL
            )
    entities = [engine.entity(name) for name in sorted(names)]
    merge(engine, [Merge(entities[0], (entities[0], entities[1]), reason="by hand")])
    facts = [
        (q.subject, q.predicate, q.object)
        for q in everything(engine)
        if q.predicate.value.endswith("/r/met") and q.graph_name == DefaultGraph() and "hopper" not in str(q)
    ]
    for s, p, o in sorted(facts, key=str)[:3]:
        engine.facts.correct(str(s), str(p), str(o), object="Grace Hopper", by="Ada", reason="a slip")


@pytest.mark.embedded
@pytest.mark.parametrize(("seed", "model"), [pytest.param(0, False, marks=pytest.mark.slow), (1, True)])
def test_no_word_of_a_forgotten_document_is_left(
    tmp_path: Path, docs: Path, engine_of: MakeEngine, scripted_server: ScriptedServer, seed: int, model: bool
) -> None:
    overrides = by_model(scripted_server) if model else {}
    author = Author(seed)
    texts: dict[str, str] = {}
    for _ in range(3):
        shared = [m for text in texts.values() for m in re.findall(r"(\w+ \w+) met", text)[:1]]
        texts[f"{author.word()} {author.word()}.md"] = author.document(*shared)
    for name, text in texts.items():
        (docs / name).write_text(text)
    victim = sorted(texts)[seed]
    with engine_of("store", **overrides) as engine:
        engine.ingest([docs])
        work_on(engine, texts)
        extra = f"{author.name()} met {author.name()}. "
        (docs / victim).write_text(extra + texts[victim])  # an edit, then questions, then the edit undone
        engine.ingest([docs])
        list(engine.ask(f"Whom did {extra.split(' met', maxsplit=1)[0]} meet?"))
        (docs / victim).write_text(texts[victim])
        engine.ingest([docs])
        work_on(engine, texts)
        assert engine.facts.decisions()
        assert any(engine.traces[trace.iri].marks for trace in engine.traces.list())
    others = {word for name, text in texts.items() if name != victim for word in words_of(f"{name} {text}")}
    secret = words_of(f"{victim} {texts[victim]} {extra}") - others - words_of("papers grace hopper")
    assert len(secret) > 10
    assert {found.split(" in ")[0] for found in found_in_files(tmp_path / "store", secret)} > set()
    with engine_of("store", **overrides) as engine:
        forget_documents(engine, find_documents(engine.store, [f"docs/{victim}"]))
        assert sorted(found_in_store(engine, secret)) == []
        assert run_checks(engine.store, engine.blobs, engine.text_index) == []
        erased = [trace for trace in engine.traces.list() if engine.traces[trace.iri].source_forgotten]
        assert erased
        for trace in erased:
            assert "a document was forgotten" in render_trace(engine.traces[trace.iri])
            assert any("forgotten" in check.detail for check in verify(engine, trace.iri))
    assert sorted(found_in_files(tmp_path / "store", secret)) == []
