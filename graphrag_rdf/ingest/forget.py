"""Forgets documents: facts that only they support are removed, and their text is erased everywhere."""

from __future__ import annotations

import re
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from pyoxigraph import NamedNode

from graphrag_rdf import layout
from graphrag_rdf.documents.sentences import split_sentences
from graphrag_rdf.errors import ConfigError, NotPurgedError, StoreError, UsageError
from graphrag_rdf.extract.names import fold
from graphrag_rdf.i18n import listed, tr
from graphrag_rdf.ingest.boilerplate import mark_boilerplate
from graphrag_rdf.ingest.decisions import all_kinds, read_decisions
from graphrag_rdf.ingest.drop_made import drop_made
from graphrag_rdf.ingest.entity_decisions import settle
from graphrag_rdf.ingest.fact_decisions import FACTS
from graphrag_rdf.ingest.plan import find_documents
from graphrag_rdf.ingest.relations import build_relations, built
from graphrag_rdf.ingest.retract import retract_chunks, retract_metadata, retract_subgraphs
from graphrag_rdf.rdf import iris
from graphrag_rdf.rdf.namespaces import RDF, Graphs
from graphrag_rdf.rdf.terms import Statement, Term, local_name, now
from graphrag_rdf.store.base import Changes, Row, Store, in_batches, select_in_batches
from graphrag_rdf.trace.kinds import erased_words, item_links
from graphrag_rdf.trace.recorder import bar_runs, watch_runs
from graphrag_rdf.wing import absent

if TYPE_CHECKING:
    from graphrag_rdf.ingest import NeededComponents
    from graphrag_rdf.llm.cache import ResponseCache

_BATCH = 200
_WITH_STATEMENTS = [Graphs.SOURCE, Graphs.RETRIEVAL, Graphs.SYSTEM]
_NOT_WORD = re.compile(r"[\W_]+")
_IRIS = re.compile(rb"<([^<>\s]+)>")
_NAMING = 4  # bytes: shorter names ("Al") are in most answers of models, which cost money to get again
_TELLING = 12  # characters: shorter sentences ("He left.") are in too many texts to identify one


@dataclass(slots=True)
class Forgotten:
    """The effects of forgetting, done or planned.

    Attributes:
        facts, entities: gone with the documents.
        kept_facts: facts of the documents that other documents support too.
        traces: traces whose text was erased because they rest on the documents.
        erased: objects of the blob store and entries of the cache that held their text.
        pending: whether the files of the database and the indexes are still to be rewritten.
        warnings: as type and detail.
    """

    documents: int = 0
    chunks: int = 0
    facts: int = 0
    entities: int = 0
    kept_facts: int = 0
    traces: int = 0
    erased: int = 0
    pending: bool = False
    warnings: list[dict[str, str]] = field(default_factory=list)

    def warn(self, kind: str, detail: str) -> None:
        """Add a warning."""
        self.warnings.append({"type": kind, "detail": detail})

    def as_json(self) -> dict[str, object]:
        """The keys of `forget --format json`."""
        return {
            "documents": self.documents,
            "removed": {"chunks": self.chunks, "facts": self.facts, "entities": self.entities},
            "kept_facts": self.kept_facts,
            "traces": self.traces,
            "erased": self.erased,
            "erasure_pending": self.pending,
            "warnings": self.warnings,
        }


def forget_named(
    engine: NeededComponents,
    names: Sequence[str],
    *,
    dry_run: bool = False,
    rewrite: bool = True,
    notify: Callable[[str], None] | None = None,
) -> Forgotten:
    """Forget documents by their names; arguments and errors as of `forget_documents`.

    If the files of an earlier erasure are not rewritten yet, unknown names are taken for its documents.

    Raises:
        UsageError: see `find_documents`.
    """
    try:
        documents = find_documents(engine.store, names)
    except UsageError:
        if dry_run or not is_pending(engine.store):
            raise
        documents = []
    return forget_documents(engine, documents, dry_run=dry_run, rewrite=rewrite, notify=notify)


def is_pending(store: Store) -> bool:
    """Whether files of the store may still hold forgotten text."""
    return bool(store.select("checks/erasures-finished", limit=1))


def forget_documents(
    engine: NeededComponents,
    documents: Sequence[NamedNode],
    *,
    dry_run: bool = False,
    rewrite: bool = True,
    notify: Callable[[str], None] | None = None,
) -> Forgotten:
    """Forget documents: chunks, facts that only they support, and their text in traces, blobs, cache,
    indexes and database files. Hashes stay, and so do facts that other documents support.

    The documents that they were before their files were moved are forgotten with them. An unfinished erasure
    is completed, also without any documents.

    Args:
        rewrite: also rewrite the files; else that is pending until `rewrite_files`.
        notify: called with each step that begins.

    Raises:
        NotPurgedError: files of the database still hold the text. Forgetting again completes it.
        StoreError: something else cannot be erased. Forgetting again continues.
    """
    store, notify = engine.store, notify or (lambda _: None)
    erased = 0 if dry_run else finish_erasure(engine, notify)
    before = store.select("forget/predecessors", documents=documents) if documents else []
    documents = [*documents, *(row["document"] for row in before)]
    if documents and not dry_run:
        watch_runs(store)
    found = _find(store, documents)
    out = found.counts
    out.documents = len(documents) - len(before)
    _warn_of_prompt(engine, found)
    if absent():
        out.warn(
            "wings_missing",
            tr(
                "texts that the wings {names} wrote from these documents, such as reports, stay: this "
                "installation lacks these wings. Install them, and run: graphrag-rdf communities build"
            ).format(names=listed(absent())),
        )
    if dry_run:
        return out
    out.erased = erased
    if documents:
        _take_out(engine, documents, found, notify)
    out.pending = is_pending(store)
    if rewrite and out.pending:
        notify(tr("rewriting the database, so that its files do not hold the text"))
        if (left := rewrite_files(engine)) is not None:
            out.warn("not_purged", left)
        out.pending = False
    return out


@dataclass(slots=True)
class _Known:
    """What is known of an erasure while it runs, and lost when it is stopped.

    Attributes:
        texts: of all versions of the documents.
        named: rows of `forget/named`, read before the documents were removed.
        objects: of the blob store, to erase by name.
        words: texts whose objects and answers of models are erased.
        answered: more texts whose answers of models are erased.
    """

    texts: list[str]
    named: list[Row]
    objects: list[str]
    words: list[str]
    answered: list[str]


def _take_out(
    engine: NeededComponents, documents: Sequence[NamedNode], found: _Found, notify: Callable[[str], None]
) -> None:
    """Remove documents from the store, and their text from everything but files."""
    store = engine.store
    notify(tr("removing facts that nothing else supports"))
    engine.indexer.recover()
    changes = Changes(updates=[("forget/begin", {"documents": documents, "now": now()})])
    sentences = store.select("ingest/sentences-of", chunks=found.chunks) if found.chunks else []
    texts = _texts(engine, documents, found)
    made, inputs = _made_texts(store, found)
    words = [*_words(store, found, texts), *made]
    objects = [row["object"] for row in store.select("forget/objects", documents=documents)]
    known = _Known(texts, store.select("forget/named", sources=found.sources), objects, words, inputs)
    if found.traces:
        _note_traces(store, found.traces, known)
        changes.updates += erase_and_mark(found.traces)
    retract_chunks(store, found.chunks, changes, erase=True)
    retract_metadata(store, documents, changes)
    _forget_decisions(store, found.lost, changes)
    changes.updates.append(("forget/documents", {"documents": documents, "now": now()}))
    store.commit(changes)
    engine.indexer.removed([*found.chunks, *(row["sentence"] for row in sentences)])
    found.counts.erased += _erase_rest(engine, documents, known, notify)


def _note_traces(store: Store, traces: Sequence[NamedNode], known: _Known) -> None:
    """Note questions and objects of traces that are erased."""
    rows = store.select("forget/questions", traces=traces)
    known.answered += [row["question"] for row in rows]
    known.objects += _objects_of(store, traces)


def finish_erasure(engine: NeededComponents, notify: Callable[[str], None] = lambda _: None) -> int:
    """Erase what a stopped erasure may have left; return the number of objects and answers of models.

    The words of its documents are no longer known, so all names in traces that nothing else names are
    replaced by hashes, and all answers of models are erased.
    """
    documents = [row["document"] for row in engine.store.select("forget/unfinished")]
    if not documents:
        return 0
    engine.indexer.recover()
    return _erase_rest(engine, documents, None, notify)


def _erase_rest(
    engine: NeededComponents,
    documents: Sequence[NamedNode],
    known: _Known | None,
    notify: Callable[[str], None],
) -> int:
    """Erase documents that are out of the graphs from names, indexes, running questions, blobs and caches.

    Each step can be repeated.

    Args:
        known: None if another run began.

    Returns:
        the number of objects and answers of models that were erased.
    """
    store = engine.store
    settled = settle(store)
    mark_boilerplate(store)
    kinds = [kind for kind in all_kinds() if kind.least]
    several = [kind.types[0] for kind in kinds if kind.least > 1]
    parameters = {"kinds": [kind.types[0] for kind in kinds], "several": several}
    store.commit(Changes(updates=[("forget/decisions", parameters)]))
    gone = _forget_names(store, known.named if known else [], known.texts if known else None)
    notify(tr("removing the text from the search indexes"))
    engine.indexer.changed(entities=settled)
    engine.indexer.flush(final=True)
    if (relations := built(store)) is not None:  # counts that rest on these documents too
        build_relations(store, relations.settings)
    # runs that begin after this do not find the text; earlier ones must not write what they have read, and
    # those that have ended meanwhile are erased
    if running := bar_runs(store):
        if known is not None:
            _note_traces(store, running, known)
        store.commit(Changes(updates=erase_and_mark(running), content=False))
    _hash_names(store, [*gone, *documents])
    if store.renderer.dialect == "classic":  # only there statements have nodes of their own
        store.commit(Changes(updates=[("forget/statements", {"graphs": _WITH_STATEMENTS})], content=False))
    notify(tr("erasing kept texts and answers of models"))
    erased = _erase_texts(engine, known, gone) if known is not None else _erase_unnamed(engine)
    store.commit(Changes(updates=[("forget/taken-out", {})], content=False))
    return erased


def _erase_texts(engine: NeededComponents, known: _Known, gone: Mapping[NamedNode, Sequence[str]]) -> int:
    erased = _erase_objects(engine, known.objects, known.words, gone)
    _mark_erased(engine.store, erased)
    said = [name for names in gone.values() for name in names if len(name.encode()) >= _NAMING]
    words = [*known.words, *known.answered, *said]
    return len(erased) + _with_answers(engine, lambda cache: cache.forget(words))


def _erase_unnamed(engine: NeededComponents) -> int:
    store, erased = engine.store, 0
    if traces := [row["trace"] for row in store.select("forget/erased-traces")]:
        erased += len(_erase_objects(engine, _objects_of(store, traces), (), ()))
    return erased + sweep_blobs(engine) + _with_answers(engine, lambda cache: cache.clear())


def sweep_blobs(engine: NeededComponents) -> int:
    """Erase blobs that nothing in the store names; return how many."""

    def named(objects: list[NamedNode]) -> set[Term]:
        return {row["object"] for row in engine.store.select("trace/shared-objects", objects=objects)}

    blobs = engine.blobs
    return sum(blobs.sweep(batch, named) for batch in in_batches(list(blobs.objects()), _BATCH))


def rewrite_files(engine: NeededComponents) -> str | None:
    """Rewrite the indexes and the database, so that their files hold no forgotten text.

    Returns:
        which files may still hold it, and why; None if none.

    Raises:
        NotPurgedError: files of the database still hold the text. Doing it again completes it.
    """
    store = engine.store
    try:
        engine.indexer.flush(final=True, purge=True)
        left = store.purge()
    except StoreError as error:
        raise NotPurgedError(
            tr(
                "the documents are out of the store, but the files of its database still hold their text: "
                "{message}"
            ).format(message=error.message),
            hint=tr("free disk space or correct permissions, then run the same command again to complete it"),
        ) from error
    if engine.place is not None:
        layout.remove(engine.place.history, layout.STATES)
    store.commit(Changes(updates=[("forget/end", {})], content=False))
    return left


@dataclass(slots=True)
class _Found:
    """What the store has of documents.

    Attributes:
        sources: of subgraphs: the chunks and, for metadata, the documents.
    """

    sources: list[NamedNode]
    chunks: list[NamedNode]
    texts: list[str]
    traces: list[NamedNode]
    counts: Forgotten
    lost: list[Statement] = field(default_factory=list)


def _find(store: Store, documents: Sequence[NamedNode]) -> _Found:
    rows = store.select("forget/chunks", documents=documents) if documents else []
    chunks = [row["chunk"] for row in rows]
    sources = [*chunks, *documents]
    texts = [row["text"] for row in rows]
    found = _Found(sources, chunks, texts, [], Forgotten(chunks=len(chunks)))
    if not sources:
        return found
    lost = found.lost
    for row in store.select("forget/facts", sources=sources):
        if row["alone"]:
            lost.append((row["s"], row["p"], row["o"]))
        elif row["p"] != RDF.type:
            found.counts.kept_facts += 1
    traces = {row["trace"] for row in store.select("forget/traces", sources=sources)}
    by_fact = select_in_batches(store, "forget/traces-of-facts", "edges", lost, _BATCH)
    traces.update(row["trace"] for row in by_fact)
    entities = [row["entity"] for row in store.select("forget/entities", sources=sources)]
    by_name = select_in_batches(store, "forget/traces-of-names", "entities", entities, _BATCH)
    traces.update(row["trace"] for row in by_name)
    if rows := store.select("forget/query-texts"):
        words = _words(store, found, found.texts)
        traces |= {row["trace"] for row in rows if any(word in row["text"] for word in words)}
    fresh = traces
    while fresh:  # a run that another run started, or that started it, may hold the same words
        related = store.select("trace/related-runs", sessions=sorted(fresh, key=str))
        fresh = {row["session"] for row in related} - traces
        traces |= fresh
    found.traces = sorted(traces, key=str)
    found.counts.facts = sum(predicate != RDF.type for _, predicate, _ in lost)
    found.counts.entities = len(entities)
    found.counts.traces = len(traces)
    return found


def _forget_decisions(store: Store, facts: Sequence[Statement], changes: Changes) -> None:
    """Add to a transaction the removal of decisions about facts, and of their corrections, which derive from
    the documents; and of decisions about corrections that nothing else states.
    """
    about, decided = dict.fromkeys(facts), dict.fromkeys(facts)
    decisions: dict[NamedNode, None] = {}
    subgraphs: dict[NamedNode, None] = {}
    while about:
        rows = [*select_in_batches(store, "forget/corrections", "edges", about, _BATCH)]
        decisions |= dict.fromkeys(row["decision"] for row in rows)
        corrections = [row for row in rows if row["subgraph"] is not None]
        subgraphs |= dict.fromkeys(row["subgraph"] for row in corrections)
        about = {}
        corrected = list(dict.fromkeys(row["decision"] for row in corrections))
        for row in store.select("forget/asserted-instead", decisions=corrected) if corrected else ():
            instead: Statement = (row["s"], row["p"], row["o"])
            holding = store.select("facts/containers", edges=[instead])
            if instead not in decided and all(held["subgraph"] in subgraphs for held in holding):
                about[instead] = decided[instead] = None
    if decisions:
        retract_subgraphs(store, list(subgraphs), changes)
        changes.updates.append(("forget/fact-decisions", {"decisions": list(decisions)}))


def _warn_of_prompt(engine: NeededComponents, found: _Found) -> None:
    """Warn of examples in the user's own prompt that hold the text. That file is never changed here."""
    from graphrag_rdf.extract.prompts import FILE
    from graphrag_rdf.ingest.extractors import prompt_data

    try:
        data = prompt_data(engine.settings)
    except ConfigError as error:
        found.counts.warn(
            "prompt_unread",
            tr("cannot check whether the prompt quotes the documents: {error}").format(error=error),
        )
        return
    chunks = {chunk.value for chunk in found.chunks}
    for number, example in enumerate(data.all_examples, start=1):
        if example.source in chunks or any(example.text in text for text in found.texts):
            place = f"{engine.settings.pipelines}/ingest/{FILE}"
            detail = tr(
                "{place}: example {number} quotes the documents. Remove it, or tune the prompts again"
            ).format(place=place, number=number)
            found.counts.warn("prompt_holds_text", detail)


def _texts(engine: NeededComponents, documents: Sequence[NamedNode], found: _Found) -> list[str]:
    """Chunks, and the texts of all versions."""
    kept = engine.store.select("forget/texts", documents=documents)
    return [*found.texts, *(engine.blobs.text(row["object"].value) or "" for row in kept)]


def _words(store: Store, found: _Found, texts: Iterable[str]) -> list[str]:
    """The texts to erase: chunks, quotes, and the sentences of all versions."""
    words = dict.fromkeys(found.texts)
    for text in texts:
        words.update((text[s.offset : s.offset + s.length], None) for s in split_sentences(text, None))
    if found.chunks:
        words.update((row["quote"], None) for row in store.select("forget/quotes", chunks=found.chunks))
    return [text for text in words if len(text) >= _TELLING]


def _made_texts(store: Store, found: _Found) -> tuple[list[str], list[str]]:
    """The texts of descriptions and reports that were made from the documents, or from such; and the texts
    from which the descriptions were made, which are only in prompts.
    """
    made: list[str] = []
    inputs: list[str] = []
    for kind, nodes in drop_made(store, Changes(), sources=found.sources):
        for row in select_in_batches(store, kind.texts, kind.parameter, nodes):
            if len(row["text"]) >= _TELLING:
                (made if row.get("merged", True) else inputs).append(row["text"])
    return made, inputs


def _objects_of(store: Store, traces: Sequence[NamedNode]) -> list[str]:
    """Objects of the blob store that only these traces use: "I don't know" is the answer of many."""
    objects = [row["object"] for row in store.select("forget/trace-objects", traces=traces)]
    others = {
        row["object"]
        for row in select_in_batches(
            store, "forget/objects-of-others", "objects", objects, _BATCH, traces=traces
        )
    }
    return [found.value for found in objects if found not in others]


def _names_gone(
    store: Store, named: Sequence[Row], texts: Iterable[str] | None
) -> dict[NamedNode, list[str]]:
    """Entities, relations and types that nothing names any more, with the names from the documents.

    Names of earlier versions are not stored. Of the things that only traces and decisions still hold, those
    whose IRI has words of the texts are taken for theirs.

    Args:
        named: rows of `forget/named`, read before the documents were removed.
        texts: of all versions of the documents; None if they are not known: then all such things.
    """
    gone: dict[NamedNode, list[str]] = {}
    for row in named:
        gone.setdefault(row["thing"], []).append(row["name"])
    held = [row["thing"] for name in ("nameless", "nameless-hits") for row in store.select(f"forget/{name}")]
    held += [term for decision in read_decisions(store, FACTS) for term in decision.fact]
    said = None if texts is None else "\n".join(f" {_plain(text)} " for text in texts)
    for thing in dict.fromkeys(term for term in held if isinstance(term, NamedNode)):
        name = local_name(thing.value)
        if said is None or f" {_plain(name)} " in said:
            gone.setdefault(thing, [name])
    for row in select_in_batches(store, "forget/spoken-of", "things", list(gone), _BATCH):
        gone.pop(row["thing"], None)
    return gone


def _plain(text: str) -> str:
    """The words of a text, as an IRI may have them."""
    return _NOT_WORD.sub(" ", fold(text)).strip()


def _decided_on(store: Store, things: Container[object]) -> list[Statement]:
    """Facts with decisions, about things that nothing names any more."""
    facts = (decision.fact for decision in read_decisions(store, FACTS))
    return [fact for fact in facts if any(term in things for term in fact)]


def _forget_names(
    store: Store, named: Sequence[Row], texts: Iterable[str] | None
) -> dict[NamedNode, list[str]]:
    """Find things that nothing names any more, see `_names_gone`, and remove decisions about them."""
    gone = _names_gone(store, named, texts)
    changes = Changes()
    _forget_decisions(store, _decided_on(store, gone), changes)
    store.commit(changes)
    return gone


def erase_and_mark(traces: Sequence[NamedNode]) -> list[tuple[str, dict[str, Any]]]:
    """The updates that erase the words of traces."""
    of_steps, of_items = erased_words()
    words = {"of_steps": of_steps, "of_items": of_items, "links": item_links()}
    return [("forget/erase-traces", {"traces": traces, **words}), _mark(traces)]


def _mark(traces: Sequence[NamedNode]) -> tuple[str, dict[str, Any]]:
    return "forget/mark-traces", {"traces": traces, "now": now()}


def _mark_erased(store: Store, erased: Sequence[str]) -> None:
    """Mark traces that name erased objects; earlier versions of documents name them no more."""
    for some in in_batches(erased, _BATCH):
        updates: list[tuple[str, dict[str, Any]]] = [("forget/drop-objects", {"objects": some})]
        rows = store.select("forget/traces-of-objects", objects=some)
        if traces := [row["trace"] for row in rows]:
            updates.append(_mark(traces))
        store.commit(Changes(updates=updates, content=False))


def _hash_names(store: Store, names: Sequence[NamedNode]) -> None:
    """Replace IRIs by hashes: they hold names of entities and paths of documents."""
    for some in in_batches(names, _BATCH):
        pairs = [(name, iris.forgotten(name)) for name in some]
        store.commit(Changes(updates=[("forget/rename", {"names": pairs})], content=False))


def _erase_objects(
    engine: NeededComponents, objects: Iterable[str], words: Sequence[str], names: Iterable[NamedNode]
) -> list[str]:
    """Erase objects by name, and every other that holds the words or one of the IRIs, except those that
    documents still use.

    Returns:
        the IRIs of those erased.
    """
    blobs = engine.blobs
    kept = {row["object"] for row in engine.store.select("forget/kept-objects")}
    erased = [iri for iri in objects if iri not in kept and blobs.delete(iri)]
    needles = [word.encode() for word in words]
    named = {name.value.encode() for name in names}
    for iri in list(blobs.objects()):
        if iri.value in kept or not (needles or named):
            continue
        data = blobs.get(iri) or b""
        if not named.isdisjoint(_IRIS.findall(data)) or any(needle in data for needle in needles):
            blobs.delete(iri)
            erased.append(iri.value)
    return erased


def _with_answers(engine: NeededComponents, erase: Callable[[ResponseCache], int]) -> int:
    """Erase answers of models, also if the cache is switched off now."""
    if engine.response_cache is not None:
        return erase(engine.response_cache)
    path = engine.place.cache if engine.place else None
    if path is None or not path.exists():
        return 0
    from graphrag_rdf.llm.cache import ResponseCache

    with ResponseCache(path, engine.settings.cache.max_bytes) as cache:
        return erase(cache)
