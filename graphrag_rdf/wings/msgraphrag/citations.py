"""The citations in texts of reports: `[Data: Entities (5, 7); Relationships (23, +more)]`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

_BLOCK = re.compile(r"\[\s*Data\s*:([^\[\]]*)\]", re.IGNORECASE)
_DATASET = re.compile(r"([A-Za-z][A-Za-z _]*?)\s*\(([^()]*)\)")
_NUMBER = re.compile(r"\d{1,18}")
_MORE = re.compile(r"\+\s*more", re.IGNORECASE)
_CITED = re.compile(r"\s*" + _BLOCK.pattern, re.IGNORECASE)

DATASETS: Mapping[str, str] = {
    "entity": "entities",
    "entities": "entities",
    "relationship": "relationships",
    "relationships": "relationships",
    "claim": "covariates",
    "claims": "covariates",
    "covariates": "covariates",
    "source": "text_units",
    "sources": "text_units",
    "text units": "text_units",
    "report": "community_reports",
    "reports": "community_reports",
}
"""Name of a dataset in a citation → its table."""
_WRITTEN = {"entities": "Entities", "relationships": "Relationships", "covariates": "Claims"} | {
    "text_units": "Sources",
    "community_reports": "Reports",
}


@dataclass(frozen=True, slots=True)
class Citation:
    """A cited row: its table, or the unknown name of a dataset, and its number there."""

    table: str
    number: int


def parse_citations(text: str) -> tuple[list[Citation], int]:
    """The citations of a text, in order, repeated ones too; and how often it says that there are more."""
    found: list[Citation] = []
    more = 0
    for block in _BLOCK.findall(text):
        for name, numbers in _DATASET.findall(block):
            table = DATASETS.get(name.strip().lower(), name.strip())
            found += [Citation(table, int(number)) for number in _NUMBER.findall(numbers)]
            more += len(_MORE.findall(numbers))
    return found, more


def without_citations(text: str) -> str:
    """The text without citations, and without the white space before them."""
    return _CITED.sub("", text).strip()


def write_citations(cited: Mapping[str, Iterable[int]]) -> str:
    """A citation of rows, by table; "" for none."""
    parts = []
    for table, name in _WRITTEN.items():
        numbers = list(dict.fromkeys(cited.get(table, ())))
        if numbers:
            parts.append(f"{name} ({', '.join(map(str, numbers))})")
    return f"[Data: {'; '.join(parts)}]" if parts else ""
