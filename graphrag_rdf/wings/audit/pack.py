"""`trace export --pack`: an answer with all that proves it, as a ZIP file that needs no store.

It is an RO-Crate. Its RDF is in the dialect `classic`, because RDFC-1.0, by which it is brought into the one
form that can be hashed and signed, knows no triple terms.
"""

from __future__ import annotations

import io
import json
import zipfile
from base64 import b64encode
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any, TypeAlias

from pyoxigraph import NamedNode, Quad

from graphrag_rdf import __version__
from graphrag_rdf.documents.cited_boxes import Box, cited_boxes
from graphrag_rdf.documents.page_image import DrawnPage
from graphrag_rdf.errors import GraphRagError
from graphrag_rdf.rdf.namespaces import RAG, RDFS
from graphrag_rdf.sparql.render import encode
from graphrag_rdf.store.base import Row, Store
from graphrag_rdf.store.blobs import BlobStore
from graphrag_rdf.store.embedded import EmbeddedStore
from graphrag_rdf.trace.documents import Source
from graphrag_rdf.trace.model import Trace
from graphrag_rdf.trace.page import environment, render_page
from graphrag_rdf.trace.reader import read_trace, trace_quads
from graphrag_rdf.trace.rows import result_hash
from graphrag_rdf.wings.audit.crate import METADATA, crate_metadata, manifest, nanopublication
from graphrag_rdf.wings.audit.inputs import Inputs
from graphrag_rdf.wings.audit.pack_answer import Cited, all_runs, answer_json, cited_places, file_name
from graphrag_rdf.wings.audit.pack_verify import GRAPH, signed_document
from graphrag_rdf.wings.audit.past import all_holds, past_of
from graphrag_rdf.wings.audit.signing import canonical, did_of, sign
from graphrag_rdf.wings.audit.verify import verify_trace
from graphrag_rdf.wings.audit.verify_alone import ANSWER, MANIFEST, PROOF

if TYPE_CHECKING:
    from graphrag_rdf.engine import Engine

Draw: TypeAlias = Callable[[NamedNode, int], DrawnPage | None]
"""Draws a page of a PDF in the blob store."""
PAGE = "index.html"
_HERE = Path(__file__).parent


@dataclass(slots=True)
class Pack:
    """A pack.

    Attributes:
        files: name → content.
        unproved: templates of the queries that decided whose rows do not follow from what is included: the
            store has changed since, or they read too much.
    """

    files: dict[str, bytes]
    unproved: list[str]

    def to_zip(self) -> bytes:
        """The file; equal packs give equal bytes."""
        data = io.BytesIO()
        with zipfile.ZipFile(data, "w", zipfile.ZIP_DEFLATED) as archive:
            for name in sorted(self.files, key=lambda name: (name != PAGE, name)):
                archive.writestr(zipfile.ZipInfo(name), self.files[name], zipfile.ZIP_DEFLATED)
        return data.getvalue()


def pack_of(engine: Engine, session: NamedNode, draw: Draw, **options: Any) -> tuple[Pack, str]:
    """Make a pack. If not all of the trace is as it was, it is made of the state of the store in which the
    question was asked, if that is kept and all holds in it.

    Args:
        options: of `make_pack`.

    Returns:
        the pack; and which state it is of, empty for the present one.
    """
    if not all_holds(verify_trace(engine.store, engine.blobs, session)):
        with past_of(engine, session) as past:
            if past is not None and past.ok:
                return make_pack(past.store, engine.blobs, session, draw, **options), past.name
    return make_pack(engine.store, engine.blobs, session, draw, **options), ""


def make_pack(
    store: Store,
    blobs: BlobStore,
    iri: NamedNode | str,
    draw: Draw,
    *,
    with_prompts: bool = True,
    with_documents: bool = False,
    key: Any = None,
    created: datetime | None = None,
) -> Pack:
    """All that proves the answer of a trace.

    Args:
        with_prompts: also prompts and raw answers of models; without, their hashes stay.
        with_documents: whole documents and their texts, not only the cited pages.
        key: to sign it with.
        created: now, if not given.

    Raises:
        UsageError: when there is no such trace.
    """
    trace, created = read_trace(store, iri, blobs, with_runs=True), created or datetime.now(UTC)
    places = cited_places(store, trace)
    files, unproved, quads = _queries(store, blobs, trace)
    files[GRAPH] = canonical(encode(quads, "classic")).encode()
    files |= _prompts(blobs, trace) if with_prompts else {}
    files |= _texts(blobs, places, with_documents=with_documents)
    pictures = _pictures(trace, places, draw)
    files |= {f"pages/{picture.anchor}.png": picture.drawn.png for picture in pictures.values()}
    program = {"name": "graphrag-rdf", "version": __version__}
    files[ANSWER] = _json({**answer_json(trace, places), "program": program})
    files["answer.txt"] = (trace.answer or "").encode()
    files["nanopub.trig"] = nanopublication(trace, places, created)
    files[PAGE] = _html(store, trace, pictures, did_of(key) if key else None).encode()
    files["verify.py"] = (_HERE / "verify_alone.py").read_bytes()
    names = [*files, MANIFEST, *([PROOF] if key else [])]
    files[METADATA] = _json(crate_metadata(trace, names, created))
    files[MANIFEST] = manifest(files)
    if key is not None:
        document = signed_document(encode(quads, "classic"), files[MANIFEST])
        files[PROOF] = _json(sign(document, key, created))
    return Pack(files, unproved)


def _json(data: object) -> bytes:
    return f"{json.dumps(data, ensure_ascii=False, indent=2)}\n".encode()


def _queries(store: Store, blobs: BlobStore, trace: Trace) -> tuple[dict[str, bytes], list[str], set[Quad]]:
    """The queries that decided with their results, the templates of unproved ones, and the RDF."""
    runs, inputs = list(all_runs(trace)), Inputs(store)
    for selection in (selection for run in runs for selection in run.selections):
        proof = [fact for inference in selection.inferences for fact in inference.premises]
        for s, p, o in [*([selection.triple] if selection.triple else []), *selection.also, *proof]:
            inputs.about({s}, p, {o})
            for predicate in (RDFS.label, RAG.displayName, RAG.canonicalEntity):
                inputs.about({s, p, o}, predicate)
    sessions = [NamedNode(run.iri) for run in runs]
    rows = [row for session in sessions for row in store.select("audit/decisions-taken", session=session)]
    decided = [(row, blobs.text(row["sparql"]) if row["sparql"] else None) for row in rows]
    readable = {text: inputs.add(text) for _, text in decided if text is not None}
    quads = inputs.quads | {quad for session in sessions for quad in trace_quads(store, session)}
    included = EmbeddedStore(store.templates)
    included.bulk_add(encode(quads, store.renderer.dialect))
    files: dict[str, bytes] = {}
    unproved = []
    for number, (row, text) in enumerate(decided, start=1):
        if text is None or not readable[text] or not _is_proved(included, text, row):
            unproved.append(row["template"])
            continue
        name, results = f"queries/{number:02}-{row['template'].replace('/', '-')}", io.BytesIO()
        included.write_results(text, results, "application/sparql-results+json")
        files |= {f"{name}.rq": text.encode(), f"{name}.json": results.getvalue()}
    return files, unproved, quads


def _is_proved(included: Store, sparql: str, row: Row) -> bool:
    try:
        rows = included.query(sparql).rows or []
    except GraphRagError:  # it was written for another engine
        return False
    return result_hash(rows).startswith(row["hash"])


def _prompts(blobs: BlobStore, trace: Trace) -> dict[str, bytes]:
    files = {}
    calls = [call for run in all_runs(trace) for step in run.steps for call in step.calls if call.prompt]
    for number, call in enumerate(calls, start=1):
        for stored, end in ((call.prompt, "prompt"), (call.completion, "answer")):
            if stored is not None and (data := blobs.get(stored)) is not None:
                files[f"prompts/{number:02}-{file_name(call.purpose or 'call')}-{end}.txt"] = data
    return files


def _texts(blobs: BlobStore, places: Iterable[Cited], *, with_documents: bool) -> dict[str, bytes]:
    files = {}
    for excerpt in {place.excerpt for place in places if place.excerpt}:
        whole = (blobs.text(excerpt.stored) if excerpt.stored else None) or ""
        part = whole[excerpt.start : excerpt.start + excerpt.length]
        files[excerpt.name] = (part if excerpt.text is None else excerpt.text).encode()
        suffix = PurePath(excerpt.document).suffix
        suffix = suffix if suffix[1:].isalnum() and suffix.isascii() else ""
        for stored, end in ((excerpt.original, suffix), (excerpt.stored, ".text.txt")):
            if with_documents and stored is not None and (data := blobs.get(stored)) is not None:
                files[f"documents/{file_name(excerpt.document, end)}"] = data
    return files


@dataclass(slots=True)
class _Picture:
    """A cited page of a PDF, with the places of the quotes on it."""

    anchor: str
    title: str
    number: int
    drawn: DrawnPage
    boxes: list[Box]
    markers: dict[str, None]

    @property
    def address(self) -> str:
        """The picture itself."""
        return f"data:image/png;base64,{b64encode(self.drawn.png).decode()}"


def _pictures(trace: Trace, places: Sequence[Cited], draw: Draw) -> dict[tuple[str, int], _Picture]:
    pictures: dict[tuple[str, int], _Picture] = {}
    for place in places:
        excerpt, source = place.excerpt, place.source
        if excerpt is None or excerpt.mime != "application/pdf" or excerpt.original is None:
            continue
        for number, offset, length in excerpt.pages:
            page = excerpt.document, number
            if page not in pictures and (drawn := draw(excerpt.original, number)) is not None:
                anchor = file_name(excerpt.document, f"-p{number}")
                pictures[page] = _Picture(anchor, source.name or source.title, number, drawn, [], {})
            if page in pictures:
                first = offset - (source.char_offset or 0)
                quote = source.quote[max(first, 0) : max(first + length, 0)].strip()
                if quote:
                    start = max(-first, 0) / max(length, 1)
                    pictures[page].boxes += cited_boxes(pictures[page].drawn, quote, start)
                if place.selection.marker is not None:
                    pictures[page].markers[trace.citation(place.selection.marker)] = None
    return pictures


def _html(
    store: Store, trace: Trace, pictures: Mapping[tuple[str, int], _Picture], signer: str | None
) -> str:
    def place(source: Source, *_: object) -> str | None:
        picture = pictures.get((source.document, source.page_number or 0))
        return f"#{picture.anchor}" if picture else None

    template = environment().from_string((_HERE / "pack.html.j2").read_text("utf-8"))
    return render_page(store, trace, template, place=place, pictures=list(pictures.values()), signer=signer)
