"""`pack verify`: whether a pack proves its answer, without the store that it comes from.

Nothing in a pack is trusted: its RDF is read into a store in memory, its queries run in a process that is
killed at limits of time and memory, and nothing else in it is run.
"""

from __future__ import annotations

import hashlib
import json
import lzma
import time
import zipfile
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from pyoxigraph import BlankNode, Literal, NamedNode, Quad, RdfFormat, parse

from graphrag_rdf.errors import GraphRagError, UsageError
from graphrag_rdf.i18n import later, tr
from graphrag_rdf.rdf import iris
from graphrag_rdf.rdf.namespaces import SCHEMA
from graphrag_rdf.reader_process.limited import LimitedQueries
from graphrag_rdf.resources import folder
from graphrag_rdf.sparql.library import TemplateLibrary
from graphrag_rdf.sparql.render import decode
from graphrag_rdf.steps.kinds import kinds
from graphrag_rdf.store.answers import read_json
from graphrag_rdf.store.base import Row, Solution, Store
from graphrag_rdf.store.blobs import BlobStore
from graphrag_rdf.store.embedded import EmbeddedStore
from graphrag_rdf.trace.model import Trace
from graphrag_rdf.trace.reader import read_trace
from graphrag_rdf.trace.rows import result_hash
from graphrag_rdf.wings.audit import verify_alone
from graphrag_rdf.wings.audit.pack_answer import all_runs, answer_json, cited_places
from graphrag_rdf.wings.audit.signing import BadProof, canonical, check_proof
from graphrag_rdf.wings.audit.verify import Check, Verifier, checked
from graphrag_rdf.wings.audit.verify_alone import ANSWER, MANIFEST, PROOF

GRAPH = "trace.nq"
_SECONDS, _TOGETHER, _ROWS, _GRAPH_BYTES = 60.0, 600.0, 100_000, 1 << 27
_MANIFEST = NamedNode("urn:graphrag-rdf:pack:manifest")
_PROBLEMS = (
    *(later("it has too many files"), later("it has a name twice, or one that leads elsewhere")),
    *(later("its files are too large"), later("{file} is missing or malformed"), later("{file} is missing")),
    *(later("{file} was changed"), later("{file} has no hash in the list")),
    later("{file} does not have a quote at its place"),
)
"""What `verify_alone` says, for translation."""


@dataclass(frozen=True, slots=True)
class Verified:
    """What was verified.

    Attributes:
        question, answer: of the pack, as it says.
        signed_by: did:key of a signature that holds; None without one.
        trace, included: as the RDF has it, and that RDF; None if it cannot be read.
    """

    checks: Sequence[Check]
    question: str | None = None
    answer: str | None = None
    signed_by: str | None = None
    trace: Trace | None = None
    included: Store | None = None

    @property
    def ok(self) -> bool:
        """Whether no check fails."""
        return all(check.ok is not False for check in self.checks)

    def json_object(self) -> dict[str, Any]:
        """The keys of `pack verify --format json`."""
        return {name: getattr(self, name) for name in ("question", "answer", "signed_by", "ok", "checks")}


def verify_pack(path: Path, key: str | None = None) -> Verified:
    """All checks of a pack, failed ones too.

    | check | holds when |
    |---|---|
    | files | the file is a ZIP file of bounded size whose names stay inside it |
    | hashes | each file has the listed SHA-256, and no file is missing or not listed |
    | graph | the RDF is canonical and has no blank nodes |
    | signature | the proof is of the RDF and the list of hashes, by the expected key if one is given |
    | session … citations | see `verify.verify_trace`: the same checks, on the RDF of the pack |
    | pages | each quote stands at its place in its file, and each file agrees with the chunks in the RDF |
    | objects | queries, results, prompts and documents are those that the RDF names by their hashes |
    | ranking | queries that decided return the recorded rows, order and scores from the included RDF |
    | answer.json | it says what the RDF says |

    Args:
        key: the did:key that must have signed it.
    """
    kinds()  # registers the kinds of steps, by which traces are read
    try:
        files = verify_alone.read_zip(path)
    except (
        ValueError,
        OSError,
        zipfile.BadZipFile,
        zlib.error,
        lzma.LZMAError,
        EOFError,
        RuntimeError,
    ) as error:
        detail = tr("it cannot be read: {cause}").format(cause=tr(str(error)))
        return Verified([Check(later("files"), False, detail)])
    problems = [tr(problem).format(file=file) for problem, file in verify_alone.check_hashes(files)]
    answer, quads = _object(files.get(ANSWER)), list[Quad]()
    checks = [
        checked(later("files"), len(files), [], tr("files can be read safely")),
        checked(later("hashes"), len(files), problems, tr("files have their hashes")),
    ]
    try:
        quads = _quads(files.get(GRAPH, b""))
        checks.append(checked(later("graph"), len(quads), [], tr("statements are in canonical form")))
    except (SyntaxError, ValueError) as error:
        checks.append(Check(later("graph"), False, str(error)))
    signed_by, signature = _signature(files, quads, key)
    texts = (answer.get("question"), answer.get("answer"))
    question, text = (each if isinstance(each, str) else None for each in texts)
    verified = Verified([*checks, signature], question, text, signed_by)
    try:
        opened = _Opened(files, quads)
        with opened.queries:
            trace = read_trace(opened.store, str(answer.get("trace")), opened.blobs, with_runs=True)
            checks = [*verified.checks, *opened.checks(trace, answer)]
    except (GraphRagError, ValueError, KeyError, TypeError, AttributeError, AssertionError) as error:
        cause = error.message if isinstance(error, GraphRagError) else repr(error)
        detail = tr("the trace cannot be read: {cause}").format(cause=cause)
        return replace(verified, checks=[*verified.checks, Check(later("session"), False, detail)])
    return replace(verified, checks=checks, trace=trace, included=opened.store)


def _object(data: bytes | None) -> Mapping[str, Any]:
    try:
        value = json.loads(data or b"")
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def _quads(data: bytes) -> list[Quad]:
    if not 0 < len(data) <= _GRAPH_BYTES:
        raise ValueError(tr("{file} is missing or too large").format(file=GRAPH))
    quads = list(parse(data, format=RdfFormat.N_QUADS))
    if any(isinstance(term, BlankNode) for quad in quads for term in (*quad,)):
        raise ValueError(tr("{file} has blank nodes").format(file=GRAPH))  # canonical() might never end
    if canonical(quads).encode() != data:
        raise ValueError(tr("{file} is not in canonical form").format(file=GRAPH))
    return quads


def signed_document(quads: Iterable[Quad], manifest: bytes) -> str:
    """What is signed: the RDF of a pack, and the hash of its list of hashes."""
    return canonical([*quads, Quad(_MANIFEST, SCHEMA.sha256, Literal(hashlib.sha256(manifest).hexdigest()))])


def _signature(
    files: Mapping[str, bytes], quads: Sequence[Quad], key: str | None
) -> tuple[str | None, Check]:
    name, proof = later("signature"), _object(files.get(PROOF))
    if PROOF not in files:
        return None, Check(name, False if key else None, tr("it is not signed"))
    try:
        did = check_proof(signed_document(quads, files.get(MANIFEST, b"")), proof)
    except UsageError as error:
        return None, Check(name, False if key else None, f"{error.message}: {error.hint}")
    except BadProof as error:
        return None, Check(name, False, tr("the signature does not hold: {cause}").format(cause=error))
    if key not in (None, did):
        return did, Check(name, False, tr("signed by {did}, not by {key}").format(did=did, key=key))
    detail = tr("signed by {did}, {when}").format(did=did, when=proof["created"])
    advice = "" if key else tr("; compare the key with one that the signer published")
    return did, Check(name, True, detail + advice)


class _Opened:
    """The contents of a pack in memory: RDF, texts, and a process for its queries."""

    def __init__(self, files: dict[str, bytes], quads: Sequence[Quad]) -> None:
        self.files, self.blobs = files, BlobStore()
        for data in files.values():
            self.blobs.put(data)
        self.store, both = (EmbeddedStore(TemplateLibrary(folder("queries"))) for _ in range(2))
        self.store.bulk_add(decode(quads))
        both.bulk_add({*quads, *decode(quads)})  # a query of any dialect finds its own
        self.queries, self.deadline = LimitedQueries(both, _SECONDS), time.monotonic() + _TOGETHER

    def checks(self, trace: Trace, answer: Mapping[str, Any]) -> Iterator[Check]:
        """What depends on the RDF. Of runs that steps started, what fails; files count once."""
        yield from _Packed(self, trace).checks()
        for run in list(all_runs(trace))[1:]:
            for check in _Packed(self, run).checks():
                if check.ok is False and check.check not in ("objects", "pages"):
                    message = tr("run “{run}”: {detail}")
                    yield replace(check, detail=message.format(run=run.question, detail=check.detail))
        expected = json.loads(json.dumps(answer_json(trace, cited_places(self.store, trace))))
        differing = [key for key, value in expected.items() if answer.get(key) != value]
        bad = [tr("{key} differs").format(key=key) for key in differing]
        yield checked(later("answer.json"), len(expected), bad, tr("values are those of the RDF"))


class _Packed(Verifier):
    """The checks of a trace, with the texts of a pack in place of those of a store."""

    def __init__(self, opened: _Opened, trace: Trace) -> None:
        super().__init__(opened.store, opened.blobs, trace)
        self._opened, self._places = opened, cited_places(opened.store, trace)

    def _ask(self, sparql: str) -> Sequence[Solution]:
        if time.monotonic() > self._opened.deadline:
            raise UsageError(tr("the queries of the pack take too long"))
        return self._opened.queries.run(sparql, _ROWS).rows or []

    def _is_store_changed(self) -> bool:
        return False

    def _offsets(self, chunks: Sequence[Row]) -> Check:
        files, answer = self._opened.files, answer_json(self._trace, self._places)
        bad = [tr(problem).format(file=file) for problem, file in verify_alone.check_quotes(files, answer)]
        for excerpt in {place.excerpt for place in self._places if place.excerpt}:
            text = files.get(excerpt.name, b"").decode(errors="replace")
            whole = self._blobs.text(excerpt.stored) if excerpt.stored else None
            parts = [(0, whole)] if whole is not None else []
            own = (row for row in chunks if row["document"].value == excerpt.document)
            parts += [(row["offset"], row["content"]) for row in own]
            if len(text) != excerpt.length or not all(_agree(excerpt.start, text, *part) for part in parts):
                message = tr("{file} is not what the document or a chunk of it says")
                bad.append(message.format(file=excerpt.name))
        good = tr("quotes stand at their places in the included pages and texts")
        return checked(later("pages"), len(self._places), bad, good)

    def _objects(self) -> Check:
        files, sessions = self._opened.files, [NamedNode(run.iri) for run in all_runs(self._trace)]
        named = {row["object"].value for row in self._store.select("trace/objects", sessions=sessions)}
        excerpts = [place.excerpt for place in self._places if place.excerpt]
        named |= {each.value for part in excerpts for each in (part.original, part.stored) if each}
        taken = [self._store.select("audit/decisions-taken", session=session) for session in sessions]
        results = [row["hash"] for rows in taken for row in rows]
        own = [name for name in files if name.startswith(("queries/", "prompts/", "documents/"))]
        bad = []
        for name in sorted(own):
            if name.startswith("queries/") and name.endswith(".json"):
                digest = result_hash(read_json(files[name]).rows or [])
                holds = any(digest.startswith(result) for result in results)
            else:
                holds = iris.stored_object(iris.digest(files[name])).value in named
            if not holds:
                bad.append(tr("{file} is not what the RDF names by its hash").format(file=name))
        text = files.get("answer.txt", b"").decode(errors="replace")
        if text != (self._trace.answer or ""):
            bad.append(tr("{file} has another answer").format(file="answer.txt"))
        good = tr("files are what the RDF names by their hashes")
        return checked(later("objects"), len(own) + 1, bad, good)


def _agree(first: int, text: str, second: int, other_text: str) -> bool:
    """Whether two parts of a text, which begin at these places, are the same where they overlap."""
    start, end = max(first, second), min(first + len(text), second + len(other_text))
    return start >= end or text[start - first : end - first] == other_text[start - second : end - second]
