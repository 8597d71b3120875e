"""What an import of tables did: how each table fared, and every row that could not be taken as it is."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from graphrag_rdf.i18n import later

if TYPE_CHECKING:
    from graphrag_rdf.ingest.report import ValidationCounts

REASONS: Mapping[str, str] = {
    "malformed": later("a value that the row needs is missing"),
    "duplicate": later("the row is there twice, or another row says the same"),
    "unknown_document": later("no row of documents has the id"),
    "text_from_text_units": later("the text is missing or lacks text units, so it was made of these"),
    "no_text_units": later("nothing was read from the document"),
    "no_text_unit": later("no row of text_units has one of its ids"),
    "unknown_text_unit": later("some of its text units are not there"),
    "unknown_entity": later("no row of entities has the id, or it could not be imported"),
    "unknown_relationship": later("no row of relationships has the id, or it could not be imported"),
    "undescribed_end": later(
        "no row of entities has the title, so the entity has neither type nor description"
    ),
    "not_a_claim": later("the covariate is not a claim"),
    "status_not_listed": later("the status is neither TRUE, FALSE nor SUSPECTED"),
    "no_quote": later("the claim quotes nothing"),
    "invalid_date": later("a date cannot be read, so the claim has none"),
    "no_members": later("no member of the community could be imported"),
    "unknown_community": later("no row of communities has the number"),
    "invalid_rank": later("the rank is not a number from 0 to 10, so the report has none"),
    "no_findings": later("the report has no finding that cites something"),
    "uncited_finding": later("the finding cites nothing that could be imported"),
    "dangling_citation": later("no row has the number"),
    "outside_citation": later("what is cited is not of the report's community"),
    "name": later("the name cannot be an entity"),
}
"""Reason of a problem → what it means."""
KEPT = frozenset(
    {
        "text_from_text_units", "no_text_units", "undescribed_end", "invalid_date", "invalid_rank",
        "unknown_document", "unknown_text_unit", "unknown_entity", "unknown_relationship", "outside_citation",
    }
)  # fmt: skip
"""Reasons for which a row is imported nevertheless."""


@dataclass(frozen=True, slots=True)
class Problem:
    """A row, or a part of one, that is not as it should be.

    Attributes:
        row: its number or id.
        reason: one of `REASONS`.
        detail: what exactly.
    """

    table: str
    row: str
    reason: str
    detail: str = ""


@dataclass(slots=True)
class TableCounts:
    """How the rows of a table fared; `imported` are those that the store has now."""

    rows: int = 0
    imported: int = 0


@dataclass(slots=True)
class CitationCounts:
    """How the citations of findings fared.

    Attributes:
        total: numbers that findings cite.
        resolved: of these, numbers of things that the store has.
        dangling: numbers of nothing.
        outside: resolved ones of things that are not of the report's community.
        more: how often a finding says that it left out citations.
    """

    total: int = 0
    resolved: int = 0
    dangling: int = 0
    outside: int = 0
    more: int = 0


@dataclass(slots=True)
class TablesReport:
    """The result of an import of tables.

    Attributes:
        tables: table → how its rows fared.
        missing: tables that there are none of.
        facts, entities: new in the store, with those that were found in the texts.
        changed: descriptions and weights, chunks with claims, and triples of communities that were written
            or removed.
        communities_kept: the store has communities of its own, so those of the tables were left out.
        validation: what a validation with SHACL shapes found, if there was one.
    """

    tables: dict[str, TableCounts] = field(default_factory=dict)
    missing: list[str] = field(default_factory=list)
    citations: CitationCounts = field(default_factory=CitationCounts)
    problems: list[Problem] = field(default_factory=list)
    facts: int = 0
    entities: int = 0
    changed: int = 0
    communities_kept: bool = False
    validation: ValidationCounts | None = None
    stopped: str | None = None
    warnings: list[dict[str, str]] = field(default_factory=list)
    seconds: float = 0.0

    def note(self, table: str, row: str, reason: str, detail: str = "") -> None:
        """Add a problem."""
        self.problems.append(Problem(table, row, reason, detail))

    def warn(self, kind: str, detail: str) -> None:
        """Add a warning."""
        self.warnings.append({"type": kind, "detail": detail})

    @property
    def reasons(self) -> dict[str, dict[str, int]]:
        """Table → reason → number of problems."""
        found: dict[str, Counter[str]] = {}
        for problem in self.problems:
            found.setdefault(problem.table, Counter())[problem.reason] += 1
        return {table: dict(sorted(counts.items())) for table, counts in found.items()}

    def as_json(self) -> dict[str, Any]:
        """The keys of `import ms-graphrag --format json`."""
        return {
            "tables": {
                name: {**asdict(counts), "problems": self.reasons.get(name, {})}
                for name, counts in self.tables.items()
            },
            "missing": self.missing,
            "citations": asdict(self.citations),
            "problems": [asdict(problem) for problem in self.problems],
            "facts": self.facts,
            "entities": self.entities,
            "changed": self.changed,
            "communities_kept": self.communities_kept,
            "validation": asdict(self.validation) if self.validation else None,
            "stopped": self.stopped,
            "warnings": self.warnings,
            "seconds": self.seconds,
        }


def listed(names: Iterable[str], most: int = 5) -> str:
    """Names for a message; of many only the first."""
    found = list(names)
    return ", ".join(found if len(found) <= most else [*found[:most], "…"])
