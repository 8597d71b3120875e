"""Finds documents with the same content: equal texts, mostly equal chunks, or one page in two formats.

Equal texts have the same hash, whatever their files. Two editions of a file share most of their chunks,
because the cuts fall into step again after an insertion. A page and its source (`x.html`,
`_sources/x.rst.txt`) share no chunk. So documents of the same name, in the same place but for one folder, are
compared by their words.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, product
from typing import Any

from pyoxigraph import NamedNode

from graphrag_rdf.i18n import later, tr
from graphrag_rdf.ingest.report import IngestReport
from graphrag_rdf.rdf.terms import Term
from graphrag_rdf.store.base import Store
from graphrag_rdf.store.blobs import BlobStore

SAME, NEARLY = later("same text"), later("nearly the same text")
_SHARE = 0.6
"""Equal chunks, of the document that has more, from which two documents are nearly the same."""
_WORDS_SHARE = 0.5
"""Word sequences of the shorter text that the other has too; texts about the same thing share a tenth."""
_MOST = 20
"""Documents that may share a chunk. A chunk of more documents is a form or a licence."""
_READ = 20_000
"""Characters of a text that are compared."""
_LONG = 3
"""Words in a sequence."""
_FEW = 200
"""New documents up to which only their chunks are compared with the others."""
_LISTED = 3
_WORD = re.compile(
    r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]|[^\W_\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]+"
)
"""A character of Chinese, Japanese or Korean, or a run of other letters and digits."""


@dataclass(frozen=True, slots=True)
class Duplicate:
    """Two documents with the same content.

    Attributes:
        kind: `SAME` or `NEARLY`.
        share: of the text that both have, 0 to 1.
        first, second: IRI and path of each.
    """

    kind: str
    share: float
    first: tuple[str, str]
    second: tuple[str, str]

    def as_json(self) -> dict[str, Any]:
        """The keys of `documents --duplicates --format json`."""
        iris, paths = zip(self.first, self.second, strict=True)
        return {"kind": self.kind, "share": self.share, "documents": iris, "paths": paths}


@dataclass(frozen=True, slots=True)
class _Known:
    iri: str
    path: str
    text: str
    chunks: int

    @property
    def name(self) -> tuple[str, str]:
        return self.iri, self.path


def find_duplicates(
    store: Store, blobs: BlobStore, new: Collection[NamedNode] | None = None
) -> list[Duplicate]:
    """Pairs of documents with the same content, the most alike first.

    Args:
        new: only pairs with one of these; None for all.
    """
    few = sorted(new, key=str) if new is not None and len(new) <= _FEW else []
    shared = _shared(store, few)
    known = _like(store, few, {iri for pair in shared for iri in pair}) if few else _known(store)
    wanted = known.keys() if new is None else {iri.value for iri in new}
    found: dict[tuple[str, str], Duplicate] = {}

    def add(one: _Known, other: _Known, kind: str, share: float) -> None:
        first, second = sorted((one, other), key=lambda document: document.path)
        if first.iri in wanted or second.iri in wanted:
            found.setdefault(
                (first.iri, second.iri), Duplicate(kind, round(share, 3), first.name, second.name)
            )

    for first, *copies in _by_text(known).values():
        for copy in copies:
            add(first, copy, SAME, 1.0)
    for pair, chunks in shared.items():
        if not known.keys() >= {*pair}:  # a document of an evaluation set or of RDF has no text
            continue
        one, other = (known[iri] for iri in pair)
        share = min(1.0, chunks / max(one.chunks, other.chunks, 1))
        if share >= _SHARE and one.text != other.text:
            add(one, other, NEARLY, share)
    for a, b in _named_alike(known, wanted):
        if (share := _common(blobs.text(a.text), blobs.text(b.text))) >= _WORDS_SHARE:
            add(a, b, NEARLY, share)
    return sorted(found.values(), key=lambda pair: (-pair.share, pair.first[1], pair.second[1]))


def warn_of_duplicates(
    store: Store, blobs: BlobStore, new: Collection[NamedNode], report: IngestReport
) -> None:
    """Warn of documents that a run added although the store has their content already."""
    found = find_duplicates(store, blobs, new) if new else []
    if not found:
        return
    told = tr("{first} and {second} ({kind})")
    listed = [
        told.format(first=pair.first[1], second=pair.second[1], kind=pair.kind) for pair in found[:_LISTED]
    ]
    if len(found) > _LISTED:
        more = tr("{number:,} more pairs (documents --duplicates)")
        listed.append(more.format(number=len(found) - _LISTED))
    folder = next((name for pair in found if (name := _extra_folder(pair))), None)
    way_out = f"--exclude {folder}" if folder else "--exclude GLOB"
    report.warn(
        "duplicate_documents",
        tr("{pairs}. Forget one of each pair, and leave it out of the next run with {way_out}").format(
            pairs="; ".join(listed), way_out=way_out
        ),
    )


def _extra_folder(pair: Duplicate) -> str | None:
    """The folder that only the longer path has."""
    first, second = sorted((path.split("/") for _, path in (pair.first, pair.second)), key=len)
    return next((name for name in second[1:-1] if name not in first), None)


def _known(store: Store, **only: Sequence[Term]) -> dict[str, _Known]:
    """Documents by IRI; `documents` and `texts` restrict them."""
    found = (
        _Known(
            row["document"].value,
            row["path"],
            row["text"],
            row["chunks"],
        )
        for row in store.select("documents/texts", **only)
    )
    return {document.iri: document for document in found}


def _like(store: Store, few: Sequence[NamedNode], sharing: Iterable[str]) -> dict[str, _Known]:
    """A few documents, and those with their text, their chunks or their name."""
    own = _known(store, documents=few)
    texts = sorted({document.text for document in own.values()})
    names = {_place(document.path)[-1] for document in own.values()}
    called = (row["document"] for row in store.select("documents/paths") if _place(row["path"])[-1] in names)
    others = sorted({*sharing, *called} - own.keys())
    same = _known(store, texts=[NamedNode(text) for text in texts]) if texts else {}
    return own | same | (_known(store, documents=[NamedNode(iri) for iri in others]) if others else {})


def _by_text(known: Mapping[str, _Known]) -> dict[str, list[_Known]]:
    """Documents by their text, where several have it."""
    groups: defaultdict[str, list[_Known]] = defaultdict(list)
    for document in known.values():
        groups[document.text].append(document)
    return {text: group for text, group in groups.items() if len(group) > 1}


def _shared(store: Store, few: Sequence[NamedNode]) -> Counter[tuple[str, str]]:
    """How many chunks two documents have in common."""
    found: Counter[tuple[str, str]] = Counter()
    for row in store.select("documents/shared-chunks", documents=few, most=_MOST):
        together = sorted(row["shared"].split("\n"))
        found.update(combinations(together, 2))
    return found


def _named_alike(known: Mapping[str, _Known], wanted: Collection[str]) -> Iterator[tuple[_Known, _Known]]:
    """Pairs of documents with the same name except for its endings, whose folders differ by one at most."""
    places: defaultdict[tuple[str, ...], list[_Known]] = defaultdict(list)
    for document in known.values():
        places[_place(document.path)].append(document)
    for place, here in places.items():
        deeper = [place[:n] + place[n + 1 :] for n in range(len(place) - 1)]
        above = [other for at in dict.fromkeys(deeper) for other in places.get(at, ())]
        pairs = [*combinations(here, 2), *product(here, above)]
        for one, other in pairs:
            if one.text != other.text and (one.iri in wanted or other.iri in wanted):
                yield one, other


def _place(path: str) -> tuple[str, ...]:
    """A path without the endings of its file's name: `docs/_sources/x.rst.txt` → docs, _sources, x."""
    *folders, name = path.split("/")
    return *folders, name.split(".", 1)[0] if not name.startswith(".") else name


def _common(one: str | None, other: str | None) -> float:
    """The share of the shorter text's word sequences that the other has too; 0 for a text of a few words."""
    first, second = _sequences(one or ""), _sequences(other or "")
    fewer = min(len(first), len(second))
    return len(first & second) / fewer if fewer >= _LONG else 0.0


def _sequences(text: str) -> set[tuple[str, ...]]:
    words = words_of(text[:_READ])
    return set(zip(*(words[start:] for start in range(_LONG)), strict=False))


def words_of(text: str) -> list[str]:
    """The words of a text without regard to case; each character of Chinese, Japanese or Korean is one."""
    return _WORD.findall(text.casefold())
