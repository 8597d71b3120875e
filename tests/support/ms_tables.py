"""Small tables as Microsoft GraphRAG 3 writes them: overlapping text units, and all kinds of faults."""

from __future__ import annotations

import csv
from copy import deepcopy
from pathlib import Path
from typing import Any

from graphrag_rdf.wings.msgraphrag.tables import COLUMNS, write_table

HARBOUR = (
    "\ufeffAda Lark designed the Skell Tidal Station in Port Merrin. The station opened in 1911.\n\n"
    "Tom Reed sailed the Petrel past Port Merrin. The Petrel sank that winter, and Ada Lark "
    "wrote to Tom Reed."
)
MILL = "Mara Finch owned the Old Mill near Port Merrin. Ada Lark rented it."
_FIRST = HARBOUR.removeprefix("\ufeff")[: HARBOUR.index(" The Petrel sank") - 1]
_SECOND = HARBOUR[HARBOUR.index("Tom Reed sailed") :]

Tables = dict[str, list[dict[str, Any]]]

TABLES: Tables = {
    "documents": [
        {
            "id": "d1",
            "human_readable_id": 0,
            "title": "harbour.txt",
            "text": HARBOUR,
            "text_unit_ids": ["t1", "t2"],
            "creation_date": "2026-01-09 10:00:00 +0000",
        },
        {
            "id": "d2",
            "human_readable_id": 1,
            "title": "mill.txt",
            "text": MILL,
            "text_unit_ids": ["t3"],
            "creation_date": "2026-01-09 10:00:00 +0000",
        },
    ],
    "text_units": [
        {
            "id": "t2",
            "human_readable_id": 0,
            "text": f"title: harbour.txt.\n{_SECOND}",
            "n_tokens": 30,
            "document_id": "d1",
        },
        {
            "id": "t1",
            "human_readable_id": 1,
            "text": f"title: harbour.txt.\n\ufeff{_FIRST}",
            "n_tokens": 30,
            "document_id": "d1",
        },
        {"id": "t3", "human_readable_id": 2, "text": MILL, "n_tokens": 20, "document_id": "d2"},
    ],
    "entities": [
        {
            "id": "e1",
            "human_readable_id": 0,
            "title": "ADA LARK",
            "type": "PERSON",
            "frequency": 3,
            "degree": 3,
            "description": "Ada Lark is an engineer.",
            "text_unit_ids": ["t1", "t2", "t3"],
        },
        {
            "id": "e2",
            "human_readable_id": 1,
            "title": "SKELL TIDAL STATION",
            "type": "ORGANIZATION",
            "description": "A power station.",
            "text_unit_ids": ["t1"],
            "frequency": 1,
            "degree": 1,
        },
        {
            "id": "e3",
            "human_readable_id": 2,
            "title": "TOM REED",
            "type": "PERSON",
            "frequency": 1,
            "degree": 2,
            "description": "Tom Reed is a sailor.",
            "text_unit_ids": ["t2"],
        },
        {
            "id": "e4",
            "human_readable_id": 3,
            "title": "OLD MILL",
            "type": "GEO",
            "frequency": 1,
            "degree": 1,
            "description": "A mill.",
            "text_unit_ids": ["t3"],
        },
    ],
    "relationships": [
        {
            "id": "r1",
            "human_readable_id": 0,
            "source": "ADA LARK",
            "target": "SKELL TIDAL STATION",
            "description": "Ada Lark designed the station.",
            "weight": 9.0,
            "text_unit_ids": ["t1"],
            "combined_degree": 4,
        },
        {
            "id": "r2",
            "human_readable_id": 1,
            "source": "ADA LARK",
            "target": "TOM REED",
            "weight": 4.0,
            "description": "Ada Lark wrote to Tom Reed.",
            "text_unit_ids": ["t2"],
            "combined_degree": 5,
        },
        {
            "id": "r3",
            "human_readable_id": 2,
            "source": "TOM REED",
            "target": "PETREL",
            "weight": 2.0,
            "description": "He sailed it.",
            "text_unit_ids": ["t2"],
            "combined_degree": 2,
        },
        {
            "id": "r4",
            "human_readable_id": 3,
            "source": "ADA LARK",
            "target": "OLD MILL",
            "weight": 1.5,
            "description": "She rented it.",
            "text_unit_ids": ["t3"],
            "combined_degree": 4,
        },
    ],
    "covariates": [
        {
            "id": "c1",
            "human_readable_id": 0,
            "covariate_type": "claim",
            "type": "SHIPWRECK",
            "status": "TRUE",
            "description": "The Petrel sank.",
            "subject_id": "PETREL",
            "object_id": "NONE",
            "start_date": "1911-12-01T00:00:00",
            "end_date": "NONE",
            "text_unit_id": "t2",
            "source_text": "The Petrel sank that winter",
        },
        {
            "id": "c2",
            "human_readable_id": 1,
            "covariate_type": "claim",
            "type": "LETTER",
            "status": "SUSPECTED",
            "description": "Ada Lark wrote to Tom Reed.",
            "subject_id": "ADA LARK",
            "object_id": "TOM REED",
            "start_date": "soon",
            "end_date": "NONE",
            "text_unit_id": "t2",
            "source_text": "Words that are not there",
        },
        {
            "id": "c3",
            "human_readable_id": 2,
            "covariate_type": "claim",
            "type": None,
            "description": None,
            "subject_id": "ADA LARK",
            "text_unit_id": "t2",
        },
        {
            "id": "c4",
            "human_readable_id": 3,
            "covariate_type": "claim",
            "type": "NONE",
            "status": "NONE",
            "description": "Nothing is claimed.",
            "subject_id": "GEO: NONE",
            "object_id": "NONE",
            "source_text": "NONE",
            "text_unit_id": "t1",
        },
    ],
    "communities": [
        {
            "id": "k0",
            "human_readable_id": 0,
            "community": 0,
            "level": 0,
            "parent": -1,
            "children": [1],
            "title": "Community 0",
            "entity_ids": ["e1", "e2", "e3"],
            "relationship_ids": ["r1", "r2"],
            "text_unit_ids": ["t1", "t2"],
            "period": "2026-01-09",
            "size": 3,
        },
        {
            "id": "k1",
            "human_readable_id": 1,
            "community": 1,
            "level": 1,
            "parent": 0,
            "children": [],
            "title": "Community 1",
            "entity_ids": ["e1", "e3"],
            "relationship_ids": ["r2"],
            "text_unit_ids": ["t2"],
            "period": "2026-01-09",
            "size": 2,
        },
        {
            "id": "k2",
            "human_readable_id": 2,
            "community": 2,
            "level": 0,
            "parent": -1,
            "children": [],
            "title": "Community 2",
            "entity_ids": ["gone"],
            "relationship_ids": [],
            "text_unit_ids": [],
            "period": "2026-01-09",
            "size": 1,
        },
    ],
    "community_reports": [
        {
            "id": "p0",
            "human_readable_id": 0,
            "community": 0,
            "level": 0,
            "parent": -1,
            "children": [1],
            "title": "The harbour",
            "summary": "People of the harbour.",
            "rank": 7.5,
            "size": 3,
            "rating_explanation": "They matter.",
            "full_content": "",
            "full_content_json": "",
            "period": "2026-01-09",
            "findings": [
                {
                    "summary": "Ada Lark built",
                    "explanation": "Hers [Data: Entities (0, 99); Relationships (0, +more)]. It opened.",
                },
                {"summary": "Elsewhere", "explanation": "The mill [Data: Relationships (3); Reports (1)]."},
                {"summary": "Nothing", "explanation": "Cites nothing."},
            ],
        },
        {
            "id": "p1",
            "human_readable_id": 1,
            "community": 1,
            "level": 1,
            "parent": 0,
            "children": [],
            "title": "A letter",
            "summary": "Ada Lark and Tom Reed.",
            "rank": 3.0,
            "size": 2,
            "rating_explanation": "Small.",
            "full_content": "",
            "full_content_json": "",
            "period": "2026-01-09",
            "findings": [{"summary": "She wrote", "explanation": "To him [Data: Claims (1), Sources (0)]"}],
        },
        {
            "id": "p7",
            "human_readable_id": 7,
            "community": 7,
            "level": 0,
            "parent": -1,
            "children": [],
            "title": "Nobody",
            "summary": "Nobody.",
            "rank": 1.0,
            "size": 0,
            "findings": [],
        },
    ],
}


def some_tables() -> Tables:
    """A copy to change."""
    return deepcopy(TABLES)


def write_parquet(folder: Path, tables: Tables, form: str = "{}.parquet") -> Path:
    """Write tables as parquet files."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, rows in tables.items():
        write_table(folder / form.format(name), COLUMNS[name], rows)
    return folder


def write_csv(folder: Path, tables: Tables) -> Path:
    """Write tables as CSV files, with lists as pandas prints them."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, rows in tables.items():
        with (folder / f"{name}.csv").open("w", encoding="utf-8", newline="") as opened:
            writer = csv.DictWriter(opened, list(COLUMNS[name]), restval="")
            writer.writeheader()
            writer.writerows({key: "" if cell is None else cell for key, cell in row.items()} for row in rows)
    return folder
