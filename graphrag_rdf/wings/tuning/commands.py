"""`tune`: learn weights from an evaluation set; see `tune_prompts` for prompts."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from graphrag_rdf.cli import output
from graphrag_rdf.cli.command import Group, embedding_option
from graphrag_rdf.cli.output import format_option, note, safe, say
from graphrag_rdf.cli.progress import question_counter
from graphrag_rdf.cli.session import open_engine, stored_settings
from graphrag_rdf.errors import StoreError, StoreLockedError
from graphrag_rdf.i18n import tr
from graphrag_rdf.wings.tuning.prompt_commands import prompts

if TYPE_CHECKING:
    from graphrag_rdf.wings.tuning.weights import Weights


@click.group(
    cls=Group,
    examples=["graphrag-rdf tune weights --evalset questions.json", "graphrag-rdf tune prompts --apply"],
)
def tune_command() -> None:
    """Tune weights to an evaluation set, and the extraction prompt to documents."""


tune_command.add_command(prompts)


@tune_command.command(
    "weights",
    examples=[
        "graphrag-rdf tune weights --evalset questions.json",
        "graphrag-rdf tune weights --evalset questions.json --apply",
    ],
)
@click.option(
    "--evalset",
    type=click.Path(path_type=Path),
    required=True,
    metavar="FILE",
    help="Learn from this evaluation set, in a temporary store.",
)
@click.option("--pipeline", default="graph_rag", show_default=True, help="Pipeline to tune.")
@click.option(
    "--extraction",
    default="rules",
    show_default=True,
    metavar="LIST",
    help="Extraction of the facts, as in eval retrieval.",
)
@click.option("--no-titles", is_flag=True, help="Leave out the titles of the set's chunks.")
@embedding_option
@click.option(
    "--apply/--dry-run", "apply", default=False, help="Store the learned weights (default: only show them)."
)
@format_option()
def weights(
    evalset: Path,
    pipeline: str,
    extraction: str,
    no_titles: bool,
    embedding_model: str | None,
    apply: bool,
    form: str,
) -> None:
    """Learn the weight of each signal in the score of a chunk.

    The gain is measured on held-out questions. With --apply, weights with a gain are stored as a new version
    of the settings; see config history.
    """
    from graphrag_rdf.wings.evaluation.corpus import ingest_corpus
    from graphrag_rdf.wings.evaluation.evalset import load_evalset
    from graphrag_rdf.wings.evaluation.retrieval import chunk_indexes
    from graphrag_rdf.wings.tuning.weights import gold_chunks, tune, weights_in_force

    stored = _stored_weights(pipeline, needed=apply)
    loaded = load_evalset(evalset)
    memory = {
        "embedding.model": embedding_model,
        "store": ":memory:",
        "collection": "default",
        "llm.model": None,
    }
    with question_counter() as progress, open_engine(memory, create=True) as engine:
        ingest_corpus(engine, loaded, extraction, titles=not no_titles)
        current = stored or weights_in_force(engine, pipeline)
        if current.kind == "hybrid" or engine.settings.relations.build:
            engine.refresh("relations")
        gold = gold_chunks(loaded, chunk_indexes(engine, loaded))
        learned, result = tune(engine, gold, current, progress=progress)
    result = {"source": str(evalset), **result}
    result |= _keep(learned, current, result, apply=apply)
    if not output.write(form, result):
        _show(result, apply=apply)


def _stored_weights(pipeline: str, *, needed: bool) -> Weights | None:
    """The weights of the store to change; None without a store, if none is needed."""
    from graphrag_rdf.wings.tuning.weights import weights_in_force

    try:
        with open_engine(read_only=True, beside=True) as engine:
            return weights_in_force(engine, pipeline)
    except StoreLockedError:
        raise
    except StoreError:
        if needed:
            raise
        return None


def _keep(learned: Weights, before: Weights, result: Mapping[str, Any], *, apply: bool) -> dict[str, Any]:
    """Store the learned weights, if that is wanted and they gain something; the keys of the result."""
    from graphrag_rdf.wings.tuning.weights import REASON

    gain = result["measures"]["placing"]["gain"]
    if not apply or gain <= 0 or learned == before:
        return {"applied": False, "version": None}
    reason = f"{REASON}: from {result['questions']} questions of {result['source']}"
    with stored_settings() as stored:
        stored.change(learned.stored(), reason)
        return {"applied": True, "version": stored.history()[0].number}


def _show(result: Mapping[str, Any], *, apply: bool) -> None:
    summary = tr(
        "{questions:,} questions of {source}: {helpful:,} relevant chunks; {folds}-fold cross-validation"
    )
    say(safe(summary.format(**result)))
    rows = [(name, f"{w['before']:g}", f"{w['after']:g}") for name, w in result["weights"].items()]
    output.table((tr("weight"), tr("before"), tr("after")), rows)
    say()
    measures = [
        (name, *(_figure(figures, part) for part in ("before", "after", "gain")))
        for name, figures in result["measures"].items()
    ]
    output.table((tr("measure (held out)"), tr("before"), tr("after"), tr("gain")), measures)
    gain = result["measures"]["placing"]
    if result["applied"]:
        note(
            tr("stored as version {version} of the settings; config restore brings former ones back").format(
                version=result["version"]
            )
        )
    elif gain["gain"] <= 0:
        say(tr("no gain on held-out questions: the weights stay as they are"))
    elif apply:
        say(tr("no better weights were found: they stay as they are"))
    else:
        note(tr("--apply stores these weights"))
        if gain["gain_ci95"][0] <= 0:
            note(tr("the gain may be chance: its interval contains 0"))


def _figure(figures: Mapping[str, Any], name: str) -> str:
    low, high = figures[f"{name}_ci95"]
    sign = "+" if name == "gain" else ""
    return f"{figures[name]:{sign}.3f} ({low:{sign}.3f} to {high:{sign}.3f})"
