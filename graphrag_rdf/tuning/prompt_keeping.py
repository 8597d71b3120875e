"""Applies a tuned prompt: writes its data to the user's pipelines, and its provenance to the store."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from graphrag_rdf.errors import UsageError
from graphrag_rdf.extract.prompts import FILE, as_yaml
from graphrag_rdf.rdf import iris, prov
from graphrag_rdf.rdf.prompts import TuningFacts, tuning
from graphrag_rdf.store.base import Changes
from graphrag_rdf.tuning.prompts import prompt_text

if TYPE_CHECKING:
    from graphrag_rdf.engine import Engine
    from graphrag_rdf.tuning.prompt_run import Outcome

COMPONENT, VERSION = "graphrag-rdf-prompt-tuning", "1"


def file_in(pipelines: Path) -> Path:
    """The file with the data of the extraction prompt, in a folder of pipelines."""
    return pipelines / "ingest" / FILE


def require_writable(path: Path) -> None:
    """Check that a file can be written, before any model is called.

    Raises:
        UsageError: when it is a folder, or there is no permission to write it.
    """
    there = next(place for place in path.parents if place.exists())
    if path.is_dir():
        raise _unwritable(path, "it is a folder")
    if not there.is_dir():
        raise _unwritable(path, f"{there} is not a folder")
    if not os.access(there, os.W_OK | os.X_OK):
        raise _unwritable(path, f"there is no permission to write to {there}")


def keep(engine: Engine, outcome: Outcome, path: Path) -> str:
    """Record the tuning and write the file; return the IRI of the tuning.

    Args:
        path: see `file_in`; an existing file is replaced.

    Raises:
        UsageError: when the file cannot be written; then nothing is recorded.
        StoreError: when the store cannot be written; then the file is not written.
    """
    activity = iris.prompt_tuning(outcome.after.prompt_hash).value
    with _replaced(path, as_yaml(outcome.data.model_copy(update={"tuned_by": activity}))):
        _record(engine, outcome)
    return activity


def _record(engine: Engine, outcome: Outcome) -> None:
    prompt = outcome.after.prompt_hash
    if not engine.store.ask("tuning/tuned", prompt=iris.prompt(prompt)):
        text = engine.blobs.put(prompt_text(outcome.after))
        found = outcome.check
        facts = TuningFacts(
            prompt=prompt,
            former=outcome.before.prompt_hash,
            text=text,
            component=COMPONENT,
            model=outcome.model,
            started=outcome.started,
            ended=outcome.ended,
            sampled=[passage.chunk for passage in outcome.sample.seen],
            held_out=[passage.chunk for passage in outcome.sample.held_out],
            examples=[example.source for example in outcome.data.examples if example.source],
            parameters=outcome.request.as_json(),
            calls=outcome.llm.calls + outcome.llm.cached,
            in_tokens=outcome.llm.in_tokens,
            out_tokens=outcome.llm.out_tokens,
            facts=found.total("facts") if found and found.readings else None,
            verified=found.total("verified") if found and found.readings else None,
        )
        add = [*prov.agent(COMPONENT, VERSION), *tuning(facts)]
        engine.store.commit(Changes(add=add, content=False))


@contextmanager
def _replaced(path: Path, text: str) -> Iterator[None]:
    """Write a temporary file, run the block, and replace the file."""
    beside = path.with_name(f".{path.name}.new")
    try:
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            beside.write_text(text, encoding="utf-8")
        except OSError as error:
            raise _unwritable(path, error.strerror) from error
        yield
        beside.replace(path)
    finally:
        with suppress(OSError):
            beside.unlink(missing_ok=True)


def _unwritable(path: Path, reason: str | None) -> UsageError:
    return UsageError(f"cannot write {path}: {reason}", hint="name another folder with --output")
