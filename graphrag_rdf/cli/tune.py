"""`tune`: learn weights from feedback or an evaluation set; see `tune_prompts` for prompts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from graphrag_rdf.cli import output
from graphrag_rdf.cli.command import Group, embedding_option
from graphrag_rdf.cli.output import format_option, note, safe, say
from graphrag_rdf.cli.progress import question_counter
from graphrag_rdf.cli.session import open_engine, stored_settings
from graphrag_rdf.cli.tune_prompts import prompts
from graphrag_rdf.errors import StoreError, StoreLockedError, UsageError
from graphrag_rdf.i18n import tr

if TYPE_CHECKING:
    from graphrag_rdf.engine import Engine
    from graphrag_rdf.tuning.weights import Grades, Weights


@click.group(cls=Group, examples=["graphrag-rdf tune weights", "graphrag-rdf tune prompts documents/"])
def tune_command() -> None:
    """Tune weights to feedback or an evaluation set, and the extraction prompt to documents."""


tune_command.add_command(prompts)


@tune_command.command(
    "weights",
    examples=[
        "graphrag-rdf tune weights",
        "graphrag-rdf tune weights --evalset questions.json --apply",
        "graphrag-rdf tune weights --undo",
    ],
)
@click.option(
    "--evalset",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Learn from this evaluation set, in a temporary store, instead of from feedback.",
)
@click.option("--pipeline", default="graph_rag", show_default=True, help="Pipeline to tune.")
@click.option(
    "--folds", type=click.IntRange(2, 20), default=5, show_default=True, help="Folds of the cross-validation."
)
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
@click.option("--undo", is_flag=True, help="Restore the weights from before the last --apply.")
@format_option()
def weights(
    evalset: Path | None,
    pipeline: str,
    folds: int,
    embedding_model: str | None,
    apply: bool,
    undo: bool,
    form: str,
    **options: Any,
) -> None:
    """Learn the weight of each signal in the score of a chunk.

    The gain is measured on held-out questions. With --apply, weights with a gain are stored as a new version
    of the settings; see config history.
    """
    if undo:
        _undo(form)
        return
    from graphrag_rdf.tuning.weights import tune, weights_in_force

    overrides = {"embedding.model": embedding_model}
    with question_counter() as progress:
        if evalset is None:
            with open_engine(overrides, beside=True) as engine:
                now = weights_in_force(engine, pipeline)
                learned, found = tune(engine, _marked(engine, pipeline), now, folds=folds, progress=progress)
        else:
            there = _now(pipeline, needed=apply)
            related = there is not None and there.kind == "hybrid"
            with _set(evalset, overrides, options, related=related) as (engine, graded):
                now = there or weights_in_force(engine, pipeline)
                learned, found = tune(engine, graded, now, folds=folds, cuts=(2, 5), progress=progress)
    name = "marks" if evalset is None else str(evalset)
    found = {"source": name, **found, **_kept(learned, now, found, name, apply=apply)}
    if not output.write(form, found):
        _show(found, apply=apply)


def _marked(engine: Engine, pipeline: str) -> dict[str, Grades]:
    from graphrag_rdf.tuning.weights import graded_by_marks

    return graded_by_marks(engine.store, pipeline)


@contextmanager
def _set(
    path: Path, overrides: Mapping[str, Any], options: Mapping[str, Any], *, related: bool
) -> Iterator[tuple[Engine, dict[str, Grades]]]:
    """A temporary store with the passages of an evaluation set, and its questions.

    Args:
        related: whether relations between passages are built.
    """
    from graphrag_rdf.evaluation.corpus import ingest_corpus
    from graphrag_rdf.evaluation.evalset import load_evalset
    from graphrag_rdf.evaluation.retrieval import chunk_indexes
    from graphrag_rdf.tuning.weights import graded_by_set

    loaded = load_evalset(path)
    memory = {**overrides, "store": ":memory:", "collection": "default", "llm.model": None}
    with open_engine(memory, create=True) as engine:
        ingest_corpus(engine, loaded, options["extraction"], titles=not options["no_titles"])
        if related or engine.settings.relations.build:
            engine.refresh_relations()
        yield engine, graded_by_set(loaded, chunk_indexes(engine, loaded))


def _now(pipeline: str, *, needed: bool) -> Weights | None:
    """The weights of the store to change; None without a store, if none is needed."""
    from graphrag_rdf.tuning.weights import weights_in_force

    try:
        with open_engine(read_only=True, beside=True) as engine:
            return weights_in_force(engine, pipeline)
    except StoreLockedError:
        raise
    except StoreError:
        if needed:
            raise
        return None


def _kept(
    learned: Weights, before: Weights, found: Mapping[str, Any], source: str, *, apply: bool
) -> dict[str, Any]:
    """Store the learned weights, if that is wanted and they gain something; the keys of the result."""
    from graphrag_rdf.tuning.weights import REASON

    gain = found["measures"]["placing"]["gain"]
    if not apply or gain <= 0 or learned == before:
        return {"applied": False, "version": None}
    reason = f"{REASON}: from {found['questions']} questions of {source}"
    with stored_settings() as stored:
        stored.change(learned.stored(), reason)
        return {"applied": True, "version": stored.history()[0].number}


def _undo(form: str) -> None:
    """Restore the weights from before the last `tune weights --apply`; other settings stay."""
    from graphrag_rdf.tuning.weights import REASON

    with stored_settings() as stored:
        history = stored.history()
        place = next(
            (n for n, version in enumerate(history) if version.reason.startswith(f"{REASON}:")), None
        )
        if place is None:
            raise UsageError(
                tr("no learned weights are stored"), hint=tr("graphrag-rdf config history lists all changes")
            )
        learned = history[place].values
        former: Mapping[str, Any] = history[place + 1].values if place + 1 < len(history) else {}
        changed = {key: former.get(key) for key in learned if learned[key] != former.get(key)}
        stored.change(changed, f"{REASON} --undo of version {history[place].number}")
    if output.write(form, {"undone": history[place].number, "settings": changed}):
        return
    for key, value in changed.items():
        note(
            safe(
                f"{key} = {value}"
                if value is not None
                else tr("{key} is no longer set in the store").format(key=key)
            )
        )


def _show(found: Mapping[str, Any], *, apply: bool) -> None:
    told = tr(
        "{questions:,} questions of {source}: {helpful:,} relevant chunks, "
        "{wrong:,} irrelevant ones; {folds}-fold cross-validation"
    )
    say(safe(told.format(**found)))
    rows = [(name, f"{w['before']:g}", f"{w['after']:g}") for name, w in found["weights"].items()]
    output.table((tr("weight"), tr("before"), tr("after")), rows)
    say()
    measures = [
        (name, *(_figure(figures, part) for part in ("before", "after", "gain")))
        for name, figures in found["measures"].items()
    ]
    output.table((tr("measure (held out)"), tr("before"), tr("after"), tr("gain")), measures)
    gain = found["measures"]["placing"]
    if found["applied"]:
        note(
            tr("stored as version {version} of the settings; --undo restores the former weights").format(
                version=found["version"]
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
