"""Competency questions: SPARQL queries with the results that a knowledge graph must give.

A question is a file `NAME.rq`. Its result is `NAME.csv` beside it (SPARQL 1.1 Query Results CSV and TSV
Formats), compared without regard to the order of rows, unless the query has ORDER BY. A SELECT without such a
file must have a row, and an ASK must be true. Grüninger and Fox, "Methodology for the Design and Evaluation
of Ontologies" (1995), named such questions.
"""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar

from graphrag_rdf.errors import UsageError
from graphrag_rdf.i18n import tr
from graphrag_rdf.sparql.render import with_prefixes
from graphrag_rdf.sparql.tokens import tokens
from graphrag_rdf.store.base import Store

_RESULTS = ".csv"

CsvRow = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Answered:
    """A competency question and what the graph answered.

    Attributes:
        file: of the query.
        question: its first comment; else the name of the file.
        passed: whether the result is the expected one.
        why: what is wrong, in words; empty if it passed.
        rows: number of rows of the result; None of an ASK.
        missing, unexpected: rows of the expected and of the actual result only.
    """

    JSON: ClassVar = ("file", "question", "passed", "why", "rows", "missing", "unexpected")

    file: str
    question: str
    passed: bool
    why: str = ""
    rows: int | None = None
    missing: list[CsvRow] = field(default_factory=list)
    unexpected: list[CsvRow] = field(default_factory=list)


def question_files(paths: Iterable[Path]) -> list[Path]:
    """The queries that paths name: files, and all `*.rq` in folders, also in those within.

    Raises:
        UsageError: a path does not exist, or a folder has no query.
    """
    files: list[Path] = []
    for path in paths:
        if path.is_dir():
            inside = sorted(path.rglob("*.rq"))
            if not inside:
                raise UsageError(tr("{path} has no file *.rq").format(path=path))
            files += inside
        elif path.is_file():
            files.append(path)
        else:
            raise UsageError(tr("{path} does not exist").format(path=path))
    return list(dict.fromkeys(files))


def answer_questions(store: Store, files: Iterable[Path], *, union: bool = False) -> Iterator[Answered]:
    """Run the queries of files. A query that fails is a question that is not passed.

    Args:
        union: the default graph is the union of all graphs.
    """
    for file in files:
        try:
            text = file.read_text(encoding="utf-8")
            yield _answered(store, file, text, union=union)
        except (OSError, ValueError) as error:
            yield Answered(
                str(file), file.stem, passed=False, why=tr("cannot be read: {error}").format(error=error)
            )
        except UsageError as error:
            yield Answered(str(file), question_of(text, file), passed=False, why=error.message)


def write_results(store: Store, files: Iterable[Path], *, union: bool = False) -> list[Path]:
    """Write the results of SELECT queries that have no file of results, to be reviewed; the files.

    Raises:
        UsageError: a query fails.
    """
    written = []
    for file in files:
        expected, text = file.with_suffix(_RESULTS), file.read_text(encoding="utf-8")
        if not expected.exists() and _form(text) == "SELECT":
            expected.write_bytes(_csv(store, text, union=union))
            written.append(expected)
    return written


def question_of(query: str, file: Path) -> str:
    """The first comment of a query; else the name of its file."""
    first = query.lstrip().partition("\n")[0]
    return first.lstrip("# ").strip() if first.startswith("#") else file.stem


def _answered(store: Store, file: Path, query: str, *, union: bool) -> Answered:
    name, question, form = str(file), question_of(query, file), _form(query)
    if form == "ASK":
        holds = bool(store.query(with_prefixes(query), union=union).boolean)
        return Answered(name, question, holds, "" if holds else tr("the answer is no"))
    if form != "SELECT":
        return Answered(name, question, passed=False, why=tr("the query is neither SELECT nor ASK"))
    columns, rows = _table(_csv(store, query, union=union).decode())
    expected = file.with_suffix(_RESULTS)
    if not expected.exists():
        return Answered(name, question, bool(rows), "" if rows else tr("there are no rows"), len(rows))
    wanted_columns, wanted = _table(expected.read_text(encoding="utf-8-sig"))
    if unknown := [column for column in wanted_columns if column not in columns]:
        why = tr("{name} has columns that the query does not select: {names}").format(
            name=expected.name, names=", ".join(unknown)
        )
        return Answered(name, question, passed=False, why=why, rows=len(rows))
    places = [columns.index(column) for column in wanted_columns]
    actual = [tuple(row[place] for place in places) for row in rows]
    missing = [*(Counter(wanted) - Counter(actual)).elements()]
    unexpected = [*(Counter(actual) - Counter(wanted)).elements()]
    ordered = not (missing or unexpected) and _is_ordered(query) and actual != wanted
    faults = {
        tr("missing rows: {count:,}").format(count=len(missing)): missing,
        tr("unexpected rows: {count:,}").format(count=len(unexpected)): unexpected,
        tr("the rows are in another order"): ordered,
    }
    why = ", ".join(fault for fault, holds in faults.items() if holds)
    return Answered(name, question, not why, why, len(rows), missing, unexpected)


def _csv(store: Store, query: str, *, union: bool) -> bytes:
    written = io.BytesIO()
    store.write_results(with_prefixes(query), written, "text/csv", union=union)
    return written.getvalue()


def _table(text: str) -> tuple[CsvRow, list[CsvRow]]:
    """Header and rows. A line without anything is a row only if there is one column."""
    header, *rows = [tuple(row) for row in csv.reader(io.StringIO(text, newline=""))] or [()]
    return header, [row or ("",) * (len(header) == 1) for row in rows if row or len(header) == 1]


def _form(query: str) -> str:
    """SELECT, ASK, CONSTRUCT or DESCRIBE, whichever comes first; empty if none does."""
    words = (token.text.upper() for token in tokens(query) if token.kind == "word")
    return next((word for word in words if word in ("SELECT", "ASK", "CONSTRUCT", "DESCRIBE")), "")


def _is_ordered(query: str) -> bool:
    return any(token.kind == "word" and token.text.upper() == "ORDER" for token in tokens(query))
