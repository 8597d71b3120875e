"""Import of a complete output of Microsoft GraphRAG, export of it as tables again, and what is lost.

    python -m benchmarks.interchange

It fails if a row is neither imported nor reported, if the same import changes anything, or if the tables that
come back differ in titles, types, descriptions, weights or texts of reports.
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

from benchmarks.common import Figure, Used, data_folder, no_data, run_command, show
from graphrag_rdf.wings.msgraphrag.tables import read_file

KEPT = {
    "documents": ("id", "title"),
    "text_units": ("document_id",),
    "entities": ("title", "type", "description", "degree"),
    "relationships": ("source", "target", "description", "weight"),
    "communities": ("level", "size", "period"),
    "community_reports": ("level", "title", "summary", "rank"),
}
"""Table → columns that come back as they were."""
_PROGRAM = "from graphrag_rdf.cli import main; main()"


def main() -> int:
    """Import, import again, export, compare."""
    data = data_folder()
    if data is None or not (data / "carol" / "text_units.parquet").is_file():
        return no_data("interchange")
    source = data / "carol"
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        first, report = _import(work, source)
        _, again = _import(work, source)
        export = _run(work, "export", "ms-graphrag", "tables", "--counts", output=None)
        faults = [*_unreported(report), *_different(source, work / "tables")]
        if again["facts"] or again["changed"]:
            faults.append("the second import changed something")
    cited = report["citations"]
    rows = ", ".join(f"{each['imported']:,} {name}" for name, each in report["tables"].items())
    show(
        "Interchange with Microsoft GraphRAG",
        [
            Figure(
                "import",
                f"{first.wall:.1f} s, {first.cpu:.1f} CPU s, {first.peak_mb:.0f} MB",
                "a few seconds",
            ),
            Figure("imported", rows),
            Figure(
                "citations", f"{cited['resolved']:,} of {cited['total']:,}, {cited['dangling']:,} dangling"
            ),
            Figure("export", f"{export.wall:.1f} s, {export.cpu:.1f} CPU s, {export.peak_mb:.0f} MB"),
        ],
    )
    for fault in faults:
        print(fault, file=sys.stderr)
    return len(faults)


def _import(work: Path, source: Path) -> tuple[Used, dict[str, Any]]:
    used = _run(work, "import", "ms-graphrag", str(source), "--format", "json", output="report.json")
    report: dict[str, Any] = json.loads((work / "report.json").read_text(encoding="utf-8"))
    return used, report


def _run(work: Path, *arguments: str, output: str | None) -> Used:
    """Run the program on a store in the folder; its output goes to a file there."""
    code = f"import sys; sys.stdout = open({output!r}, 'w'); {_PROGRAM}" if output else _PROGRAM
    return run_command([sys.executable, "-c", code, "--store", "store", *arguments], work)


def _unreported(report: dict[str, Any]) -> list[str]:
    """Tables with rows that are neither imported nor reported."""
    reported = Counter(name for name, _ in {(each["table"], each["row"]) for each in report["problems"]})
    return [
        f"{name}: {each['rows'] - each['imported']} rows are missing, {reported[name]} are reported"
        for name, each in report["tables"].items()
        if each["rows"] - each["imported"] > reported[name]
    ]


def _different(source: Path, tables: Path) -> list[str]:
    """Tables whose kept columns differ."""
    found = []
    for name, columns in KEPT.items():
        before, after = (
            Counter(tuple(row[column] for column in columns) for row in read_file(each / f"{name}.parquet"))
            for each in (source, tables)
        )
        if before != after:
            found.append(f"{name}: {(before - after).total()} rows did not come back as they were")
    return found


if __name__ == "__main__":
    sys.exit(main())
