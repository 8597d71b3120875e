"""How many cells of tables in PDFs become facts: row, column with its period, and value all right.

    python -m benchmarks.pdf_cells [FOLDER] [--aside] [--list]

`pdf_cells.json` holds cells that were read off the pages by eye: file, page, label of the row (with the
heading above it where the label alone is ambiguous), name of the column, value, and "aside" for those not
looked at while the reader was written. FOLDER has the files; by default `../shared/data/pdf`.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import time
from collections import Counter
from collections.abc import Iterator
from decimal import Decimal, InvalidOperation
from pathlib import Path

from graphrag_rdf.documents import read_document
from graphrag_rdf.documents.model import Chunk, ParsedDocument
from graphrag_rdf.documents.tables import rows_in
from graphrag_rdf.extract.table_columns import predicate_of, read_columns
from graphrag_rdf.extract.table_rows import Row
from graphrag_rdf.wings.rules.extractor import RuleExtractor

CELLS = Path(__file__).with_suffix(".json")
FILES = Path(__file__).resolve().parents[2] / "shared" / "data" / "pdf"
Fact = tuple[str, str, str]


def facts_of(document: ParsedDocument) -> dict[int, list[Fact]]:
    """What the rows of each page say, by the rules that ingest uses."""
    readings = [read_columns(document.text, table, document.language) for table in document.tables]
    extractor = RuleExtractor()
    found = {}
    for page in document.pages:
        parts = rows_in(document, Chunk(0, page.offset, page.text))
        rows = [Row(part, readings[part.table]) for part in parts]
        if rows:
            read = extractor.extract(
                page.text, (), language=document.language, title=None, topic=None, rows=rows
            )
            found[page.number] = [(r.subject, r.predicate, r.object) for r in read.relations]
    return found


def verdict(label: str, column: str, value: str, facts: list[Fact]) -> str:
    """`right`, `wrong` if only other values are told of row and column, or `missing`."""
    told = [fact[2] for fact in facts if _same_row(label, fact[0]) and _same_column(column, fact[1])]
    if any(_number(other) == _number(value) for other in told):
        return "right"
    return "wrong" if told else "missing"


def _same_row(label: str, subject: str) -> bool:
    return _plain(subject) == _plain(label) or _plain(subject).endswith(f": {_plain(label)}")


def _same_column(column: str, predicate: str) -> bool:
    """All words of the column, and no year or day that it does not have."""
    expected, told = _words(predicate_of(column)), _words(predicate)
    return expected <= told and {w for w in told if w.isdigit()} <= {w for w in expected if w.isdigit()}


def _plain(text: str) -> str:
    return " ".join(text.lower().split())


def _words(text: str) -> set[str]:
    return set(re.findall(r"\w+", text.lower()))


def _number(text: str) -> Decimal | str:
    bare = re.sub(r"[$,%\s]", "", text)
    if bare.startswith("(") and bare.endswith(")"):
        bare = f"-{bare[1:-1]}"
    try:
        return Decimal(bare)
    except InvalidOperation:
        return " ".join(text.split())


def judged(folder: Path, *, aside: bool) -> Iterator[tuple[str, int, str, str, str, str]]:
    """Each cell with its verdict."""
    cells = [cell for cell in json.loads(CELLS.read_text("utf-8")) if aside or cell[5] != "aside"]
    for name in dict.fromkeys(cell[0] for cell in cells):
        facts = facts_of(read_document(folder / name))
        for file, page, label, column, value, _ in cells:
            if file == name:
                yield file, page, label, column, value, verdict(label, column, value, facts.get(page, []))


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", nargs="?", type=Path, default=FILES)
    parser.add_argument("--aside", action="store_true", help="Also count the cells that were kept aside.")
    parser.add_argument("--list", action="store_true", help="List cells that are not right.")
    options = parser.parse_args()
    if not options.folder.is_dir():
        print(f"no such folder: {options.folder}. Name the one that has the files of pdf_cells.json.")
        return 2
    started = time.process_time()
    results = list(judged(options.folder, aside=options.aside))
    counts = Counter((file, found) for file, *_, found in results)
    for file in dict.fromkeys(row[0] for row in results):
        total = sum(number for (name, _), number in counts.items() if name == file)
        print(f"{file:48} {counts[file, 'right']:3} of {total:3} right, {counts[file, 'wrong']} wrong")
    right = sum(found == "right" for *_, found in results)
    wrong = sum(found == "wrong" for *_, found in results)
    print(f"{'all':48} {right:3} of {len(results):3} right ({right / len(results):.0%}), {wrong} wrong")
    print(f"{time.process_time() - started:.1f} s of processor time")
    if options.list:
        for file, page, label, column, value, found in results:
            if found != "right":
                print(f"{found:8} {file[:14]} p. {page}: {label} | {column} | {value}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
