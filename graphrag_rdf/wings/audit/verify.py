"""Whether a trace still holds: every edge, quote, offset, hash and citation, against the store as it is now.

What can be asked in SPARQL is asked there (`queries/audit/`); hashes and the texts of documents are
compared here, since the blob store has them. The queries that decided what was taken are run again.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from pyoxigraph import NamedNode

from graphrag_rdf.errors import GraphRagError
from graphrag_rdf.i18n import later, listed, own_label, tr
from graphrag_rdf.rdf import iris
from graphrag_rdf.rdf.namespaces import TG
from graphrag_rdf.rdf.terms import number_of, text_of
from graphrag_rdf.schema.proofs import Inferred, follows, where_held
from graphrag_rdf.sparql.tokens import may_call
from graphrag_rdf.store.base import Row, Solution, Store
from graphrag_rdf.store.blobs import BlobStore
from graphrag_rdf.trace.catalogue import find_trace
from graphrag_rdf.trace.facts import decided_against
from graphrag_rdf.trace.foreign import OWN, containers_of
from graphrag_rdf.trace.kinds import Statement, node_kinds
from graphrag_rdf.trace.model import Inference, Trace
from graphrag_rdf.trace.reader import read_trace
from graphrag_rdf.trace.rows import result_hash
from graphrag_rdf.trace.sources import asserted_premises
from graphrag_rdf.trace.text import fact_words

if TYPE_CHECKING:
    from graphrag_rdf.engine import Engine

_LINE = re.compile(r"^\[(\d+)\]\*? (.+)$", re.MULTILINE)  # of the evidence in a prompt
_SHOWN = 5  # failures that a detail spells out
_ALIKE = 1e-9  # scores that differ less are the same: the order in which an engine adds up is its own
_STRUCTURE = frozenset({"session", "chain"})
"""Checks of what erasing leaves."""
_ANSWERS = (TG.Synthesis, TG.Conclusion)
_UNRECORDED = later(
    "this form records no quotes, offsets, hashes, prompts, citations or queries, so these are not checked"
)
_CLOSED = (later("completed"), later("unanswered"), later("failed"), later("cancelled"))
_ENDS = {"completed": "answered", "unanswered": "answered", "failed": "failed"}


@dataclass(frozen=True, slots=True)
class Requery:
    """A query that decided what was taken, run again.

    Attributes:
        template: its name.
        number: of the call in the trace.
        ok: whether all is the same; None: it was not run.
        rows, order, scores: whether these are; None: it was not run, or the trace does not have them.
        detail: what differs, or why it was not run; empty if nothing does.
    """

    template: str
    number: int
    ok: bool | None = None
    rows: bool | None = None
    order: bool | None = None
    scores: bool | None = None
    detail: str = ""

    @property
    def told(self) -> str:
        """Its name and what came of it."""
        detail = self.detail or tr("same rows, order and scores")
        return f"{self.template} ({self.number}): {detail}"


@dataclass(frozen=True, slots=True)
class Check:
    """One check.

    Attributes:
        check: its name.
        ok: whether it holds; None: it cannot be checked, or it held until the store was changed.
        detail: what was found, in words.
        changed: whether what it is about was changed since: removed, edited, extracted again.
        queries: of `ranking`, each query that decided.
    """

    check: str
    ok: bool | None
    detail: str
    changed: bool = False
    queries: Sequence[Requery] = ()


def verify(engine: Engine, name: str) -> list[Check]:
    """See `verify_trace`; the name is one of `find_trace`."""
    return verify_trace(engine.store, engine.blobs, find_trace(engine.store, name))


def verify_trace(store: Store, blobs: BlobStore, iri: NamedNode | str) -> list[Check]:
    """All checks of a trace, failed ones too.

    | check | holds when |
    |---|---|
    | session | the run was closed, with the question and last step that its outcome asks for |
    | chain | every step derives from the one before it, back to the question |
    | edges | every selected fact is asserted and contained |
    | inferences | of selected facts that were inferred: the premises hold, and the rules infer them |
    | endpoints | never: what other servers returned is not asked for again |
    | quotes | every located quote stands at its offsets in its chunk and speaks of its fact |
    | sentences | every selected sentence lies within its chunk |
    | chunks | the text of every chunk still gives the chunk's IRI |
    | offsets | every chunk stands at its offset in the text of its document's current version |
    | objects | answers, queries, prompts and completions are there and hash to their names |
    | answer | every sentence stands at its offset in the answer |
    | prompt | every numbered line of the answer's prompt is (part of) a selection of this trace |
    | citations | every citation leads to a selection of this trace, and its mark stands in the sentence |
    | ranking | queries that decided, each run again, return the recorded rows, order and scores |
    | sources | no source was forgotten since; one that an edit retired is named, as its text is kept |

    Where somebody removed a selected fact, or documents were edited or extracted again, so that a check no
    longer holds, the check is no failure, but says that this was `changed`. So it is for a ranking after the
    store was changed.

    Of a trace whose words were erased, because a document was forgotten, one more (`erased`) says so, and
    names the checks that therefore cannot be made and are left out. The structure stays: session and chain.

    Of a trace in TrustGraph's form the first three and the last are checked, and whether the texts are here.
    It records nothing by which the others could be checked.

    Raises:
        UsageError: when there is no such trace.
    """
    trace = read_trace(store, iri, blobs)
    verifier = Verifier(store, blobs, trace)
    checks = list(verifier.checks() if trace.form == OWN else verifier.checks_of_foreign())
    return _erased(trace, checks) if trace.source_forgotten else checks


def _erased(trace: Trace, checks: Sequence[Check]) -> list[Check]:
    """The checks of a trace whose words were erased."""
    lost = [check.check for check in checks if check.ok is False and check.check not in _STRUCTURE]
    when = f"{trace.erased:%Y-%m-%d %H:%M}" if trace.erased else tr("at an unknown time")
    notice = tr("words of this trace were erased, because a document was forgotten: {when}").format(when=when)
    if lost:
        notice += tr("; ") + tr("not checked: {checks}").format(checks=listed(map(tr, lost)))
    return [Check(later("erased"), None, notice), *(check for check in checks if check.check not in lost)]


class Verifier:
    """The checks of a trace; see `verify_trace`."""

    def __init__(self, store: Store, blobs: BlobStore, trace: Trace) -> None:
        self._store = store
        self._blobs = blobs
        self._trace = trace
        self._session = NamedNode(trace.iri)
        self._names = {
            selection.iri.value: fact_words(selection.fact) if selection.fact else selection.iri.value
            for selection in trace.selections
            if selection.iri is not None
        }
        self._facts = {
            selection.iri.value: selection.triple
            for selection in trace.selections
            if selection.iri is not None
        }
        self._elsewhere = {
            selection.iri.value: selection.endpoint
            for selection in trace.selections
            if selection.iri is not None and selection.endpoint is not None
        }
        self._proofs = {
            selection.iri.value: selection.inferences
            for selection in trace.selections
            if selection.iri is not None and selection.inferences
        }

    def checks(self) -> Iterator[Check]:
        """All of them, of a trace in our form."""
        yield self._end()
        yield self._chain()
        chunks = self._select("audit/chunks")
        again = self._extracted_again(chunks)
        yield self._edges(again, self._edited(chunks))
        if self._proofs:
            yield self._inferences()
        if self._elsewhere:
            yield self._endpoints()
        yield self._quotes(again)
        yield self._sentences()
        yield self._chunks(chunks)
        yield self._offsets([row for row in chunks if row["retired"] is None])
        yield self._objects()
        yield self._answer()
        yield self._prompt()
        yield self._citations()
        yield self._ranking()
        yield self._sources(chunks)

    def checks_of_foreign(self) -> Iterator[Check]:
        """What the form of TrustGraph lets one check."""
        trace, steps = self._trace, self._trace.steps
        bad = [] if trace.question else [tr("it has no question")]
        bad += [] if trace.started else [tr("it says no time")]
        bad += [] if any(step.declared.type in _ANSWERS for step in steps) else [tr("it has no answer")]
        good = tr("it has a question, a time and an answer")
        yield Check(later("session"), not bad, tr("; ").join(bad) or good)
        astray = [
            tr("{node} derives from {before}, which does not lead there").format(
                node=row["node"], before=row["before"]
            )
            for row in self._select("audit/foreign-astray")
        ]
        yield checked(later("chain"), len(steps), astray, tr("steps lead back to the question"))
        items = [selection for selection in trace.selections if selection.triple is not None]
        facts = [selection.triple for selection in items if selection.triple is not None]
        rows = self._store.select("facts/asserted", edges=facts) if facts else ()
        asserted = {(row["s"], row["p"], row["o"]) for row in rows}
        held = containers_of(self._store, facts)
        lacking = [
            tr(message).format(fact=fact_words(selection.fact))
            for selection in items
            for message, present in (
                (later("{fact} is not asserted in this store"), asserted),
                (later("{fact} is not contained in this store"), held),
            )
            if selection.triple not in present
        ]
        if items:
            yield checked(
                later("edges"), len(items), lacking, tr("selected facts are asserted and contained")
            )
        lost = [
            tr("{name} leads to no document").format(
                name=self._names.get(selection.iri.value, selection.iri.value)
            )
            for selection in trace.selections
            if selection.iri is not None and not selection.sources
        ]
        if trace.selections:
            yield checked(later("sources"), len(trace.selections), lost, tr("selections lead to a document"))
        away = [text.value for step in steps if (text := step.values.get("stored")) and step.answer is None]
        if away:
            kept = tr("TrustGraph's librarian keeps these texts")
            yield Check(later("answer"), None, tr("; ").join([kept, *_some(away)]))
        yield Check(later("others"), None, tr(_UNRECORDED))

    def _select(self, name: str) -> list[Row]:
        return self._store.select(name, session=self._session)

    def _name(self, row: Row) -> str:
        item: str = row["item"]
        return self._names.get(item, item)

    def _end(self) -> Check:
        row = self._select("audit/end")[0]
        outcome = row["outcome"]
        bad = []
        if row["ended"] is None or outcome is None:
            bad.append(tr("it was never closed: the process was stopped, or it still runs"))
        if not row["asked"]:
            bad.append(tr("it has no question"))
        if outcome in _ENDS and not row[_ENDS[outcome]]:
            bad.append(tr("it is marked {outcome} but has no such step").format(outcome=tr(outcome)))
        closed = tr("closed as {outcome}").format(outcome=tr(outcome) if outcome in _CLOSED else outcome)
        return Check(later("session"), not bad, tr("; ").join(bad) or closed)

    def _chain(self) -> Check:
        bad = [
            tr("{step} derives from {missing}, which is not there").format(
                step=row["step"], missing=row["missing"]
            )
            if row["missing"] is not None
            else tr("{step} does not lead back to the question").format(step=row["step"])
            for row in self._select("audit/chain")
        ]
        return checked(later("chain"), len(self._trace.steps), bad, tr("steps lead back to the question"))

    def _extracted_again(self, chunks: Sequence[Row]) -> dict[str, str]:
        """Selections whose text was extracted again since, by another version or other settings, and the day.

        Chunks of the same file may have been cut differently.
        """
        cut = {
            row["chunk"].value: row["retired"] for row in chunks if row["retired"] is not None and row["same"]
        }
        days = {row["item"]: row["time"] for row in self._select("audit/extracted-again")}
        for selection in self._trace.selections:
            days.update(
                (selection.iri.value, cut[s.chunk])
                for s in selection.sources
                if selection.iri and s.chunk in cut
            )
        return {item: time[:10] for item, time in days.items()}

    def _edited(self, chunks: Sequence[Row]) -> dict[str, str]:
        """Selections all whose chunks were retired, because their documents were edited; in words."""
        days = {row["chunk"].value: row["retired"][:10] for row in chunks if row["retired"] is not None}
        return {
            selection.iri.value: tr("{fact} is not in the documents since an edit on {day}").format(
                fact=self._names[selection.iri.value], day=max(days[chunk] for chunk in own)
            )
            for selection in self._trace.selections
            if selection.iri is not None
            and (own := {source.chunk for source in selection.sources if source.chunk})
            and own <= days.keys()
        }

    def _edges(self, again: Mapping[str, str], edited: Mapping[str, str]) -> Check:
        otherwise = self._proofs.keys() | self._elsewhere.keys()
        edge_rows = [row for row in self._select("audit/edges") if row["item"] not in otherwise]
        listed = {row["item"] for row in edge_rows}
        bad = [
            tr("{iri}: its terms were erased").format(iri=iri)
            for iri in self._edge_items()
            if iri not in listed
        ]
        missing = [row for row in edge_rows if not row["asserted"]]
        items = {row["item"] for row in missing}.difference(again)
        decided = {item: words for item, words in edited.items() if item in items}
        decided |= self._decided(missing)
        replaced: set[str] = set()
        for row in edge_rows:
            if row["item"] in decided:
                continue
            asserted, contained = row["asserted"], row["contained"]
            if not asserted and not contained and row["item"] in again:
                replaced.add(row["item"])
            elif not asserted or not contained:
                message = (
                    tr("{fact} is no longer contained")
                    if asserted
                    else tr("{fact} is no longer asserted")
                    if contained
                    else tr("{fact} is no longer asserted or contained")
                )
                bad.append(message.format(fact=self._name(row)))
        count = len(self._edge_items())
        if replaced and not bad:
            message = tr("{number} of {count} selected facts are no longer found")
            changes = [_again(again, replaced), message.format(number=len(replaced), count=count)]
            return _changed(later("edges"), [*changes, *_some([*decided.values()])])
        if bad or not decided:
            return checked(later("edges"), count, bad, tr("selected facts are asserted and contained"))
        hold = tr("{number} of {count} selected facts are asserted and contained").format(
            number=count - len(decided), count=count
        )
        return _changed(later("edges"), [hold, *_some([*decided.values()])])

    def _decided(self, missing: Sequence[Row]) -> dict[str, str]:
        """Of selections whose fact is asserted no more, those where a person decided so; the decision."""
        facts = {row["item"]: (row["s"], row["p"], row["o"]) for row in missing}
        notes = decided_against(self._store, facts.values())
        return {
            item: tr("{name} holds no more: {note}").format(
                name=self._names.get(item, item), note=notes[fact]
            )
            for item, fact in facts.items()
            if fact in notes
        }

    def _edge_items(self) -> list[str]:
        named = [
            selection.iri.value
            for selection in self._trace.selections
            if selection.chunk is None and selection.iri is not None
        ]
        return [iri for iri in named if iri not in self._proofs and iri not in self._elsewhere]

    def _inferences(self) -> Check:
        """Facts that were inferred: from their recorded premises, whatever is inferred now."""
        premises = {iri: asserted_premises(proof) for iri, proof in self._proofs.items()}
        held = where_held(self._store, [fact for own in premises.values() for fact in own])
        contained = containers_of(self._store, [fact for fact, where in held.items() if "fact" in where])
        bad = []
        for item, proof in self._proofs.items():
            name, selected = self._names.get(item, item), self._facts[item]
            steps = [
                inference
                for inference in proof
                if inference.triple is not None and inference.rule is not None
            ]
            if len(steps) < len(proof) or selected not in {inference.triple for inference in steps}:
                bad.append(tr("{name}: its proof was erased or is incomplete").format(name=name))
                continue
            for premise in premises[item]:
                if not held[premise] & {"fact", "ontology"}:
                    message = tr("{premise}, from which {fact} was inferred, is no longer asserted")
                elif "ontology" not in held[premise] and premise not in contained:
                    message = tr("{premise}, from which {fact} was inferred, is no longer contained")
                else:
                    continue
                bad.append(message.format(premise=_words(premise, proof), fact=name))
            bad += [
                tr("{rule} does not infer {fact} from its premises").format(
                    rule=inference.rule, fact=fact_words(inference.fact)
                )
                for inference in steps
                if not follows(self._store, Inferred(inference.triple, inference.rule, inference.premises))  # type: ignore[arg-type]
            ]
        return checked(
            later("inferences"), len(self._proofs), bad, tr("inferred facts follow from premises that hold")
        )

    def _endpoints(self) -> Check:
        """What other servers returned: nobody knows whether they still would."""
        servers = listed(sorted({address.value for address in self._elsewhere.values()}))
        message = tr(
            "{count} selections were returned by other servers, which are not asked again: {servers}"
        )
        return Check(later("endpoints"), None, message.format(count=len(self._elsewhere), servers=servers))

    def _quotes(self, again: Mapping[str, str]) -> Check:
        rows = self._select("audit/quotes")
        gone = [row for row in self._select("audit/lost-evidence") if not row["sentence"]]
        lost = [row for row in gone if row["item"] not in again]
        bad = [
            tr("evidence {evidence} of {fact} is gone").format(evidence=row["lost"], fact=self._name(row))
            for row in lost
        ]
        for row in rows:
            if not row["about"]:
                bad.append(
                    tr("evidence {evidence} does not speak of {fact}").format(
                        evidence=row["evidence"], fact=self._name(row)
                    )
                )
            elif row["offset"] is not None and not row["holds"]:
                bad.append(
                    tr("“{quote}” is not at {offset}").format(
                        quote=_short(row["quote"]), offset=row["offset"]
                    )
                )
        located = sum(row["offset"] is not None for row in rows)
        good = (
            tr("quotes stand at their offsets; {unlocated} were never located and say so")
            if located < len(rows)
            else tr("quotes stand at their offsets")
        )
        if len(lost) < len(gone) and not bad:
            message = tr("the evidence of then was replaced; the texts are kept (check: chunks)")
            return _changed(later("quotes"), [_again(again, [row["item"] for row in gone]), message])
        return checked(later("quotes"), located + len(lost), bad, good.format(unlocated=len(rows) - located))

    def _sentences(self) -> Check:
        rows = self._select("audit/sentences")
        lost = [row for row in self._select("audit/lost-evidence") if row["sentence"]]
        bad = [tr("sentence {sentence} is gone").format(sentence=row["lost"]) for row in lost]
        bad += [
            tr("sentence {sentence} leaves its chunk").format(sentence=row["sentence"])
            for row in rows
            if not row["holds"]
        ]
        return checked(
            later("sentences"), len(rows) + len(lost), bad, tr("selected sentences lie within their chunks")
        )

    def _chunks(self, chunks: Sequence[Row]) -> Check:
        bad = []
        for row in chunks:
            text_hash = iris.digest(row["content"])
            occurrences = range(row["chunks"] + 1)
            if row["chunk"] not in (iris.chunk(row["document"], text_hash, n) for n in occurrences):
                bad.append(
                    tr("{chunk}: its text is not the one that it is named after").format(chunk=_place(row))
                )
        return checked(later("chunks"), len(chunks), bad, tr("chunk texts give their chunk's IRI"))

    def _offsets(self, chunks: Sequence[Row]) -> Check:
        texts: dict[str, str | None] = {}
        bad = []
        for row in chunks:
            stored = row["text"]
            if stored not in texts:
                texts[stored] = self._blobs.text(stored)
            text, content = texts[stored], row["content"]
            offset = row["offset"] or 0
            if text is None:
                bad.append(
                    tr("{chunk}: the document's text {stored} is missing or damaged").format(
                        chunk=_place(row), stored=stored
                    )
                )
            elif text[offset : offset + len(content)] != content:
                bad.append(
                    tr("{chunk} does not stand at {offset} in its document").format(
                        chunk=_place(row), offset=offset
                    )
                )
        return checked(
            later("offsets"), len(chunks), bad, tr("chunks stand at their offsets in their documents")
        )

    def _objects(self) -> Check:
        rows = self._store.select("trace/objects", sessions=[self._session])
        objects = sorted({row["object"].value for row in rows} | self._imported())
        lost = [iri for iri in objects if self._blobs.get(iri) is None]
        bad = [tr("{iri} is missing or damaged").format(iri=iri) for iri in lost]
        return checked(later("objects"), len(objects), bad, tr("stored texts hash to their names"))

    def _imported(self) -> set[str]:
        """The files that selected facts were imported from, which the blob store keeps too."""
        sources = (source for selection in self._trace.selections for source in selection.sources)
        origins = {source.document for source in sources if source.chunk is None and source.document}
        return {iri for iri in origins if iri.startswith(iris.stored_object("").value)}

    def _answer(self) -> Check:
        bad = []
        count = 0
        for step in self._trace.steps:
            if step.kind == "question" or (step.answer is None and not step.sentences):
                continue
            answer = step.answer or ""
            stored = step.values.get("stored")
            if stored and iris.stored_object(iris.digest(answer)) != stored:
                bad.append(
                    tr("the text of {iri} is not the one that was stored, or was erased").format(iri=step.iri)
                )
            for sentence in step.sentences:
                assert sentence.iri is not None  # noqa: S101 - it was read
                count += 1
                if answer[sentence.offset : sentence.offset + sentence.length] != sentence.text:
                    bad.append(
                        tr("sentence {iri} does not stand at {offset}").format(
                            iri=sentence.iri.value, offset=sentence.offset
                        )
                    )
        return checked(later("answer"), count, bad, tr("sentences stand at their offsets in the answer"))

    def _prompt(self) -> Check:
        steps = self._trace.steps
        calls = [call for step in steps for call in step.calls if call.purpose in step.declared.answered_by]
        prompts = [self._blobs.text(call.prompt.value) or "" for call in calls if call.prompt]
        shown = [line for prompt in prompts for line in _numbered(prompt)]
        rows = self._select("audit/shown-texts") if shown else []
        texts = [_letters(row["text"]) for row in rows if row["text"] is not None]
        columns = "".join(_letters(row["columns"]) for row in rows if row["columns"] is not None)
        whole = "".join(texts) + columns
        facts = {
            s.marker
            for s in self._trace.selections
            if s.fact and (s.inferences or not all(x.verified for x in s.sources))
        }
        bad = []
        for number, line in shown:
            words = {_letters(line), _letters(line.partition(": ")[2])} - {""}  # also without its speaker
            row = columns and all(_letters(word) in whole for word in line.split())
            if number not in facts and not row and not any(w in text for w in words for text in texts):
                bad.append(
                    tr("[{number}] “{line}” was not selected").format(number=number, line=_short(line))
                )
        return checked(
            later("prompt"), len(shown), bad, tr("numbered lines of the answer's prompt were selected")
        )

    def _citations(self) -> Check:
        rows = self._select("audit/citations")
        bad = []
        for row in rows:
            cited = row["cited"]
            if not row["selected"]:
                bad.append(tr("{cited} was not selected in this trace").format(cited=cited))
            elif not row["marked"]:
                bad.append(
                    tr("the mark of {cited} does not stand in the sentence that cites it").format(cited=cited)
                )
        return checked(later("citations"), len(rows), bad, tr("citations lead to selections"))

    def _ranking(self) -> Check:
        queries, moved = rerun(self._store, self._blobs, self._session, self._ask)
        asked = [query for query in queries if query.ok is not None]
        bad = [*(query.told for query in queries if query.ok is False), *moved]
        unkept = len(queries) - len(asked)
        good = (
            tr(
                "{asked} of {queries} queries that decided return the same rows again; the text of {unkept} "
                "was not kept or was erased"
            )
            if unkept
            else tr("{asked} of {queries} queries that decided return the same rows again")
        ).format(asked=len(asked), queries=len(queries), unkept=unkept)
        if bad and self._is_store_changed():
            changed = _changed(later("ranking"), [tr("the store has changed since"), *_some(bad)])
            return replace(changed, queries=queries)
        if not queries and not bad:
            return checked(later("ranking"), 0, (), "")
        ok = None if unkept and not asked else not bad
        return Check(later("ranking"), ok, tr("; ").join(_some(bad)) or good, queries=queries)

    def _ask(self, sparql: str) -> Sequence[Solution]:
        return self._store.query(sparql).rows or []

    def _is_store_changed(self) -> bool:
        """Whether it was since the trace began."""
        return self._store.content_commit() > (self._select("trace/session")[0]["commit"] or 0)

    def _sources(self, chunks: Sequence[Row]) -> Check:
        edited = tr("{chunk} was retired by an edit, {time}; its text is kept")
        cut = tr("{chunk} was cut differently when its file was read again, {time}; its text is kept")
        retired = [
            (cut if row["same"] else edited).format(chunk=_place(row), time=row["retired"])
            for row in chunks
            if row["retired"] is not None
        ]
        gone = self._select("trace/lost-sources")
        lost = sorted({row["chunk"] or row["document"] for row in gone})
        bad = [tr("{iri}: source forgotten").format(iri=iri) for iri in lost]
        check = checked(later("sources"), len(chunks) + len(lost), bad, tr("chunks are there"))
        return _changed(later("sources"), [check.detail, *_some(retired)]) if retired and not bad else check


def _again(again: Mapping[str, str], items: Iterable[str]) -> str:
    """When the facts of selections were extracted again."""
    return tr("the facts were extracted again on {day}").format(day=max(again[item] for item in items))


def _numbered(prompt: str) -> list[tuple[int, str]]:
    """The evidence of a prompt: numbers and what stands behind them."""
    block = prompt.rpartition("<evidence>")[2].partition("</evidence>")[0]
    return [(int(number), line) for number, line in _LINE.findall(block)]


def _letters(text: str) -> str:
    """A text without what a prompt changes: white space, punctuation, brackets of tags."""
    return "".join(letter for letter in text.casefold() if letter.isalnum())


def _changed(name: str, details: Iterable[str]) -> Check:
    return Check(name, None, tr("; ").join(details), changed=True)


def checked(name: str, count: int, bad: Sequence[str], good: str) -> Check:
    """A check of several things.

    Args:
        bad: what is wrong, in words.
        good: what holds if nothing is, after a number.
    """
    if not count and not bad:
        return Check(name, True, tr("nothing to check"))
    if not bad:
        message = tr(
            "{number} of {count} {what}"
        )  # translators: {what} is e.g. "sentences lie within their chunks"
        return Check(name, True, message.format(number=count, count=count, what=good))
    return Check(name, False, tr("; ").join(_some(bad)))


def _some(messages: Sequence[str]) -> list[str]:
    """The first few, and how many more there are."""
    hidden = len(messages) - _SHOWN
    more = [tr("and {number} more").format(number=hidden)] if hidden > 0 else []
    return [*messages[:_SHOWN], *more]


def _words(fact: Statement, proof: Iterable[Inference]) -> str:
    """A premise of a proof in words."""
    named_premises = (zip(inference.premises, inference.premise_facts, strict=True) for inference in proof)
    return next(fact_words(named) for pairs in named_premises for premise, named in pairs if premise == fact)


def _place(row: Row) -> str:
    message = tr("{chunk} of “{title}”")
    return message.format(chunk=own_label(row["label"]), title=row["title"])


def _short(text: str) -> str:
    return text if len(text) <= 60 else text[:59] + "…"


# --- queries that decided, run again -------------------------------------------------------------------


def rerun(
    store: Store, blobs: BlobStore, session: NamedNode, ask: Callable[[str], Sequence[Solution]]
) -> tuple[list[Requery], list[str]]:
    """Run a trace's deciding queries again.

    Args:
        ask: runs a query.

    The chunks that the trace ranked must be the first of the ranking, in its order and with its scores.

    Returns:
        the queries, without those that read nothing of the store, which traces of earlier versions have; and
        how recorded chunks differ from the ranking, in words.
    """
    queries: list[Requery] = []
    kinds = [item_kind for node in node_kinds().values() for item_kind in node.items]
    ranks = {template for item_kind in kinds for template in item_kind.ranked_by}
    ranking: dict[str, Sequence[Solution]] = {}
    for decided in store.select("audit/decisions-taken", session=session):
        requery = Requery(decided["template"], decided["number"])
        text = blobs.text(decided["sparql"]) if decided["sparql"] is not None else None
        if text is None:
            queries.append(replace(requery, detail=tr("its text was not kept or was erased")))
        elif may_call(text):  # a trace may come from elsewhere
            queries.append(replace(requery, ok=False, detail=tr("it is not run: it calls another server")))
        elif "GRAPH" in text:
            try:
                solutions = ask(text)
            except GraphRagError as error:
                queries.append(replace(requery, ok=False, detail=str(error)))
                continue
            queries.append(_as_before(requery, decided["hash"], solutions))
            if requery.template in ranks:
                ranking[decided["step"]] = solutions
    return queries, [*_compared(store.select("audit/ranked", session=session), ranking)]


def _as_before(query: Requery, recorded: str, solutions: Sequence[Solution]) -> Requery:
    """What is the same as when a trace recorded it; traces of earlier versions have only the order."""
    hashes = zip(recorded.split(), result_hash(solutions).split(), strict=False)
    order, same, scores = [*(then == current for then, current in hashes), None, None][:3]
    same = order if same is None else same
    if not same:
        detail = tr("other rows")
    elif not order:
        detail = tr("another order")
    else:
        detail = tr("other scores") if scores is False else ""
    return replace(query, ok=not detail, rows=same, order=order, scores=scores, detail=detail)


def _compared(recorded: Sequence[Row], ranking: Mapping[str, Sequence[Solution]]) -> Iterator[str]:
    """How recorded chunks differ from what the queries return now."""
    places = {
        step: {
            text_of(row["passage" if "passage" in row else "chunk"]): (place, row)
            for place, row in enumerate(ranked, start=1)
        }
        for step, ranked in ranking.items()
    }
    for row in recorded:
        step, chunk, rank = row["step"], row["chunk"].value, row["rank"]
        if step in places and not row["selected"]:
            place, ranked_now = places[step].get(chunk, (None, {}))
            score = number_of(ranked_now["score"]) if "score" in ranked_now else 0.0
            before = row["score"]
            if place != rank:
                yield tr("{chunk} had rank {rank} and has {place} now").format(
                    chunk=chunk, rank=rank, place=place or tr("none")
                )
            elif not math.isclose(score, before, abs_tol=_ALIKE):
                yield tr("{chunk} had score {before:.6f} and has {score:.6f} now").format(
                    chunk=chunk, before=before, score=score
                )
