"""`import evalset FILE…`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from graphrag_rdf.cli import output
from graphrag_rdf.cli.output import one_line, say
from graphrag_rdf.cli.process import DONE, IN_PART
from graphrag_rdf.cli.session import open_engine
from graphrag_rdf.errors import UsageError
from graphrag_rdf.i18n import tr


def import_sets(
    files: tuple[str, ...], overrides: dict[str, Any], form: str, options: Mapping[str, Any]
) -> int:
    """Ingest sets: each passage is a document of one chunk, with its index as dcterms:identifier."""
    if options["validated"]:
        raise UsageError(
            tr("evaluation sets are not validated"), hint=tr("leave out --shapes and --validation")
        )
    extraction, titles = options["extraction"], options["titles"]
    from graphrag_rdf.cli.progress import IngestProgress
    from graphrag_rdf.rdf.json_values import to_json
    from graphrag_rdf.wings.evaluation.corpus import ingest_corpus
    from graphrag_rdf.wings.evaluation.evalset import load_evalset

    sets = [load_evalset(Path(file)) for file in files]
    reports = []
    with open_engine(overrides, create=True) as engine, IngestProgress(engine.budget) as progress:
        for evalset in sets:
            report = ingest_corpus(engine, evalset, extraction, titles=titles, partly=True, progress=progress)
            reports.append({"name": evalset.name, **to_json(report)})
    if not output.write(form, reports[0] if len(reports) == 1 else reports):
        for item in reports:
            counts = tr("{added:,} passages, {facts:,} facts, {quads:,} quads").format(
                added=item["documents"]["added"], facts=item["facts"], quads=item["quads"]
            )
            say(one_line(f"{item['name']}: {counts}"))
    return IN_PART if any(item["failures"] or item["stopped"] for item in reports) else DONE
