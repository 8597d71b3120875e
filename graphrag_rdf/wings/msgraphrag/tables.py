"""Reads and writes the files of tables: parquet by arro3, CSV without it.

In a folder each table is `{name}.parquet`, `{name}.csv`, or `create_final_{name}.parquet` of versions before
1.0. The folder may be that of the project, whose tables are in `output/`.
"""

from __future__ import annotations

import csv
import io
import json
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from pydantic import ValidationError

from graphrag_rdf.errors import ConfigError, UsageError, system_cause
from graphrag_rdf.exchange.whole_file import whole_file
from graphrag_rdf.i18n import tr
from graphrag_rdf.wings.msgraphrag.report import TableCounts, TablesReport, listed
from graphrag_rdf.wings.msgraphrag.rows import (
    ROWS,
    CommunityRow,
    CovariateRow,
    DocumentRow,
    EntityRow,
    RelationshipRow,
    ReportRow,
    TableRow,
    TextUnitRow,
    required_columns,
)

EXTRA = "ms-graphrag"
_FORMS = ("{}.parquet", "create_final_{}.parquet", "{}.csv", "create_final_{}.csv")
_MAGIC = b"PAR1"
R = TypeVar("R", bound=TableRow)


@dataclass(frozen=True, slots=True)
class Tables:
    """The rows of all tables that can be read; the others are in the report."""

    documents: list[DocumentRow] = field(default_factory=list)
    text_units: list[TextUnitRow] = field(default_factory=list)
    entities: list[EntityRow] = field(default_factory=list)
    relationships: list[RelationshipRow] = field(default_factory=list)
    covariates: list[CovariateRow] = field(default_factory=list)
    communities: list[CommunityRow] = field(default_factory=list)
    community_reports: list[ReportRow] = field(default_factory=list)


def read_tables(folder: Path, report: TablesReport) -> Tables:
    """Read the tables of a folder.

    Args:
        report: gets the counts of rows, missing tables and malformed rows.

    Raises:
        UsageError: the folder has no text units, or a file cannot be read or lacks a column.
        ConfigError: it has parquet files, and the extra for these is not installed.
    """
    files = find_tables(folder)
    report.missing = [name for name in ROWS if name not in files]
    tables = Tables()
    for name, kind in ROWS.items():
        if name in files:
            rows = getattr(tables, name)
            found = read_file(files[name])
            _check_columns(files[name], kind, found)
            rows.extend(_parsed(name, kind, found, report))
    return tables


def find_tables(folder: Path) -> dict[str, Path]:
    """Table → its file.

    Raises:
        UsageError: there are no text units.
    """
    if not folder.is_dir():
        raise UsageError(
            tr("{folder} is not a folder").format(folder=folder),
            hint=tr("name the folder with the tables, e.g. output"),
        )
    for place in (folder, folder / "output"):
        paths = {name: [place / form.format(name) for form in _FORMS] for name in ROWS}
        found = {name: next(filter(Path.is_file, each), None) for name, each in paths.items()}
        files = {name: path for name, path in found.items() if path is not None}
        if files:
            break
    if "text_units" not in files:
        has = listed(path.name for path in files.values())
        raise UsageError(
            tr("{folder} has no table of text units").format(folder=folder)
            + (tr(", only {has}").format(has=has) if has else ""),
            hint=tr("name the folder that has text_units.parquet, as graphrag index writes it"),
        )
    return files


def read_file(path: Path) -> list[dict[str, object]]:
    """The rows of a file.

    Raises:
        UsageError: it cannot be read.
        ConfigError: it is parquet, and the extra is not installed.
    """
    try:
        return _read_csv(path) if path.suffix == ".csv" else _read_parquet(path)
    except OSError as error:
        raise UsageError(
            tr("cannot read {path}: {cause}").format(path=path, cause=system_cause(error))
        ) from error


def _read_csv(path: Path) -> list[dict[str, object]]:
    csv.field_size_limit(min(sys.maxsize, 1 << 31 - 1))
    try:
        with path.open(encoding="utf-8-sig", newline="") as opened:
            rows = [*csv.DictReader(opened)]
    except (UnicodeDecodeError, csv.Error) as error:
        raise UsageError(tr("cannot read {path}: {cause}").format(path=path, cause=error)) from error
    return [{name: cell or None for name, cell in row.items() if name is not None} for row in rows]


def _read_parquet(path: Path) -> list[dict[str, object]]:
    arrow = _arrow()
    with path.open("rb") as opened:
        ends = opened.read(4), opened.seek(-4, io.SEEK_END) and opened.read(4)
    if ends != (_MAGIC, _MAGIC):  # the reader would not return from a file that was cut off
        raise UsageError(tr("cannot read {path}: it is not a whole parquet file").format(path=path))
    try:
        table = arrow.read_parquet(path).read_all()
        columns = {name: table.column(name).to_pylist() for name in table.column_names}
    except BaseException as error:
        if isinstance(error, KeyboardInterrupt | SystemExit | GeneratorExit | MemoryError):
            raise
        # arro3 panics on damage within a file, which is no Exception
        raise UsageError(
            tr("cannot read {path}: it is damaged, or uses a form that is not supported").format(path=path)
        ) from None
    return [dict(zip(columns, cells, strict=True)) for cells in zip(*columns.values(), strict=True)]


def _arrow() -> Any:
    try:
        import arro3.io
    except ImportError as error:
        raise ConfigError(
            tr("parquet files need the package arro3-io, which is not installed"),
            hint=tr("pip install 'graphrag-rdf[{extra}]'").format(extra=EXTRA),
        ) from error
    return arro3.io


def _check_columns(path: Path, kind: type[TableRow], rows: Sequence[Mapping[str, object]]) -> None:
    if not rows:
        return
    lacking = [names for names in required_columns(kind) if not any(name in rows[0] for name in names)]
    if lacking:
        wanted = ", ".join(" or ".join(names) for names in lacking)
        raise UsageError(
            tr("{path} has no column {wanted}").format(path=path, wanted=wanted),
            hint=tr("is it a table of Microsoft GraphRAG?"),
        )


def _parsed(
    name: str, kind: type[R], rows: Iterable[Mapping[str, object]], report: TablesReport
) -> Iterable[R]:
    counts = report.tables.setdefault(name, TableCounts())
    for row in rows:
        counts.rows += 1
        try:
            yield kind.model_validate(row)
        except ValidationError as error:
            number = row.get("human_readable_id")
            fields = ", ".join(dict.fromkeys(str(each["loc"][0]) for each in error.errors()))
            report.note(name, str(row.get("id") if number is None else number), "malformed", f"no {fields}")


# --- writing ---------------------------------------------------------------------------------------------

TEXT, INTEGER, NUMBER, TEXTS, INTEGERS, FINDINGS, NOTHING = (
    "text", "integer", "number", "texts", "integers", "findings", "nothing",
)  # fmt: skip

COLUMNS: Mapping[str, Mapping[str, str]] = {
    "documents": {
        "id": TEXT, "human_readable_id": INTEGER, "title": TEXT, "text": TEXT, "text_unit_ids": TEXTS,
        "creation_date": TEXT, "raw_data": NOTHING,
    },
    "text_units": {
        "id": TEXT, "human_readable_id": INTEGER, "text": TEXT, "n_tokens": INTEGER, "document_id": TEXT,
        "entity_ids": TEXTS, "relationship_ids": TEXTS, "covariate_ids": TEXTS,
    },
    "entities": {
        "id": TEXT, "human_readable_id": INTEGER, "title": TEXT, "type": TEXT, "description": TEXT,
        "text_unit_ids": TEXTS, "frequency": INTEGER, "degree": INTEGER,
    },
    "relationships": {
        "id": TEXT, "human_readable_id": INTEGER, "source": TEXT, "target": TEXT, "description": TEXT,
        "weight": NUMBER, "combined_degree": INTEGER, "text_unit_ids": TEXTS,
    },
    "covariates": {
        "id": TEXT, "human_readable_id": INTEGER, "covariate_type": TEXT, "type": TEXT, "description": TEXT,
        "subject_id": TEXT, "object_id": TEXT, "status": TEXT, "start_date": TEXT, "end_date": TEXT,
        "source_text": TEXT, "text_unit_id": TEXT,
    },
    "communities": {
        "id": TEXT, "human_readable_id": INTEGER, "community": INTEGER, "level": INTEGER, "parent": INTEGER,
        "children": INTEGERS, "title": TEXT, "entity_ids": TEXTS, "relationship_ids": TEXTS,
        "text_unit_ids": TEXTS, "period": TEXT, "size": INTEGER,
    },
    "community_reports": {
        "id": TEXT, "human_readable_id": INTEGER, "community": INTEGER, "level": INTEGER, "parent": INTEGER,
        "children": INTEGERS, "title": TEXT, "summary": TEXT, "full_content": TEXT, "rank": NUMBER,
        "rating_explanation": TEXT, "findings": FINDINGS, "full_content_json": TEXT, "period": TEXT,
        "size": INTEGER,
    },
}  # fmt: skip
"""Table → its columns in Microsoft GraphRAG 3, with the kind of value of each."""


def write_table(path: Path, columns: Mapping[str, str], rows: Iterable[Mapping[str, object]]) -> int:
    """Write a parquet file; how many rows it has.

    Args:
        columns: name → kind of value. Rows may lack some.

    Raises:
        UsageError: the file cannot be written.
        ConfigError: the extra is not installed.
    """
    arrow = _arrow()
    lines = [json.dumps({name: row.get(name) for name in columns}, ensure_ascii=False) for row in rows]
    reader = arrow.read_json(io.BytesIO("".join(f"{line}\n" for line in lines).encode()), _schema(columns))
    with whole_file(path) as opened:
        arrow.write_parquet(reader, opened, compression="snappy")
    return len(lines)


def _schema(columns: Mapping[str, str]) -> Any:
    from arro3.core import DataType, Field, Schema

    text = DataType.utf8()
    finding = [Field("explanation", text, nullable=True), Field("summary", text, nullable=True)]
    kinds = {
        TEXT: text,
        INTEGER: DataType.int64(),
        NUMBER: DataType.float64(),
        TEXTS: DataType.list(Field("element", text, nullable=True)),
        INTEGERS: DataType.list(Field("element", DataType.int64(), nullable=True)),
        FINDINGS: DataType.list(Field("element", DataType.struct(finding), nullable=True)),
        NOTHING: DataType.null(),
    }
    return Schema([Field(name, kinds[kind], nullable=True) for name, kind in columns.items()])
