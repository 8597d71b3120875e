"""A tuned prompt put into force: its data in the user's pipelines, how it was made in the store."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from graphrag_rdf.errors import UsageError
from graphrag_rdf.extract.prompt_data import FILE, as_yaml
from graphrag_rdf.rdf import iris, prov
from graphrag_rdf.rdf.prompts import TuningFacts, tuning
from graphrag_rdf.store.base import Changes
from graphrag_rdf.tuning.prompts import prompt_text

if TYPE_CHECKING:
    from graphrag_rdf.engine import Engine
    from graphrag_rdf.tuning.prompt_run import Outcome

COMPONENT, VERSION = "graphrag-rdf-prompt-tuning", "1"


def file_in(pipelines: Path) -> Path:
    """The file of a folder of pipelines that holds what the extraction prompt is told."""
    return pipelines / "ingest" / FILE


def keep(engine: Engine, outcome: Outcome, path: Path) -> str:
    """Record the tuning, then write the file; the IRI of the tuning.

    Raises:
        UsageError: when the file cannot be written.
        StoreError: when the store refuses.
    """
    prompt = outcome.after.prompt_hash
    activity = iris.prompt_tuning(prompt).value
    if not engine.store.ask("tuning/tuned", prompt=iris.prompt(prompt)):
        text = engine.librarian.put(prompt_text(outcome.after))
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
    whole = as_yaml(outcome.data.model_copy(update={"tuned_by": activity}))
    beside = path.with_name(f".{path.name}.new")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        beside.write_text(whole, encoding="utf-8")
        beside.replace(path)
    except OSError as error:
        beside.unlink(missing_ok=True)
        raise UsageError(f"{path} cannot be written: {error.strerror}") from error
    return activity
