"""`import ms-graphrag DIR` and `export ms-graphrag DIR`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from graphrag_rdf.cli import output
from graphrag_rdf.cli.output import note, say, warn
from graphrag_rdf.cli.process import outcome, stop_requests
from graphrag_rdf.cli.session import open_engine
from graphrag_rdf.errors import UsageError
from graphrag_rdf.i18n import bracketed, tr

if TYPE_CHECKING:
    from graphrag_rdf.wings.msgraphrag.report import TablesReport


def export_folder(folder: str, *, counts: bool) -> None:
    """Write the tables of Microsoft GraphRAG."""
    from graphrag_rdf.wings.msgraphrag.export import export_tables

    with open_engine(beside=True) as engine:
        report = export_tables(engine, folder)
    if counts:
        output.write_json(report.as_json())
        return
    rows = ", ".join(f"{number:,} {name.replace('_', ' ')}" for name, number in report.tables.items())
    note(tr("wrote {quads} to {place}").format(quads=rows, place=folder))
    if report.values:
        note(
            tr("left out {values:,} facts with a value, for which the tables have no place").format(
                values=report.values
            )
        )
    if report.loops:
        note(
            tr("left out facts between names of the same entity: {loops:,} pairs").format(loops=report.loops)
        )


def import_folder(
    words: tuple[str, ...], overrides: dict[str, Any], form: str, options: Mapping[str, Any]
) -> int:
    """Import the tables of a folder, as `import ms-graphrag DIR` does."""
    from graphrag_rdf.cli.progress import IngestProgress
    from graphrag_rdf.wings.msgraphrag.import_ import import_tables
    from graphrag_rdf.wings.msgraphrag.tables import find_tables

    del options
    if len(words) != 1:
        raise UsageError(tr("unexpected argument {given!r}").format(given=words[1]))
    folder = Path(words[0])
    find_tables(folder)  # before a store is created for them
    with (
        open_engine(overrides, create=True) as engine,
        stop_requests() as stop,
        IngestProgress(engine.budget) as progress,
    ):
        report = import_tables(engine, folder, progress=progress, stop=stop)
    if not output.write(form, report.as_json()):
        _show_tables(report)
    return outcome(report.stopped, failed=bool(report.validation and report.validation.rejected))


def _show_tables(report: TablesReport) -> None:
    from graphrag_rdf.cli.ingest import validated
    from graphrag_rdf.wings.msgraphrag.report import KEPT, REASONS

    for name, counts in report.tables.items():
        reasons = report.reasons.get(name, {})
        problems = [f"{number:,} {reason.replace('_', ' ')}" for reason, number in reasons.items()]
        rest = bracketed(", ".join(problems)) if problems else ""
        say(
            tr("{name:<18} {imported:>7,} of {rows:,}{rest}").format(
                name=name.replace("_", " "), imported=counts.imported, rows=counts.rows, rest=rest
            )
        )
    cited = report.citations
    if cited.total:
        say(
            tr(
                "{name:<18} {resolved:>7,} of {total:,} resolved, "
                "{dangling:,} dangling, {outside:,} outside of their community"
            ).format(
                name="citations",
                resolved=cited.resolved,
                total=cited.total,
                dangling=cited.dangling,
                outside=cited.outside,
            )
        )
    if report.missing:
        say(tr("no table of {names}").format(names=", ".join(report.missing)))
    say(
        tr("{facts:,} facts, {entities:,} new entities, {seconds:.1f} s").format(
            facts=report.facts, entities=report.entities, seconds=report.seconds
        )
    )
    if report.validation is not None:
        say(tr("shapes: {found}").format(found=validated(report.validation)))
    for reason in dict.fromkeys(problem.reason for problem in report.problems):
        kept = tr("imported nevertheless") if reason in KEPT else tr("omitted")
        note(f"{reason.replace('_', ' ')}: {tr(REASONS[reason])}{bracketed(kept)}")
    if report.problems:
        note(tr("--format json lists each row"))
    for warning in report.warnings:
        output.warn_of(warning)
    if report.stopped:
        warn(tr("the import was interrupted: run the same command again to continue"))
