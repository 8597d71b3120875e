"""`facts compare`: what one extraction found and another did not, or what a gold file has.

Facts are the same if their words are (`facts.fact_key`): stems of labels without articles and auxiliaries, an
active and its passive, dates in any form. IRIs do not count, because stores may differ in their namespace.
"""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

from pyoxigraph import Literal, NamedNode

from graphrag_rdf.errors import UsageError
from graphrag_rdf.extract.numbers import read_date
from graphrag_rdf.i18n import tr
from graphrag_rdf.store.base import Store, select_in_batches
from graphrag_rdf.trace.documents import Source, read_source, with_names
from graphrag_rdf.trace.facts import fact_of, read_labels
from graphrag_rdf.trace.model import Fact
from graphrag_rdf.wings.evaluation.facts import Fact as Words
from graphrag_rdf.wings.evaluation.facts import Key, fact_key, fact_keys

_IRI = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:[^\x00-\x20<>\"{}|\\^`]+")
_FIELDS = ("subject", "predicate", "object")


@dataclass(frozen=True, slots=True)
class Side:
    """The facts of one extraction, or of a gold file.

    Attributes:
        name: for people.
        facts: in words, by their key; a gold fact with alternatives has several.
        known: key → the fact in the store.
    """

    name: str
    facts: Mapping[Key, Words]
    known: Mapping[Key, Fact] = field(default_factory=dict)

    @property
    def size(self) -> int:
        """Number of facts."""
        return len(set(self.facts.values()))


@dataclass(frozen=True, slots=True)
class FoundFact:
    """A fact that only one side has, with its sources."""

    JSON: ClassVar = ("subject", "predicate", "object", "fact", "sources")

    subject: str
    predicate: str
    object: str
    fact: Fact | None
    sources: tuple[Source, ...]


@dataclass(frozen=True, slots=True)
class Compared:
    """Two sides. Precision and recall are those of the first, measured against the second.

    Attributes:
        common: facts of the first that the second has.
        missed: facts of the second that the first has not.
    """

    first: Side
    second: Side
    common: tuple[Words, ...]
    more: tuple[Key, ...]
    missed: tuple[Key, ...]

    @property
    def precision(self) -> float | None:
        """The share of the first side's facts that the second has; None without facts."""
        return len(self.common) / self.first.size if self.first.size else None

    @property
    def recall(self) -> float | None:
        """The share of the second side's facts that the first has; None without facts."""
        return 1 - len(self.missed) / self.second.size if self.second.size else None

    @property
    def f1(self) -> float | None:
        """The harmonic mean of both; None if neither side has facts."""
        shares = (self.precision or 0.0, self.recall or 0.0)
        if self.precision is None and self.recall is None:
            return None
        return 2 * shares[0] * shares[1] / sum(shares) if sum(shares) else 0.0


def compare(first: Side, second: Side) -> Compared:
    """Compare two sides."""
    common = [words for key, words in first.facts.items() if key in second.facts]
    more = [key for key in first.facts if key not in second.facts]
    has = {second.facts[key] for key in first.facts if key in second.facts}
    missed: dict[Words, Key] = {}
    for key, words in second.facts.items():
        if words not in has:
            missed.setdefault(words, key)
    return Compared(first, second, tuple(common), tuple(more), tuple(missed.values()))


def side_of(store: Store, name: str, run: str | None = None) -> Side:
    """The facts that a store holds.

    Args:
        name: of the side, for people.
        run: only those of one extraction: the kind of extractor (`rules`, `llm`), its key, its model, or an
            activity; None for all facts.

    Raises:
        UsageError: no extraction, or several, are called so.
    """
    rows = store.select("facts/of-runs", extractors=[] if run is None else [_extractor(store, run)])
    labels = read_labels(store, [row[each] for row in rows for each in "spo"])
    facts: dict[Key, Fact] = {}
    for row in rows:
        fact = fact_of(row, labels)
        facts.setdefault(fact_key(_dated(_words(fact)), "en"), fact)
    return Side(name, {key: _words(fact) for key, fact in facts.items()}, facts)


def gold_side(path: Path) -> Side:
    """The facts of a gold file.

    Its lines are JSON, an object with `subject`, `predicate` and `object` or a list of three, or those of CSV
    or TSV, with or without a head. Parts may have alternatives, separated by `|`.

    Raises:
        UsageError: the file is missing, or a line is no fact.
    """
    try:
        lines = path.read_text(encoding="utf-8-sig").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(tr("cannot read {path}: {cause}").format(path=path, cause=error)) from None
    facts: dict[Key, Words] = {}
    for number, words in _gold_lines(path, lines):
        if words is None:
            raise UsageError(
                tr("{path}, line {number}: not a fact").format(path=path, number=number),
                hint=tr('a line is {"subject": …, "predicate": …, "object": …}, or has three columns'),
            )
        for key in fact_keys(_dated(words), "en"):
            facts.setdefault(key, words)
    return Side(str(path), facts)


def sources_of(store: Store, facts: Sequence[Fact]) -> dict[Fact, tuple[Source, ...]]:
    """The quotes that facts rest on, with chunk, page and document."""
    by_terms = {(fact.s, fact.p, fact.o): fact for fact in facts}
    rows = [
        {**row, "quote": row["quote"].value}
        for row in select_in_batches(store, "provenance/sources", "edges", list(by_terms))
    ]
    grouped: dict[Fact, dict[Source, None]] = {}
    for row, source in zip(rows, with_names(store, map(read_source, rows)), strict=True):
        grouped.setdefault(by_terms[row["s"], row["p"], row["o"]], {})[source] = None
    return {fact: tuple(sources) for fact, sources in grouped.items()}


def listed(store: Store | None, side: Side, keys: Sequence[Key]) -> list[FoundFact]:
    """Facts of a side with their sources.

    Args:
        store: that holds them; None for a gold file.
    """
    facts = [side.known[key] for key in keys if key in side.known]
    sources = sources_of(store, facts) if store is not None and facts else {}
    return [
        FoundFact(
            *side.facts[key],
            fact=side.known.get(key),
            sources=sources.get(side.known[key], ()) if key in side.known else (),
        )
        for key in keys
    ]


def _extractor(store: Store, run: str) -> str:
    """The key of the extractor that a name means."""
    runs = store.select("facts/runs")
    matches: list[str] = []
    for row in runs:
        key = row["extractor"]
        if run in {key, key.partition("/")[0], row["model"]}:
            matches.append(key)
    if not matches and _IRI.fullmatch(run):
        matches = [row["extractor"] for row in store.select("facts/run-of", activity=NamedNode(run))]
    if len(matches) == 1:
        return matches[0]
    keys = "; ".join(row["extractor"] for row in runs) or "none"
    if matches:
        raise UsageError(
            tr("{run!r} means several extractions").format(run=run),
            hint=tr("name one of: {keys}").format(keys=keys),
        )
    raise UsageError(
        tr("{run!r} is no store, no file and no extraction of this store").format(run=run),
        hint=tr("extractions: {keys}").format(keys=keys),
    )


def _words(fact: Fact) -> Words:
    value = fact.o.value if isinstance(fact.o, Literal) else fact.o_label
    return fact.s_label, fact.p_label, value


def _dated(words: Words) -> Words:
    """A fact with its object as a date, if it is one."""
    subject, predicate, value = words
    dates = [read_date(each) for each in value.split("|")]
    parts = (date[0] if date else each for date, each in zip(dates, value.split("|"), strict=True))
    return subject, predicate, "|".join(parts)


def _gold_lines(path: Path, lines: Sequence[str]) -> Iterable[tuple[int, Words | None]]:
    if path.suffix.lower() in {".csv", ".tsv"}:
        table = csv.reader(lines, delimiter="\t" if path.suffix.lower() == ".tsv" else ",")
        for number, cells in enumerate(table, start=1):
            fields = [cell.strip() for cell in cells]
            if any(fields) and not (number == 1 and tuple(map(str.lower, fields[:3])) == _FIELDS):
                yield number, _fact(fields)
        return
    for number, line in enumerate(lines, start=1):
        if line.strip():
            try:
                item = json.loads(line)
            except ValueError:
                yield number, None
            else:
                yield number, _fact([item.get(name) for name in _FIELDS] if isinstance(item, dict) else item)


def _fact(parts: Any) -> Words | None:
    if not isinstance(parts, list) or len(parts) < len(_FIELDS):
        return None
    s, p, o = parts[:3]
    return (s, p, str(o)) if isinstance(s, str) and isinstance(p, str) and s and p and o else None
