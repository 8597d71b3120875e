"""`tune`: learn parameters from marks or from an evaluation set; for prompts see `tune_prompts`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from graphrag_rdf.cli import output
from graphrag_rdf.cli.command import Group
from graphrag_rdf.cli.options import embedding_option
from graphrag_rdf.cli.output import format_option, note, safe, say
from graphrag_rdf.cli.progress import question_counter
from graphrag_rdf.cli.session import open_engine
from graphrag_rdf.cli.tune_prompts import prompts
from graphrag_rdf.errors import UsageError

if TYPE_CHECKING:
    from graphrag_rdf.engine import Engine
    from graphrag_rdf.tuning.placing import Grades
    from graphrag_rdf.tuning.weights import Weights


@click.group(cls=Group, examples=["graphrag-rdf tune weights", "graphrag-rdf tune prompts documents/"])
def tune_command() -> None:
    """Learn parameters from what was marked as helpful or wrong; fit the extraction prompt to documents."""


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
    help="Learn from an evaluation set, in a temporary store, instead of from marks.",
)
@click.option("--pipeline", default="graph_rag", show_default=True, help="Whose weights.")
@click.option(
    "--folds", type=click.IntRange(2, 20), default=5, show_default=True, help="Of the cross-validation."
)
@click.option(
    "--extraction", default="rules", show_default=True, metavar="LIST", help="As in eval retrieval."
)
@click.option("--no-titles", is_flag=True, help="Hide the titles of the set's passages.")
@embedding_option
@click.option(
    "--apply/--dry-run", "apply", default=False, help="Keep what was learned in the store (default: show)."
)
@click.option("--undo", is_flag=True, help="Put back the weights from before the last --apply.")
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
    """Learn how much each signal of a passage's score counts, by activation or hybrid, whichever is in force.

    What is told of a gain is measured on questions that the weights were not learned from. With --apply they
    are kept in the store as a new version of its settings, if there is a gain; see config history.
    """
    if undo:
        _undo(form)
        return
    from graphrag_rdf.tuning.weights import tune, weights_in_force

    overrides = {"embedding.model": embedding_model}
    with question_counter() as progress:
        if evalset is None:
            with open_engine(overrides) as engine:
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
    if form == "json":
        output.write_json(found)
    else:
        _show(found, apply=apply)


def _marked(engine: Engine, pipeline: str) -> dict[str, Grades]:
    from graphrag_rdf.tuning.marks import graded_by_marks

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
    from graphrag_rdf.tuning.marks import graded_by_set

    loaded = load_evalset(path)
    memory = {**overrides, "store": ":memory:", "collection": "default", "llm.model": None}
    with open_engine(memory, create=True) as engine:
        ingest_corpus(engine, loaded, options["extraction"], titles=not options["no_titles"])
        if related or engine.settings.relations.build:
            engine.refresh_relations()
        yield engine, graded_by_set(loaded, chunk_indexes(engine, loaded))


def _now(pipeline: str, *, needed: bool) -> Weights | None:
    """The weights of the store that would be changed; None when there is no store, and none is needed."""
    from graphrag_rdf.errors import StoreError, StoreLockedError
    from graphrag_rdf.tuning.weights import weights_in_force

    try:
        with open_engine(read_only=not needed) as engine:
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
    """Keep what was learned, if that is wanted and of use; what became of it."""
    from graphrag_rdf.tuning.weights import REASON

    gain = found["measures"]["placing"]["gain"]
    if not apply or gain <= 0 or learned == before:
        return {"applied": False, "version": None}
    reason = f"{REASON}: from {found['questions']} questions of {source}"
    with open_engine() as engine:
        engine.live.change(learned.stored(), reason)
        return {"applied": True, "version": engine.live.history()[0].number}


def _undo(form: str) -> None:
    """Put back what the last `tune weights` changed; other settings stay."""
    from graphrag_rdf.tuning.weights import REASON

    with open_engine() as engine:
        history = engine.live.history()
        place = next(
            (n for n, version in enumerate(history) if version.reason.startswith(f"{REASON}:")), None
        )
        if place is None:
            raise UsageError("no weights were learned for this store", hint="graphrag-rdf config history")
        learned = history[place].values
        former: Mapping[str, Any] = history[place + 1].values if place + 1 < len(history) else {}
        changed = {key: former.get(key) for key in learned if learned[key] != former.get(key)}
        engine.live.change(changed, f"{REASON} --undo of version {history[place].number}")
    if form == "json":
        output.write_json({"undone": history[place].number, "settings": changed})
        return
    for key, value in changed.items():
        note(safe(f"{key} = {value}" if value is not None else f"{key} is no longer kept in the store"))


def _show(found: Mapping[str, Any], *, apply: bool) -> None:
    say(
        safe(
            f"{found['questions']:,} questions of {found['source']}: {found['helpful']:,} passages that "
            f"should be found, {found['wrong']:,} that should not; {found['folds']}-fold cross-validation"
        )
    )
    rows = [(name, f"{w['before']:g}", f"{w['after']:g}") for name, w in found["weights"].items()]
    output.table(("weight", "before", "after"), rows)
    say()
    measures = [
        (name, *(_figure(figures, part) for part in ("before", "after", "gain")))
        for name, figures in found["measures"].items()
    ]
    output.table(("measure (held out)", "before", "after", "gain"), measures)
    gain = found["measures"]["placing"]
    if found["applied"]:
        note(f"kept in the store as version {found['version']} of its settings; --undo takes it back")
    elif gain["gain"] <= 0:
        say("nothing is gained on questions that the weights were not learned from: they stay as they are")
    elif apply:
        say("the weights are the best that were found already: they stay as they are")
    else:
        sure = "" if gain["gain_ci95"][0] > 0 else " (it may be chance: the interval of the gain holds 0)"
        note(f"--apply keeps these weights in the store{sure}")


def _figure(figures: Mapping[str, Any], name: str) -> str:
    low, high = figures[f"{name}_ci95"]
    sign = "+" if name == "gain" else ""
    return f"{figures[name]:{sign}.3f} ({low:{sign}.3f} to {high:{sign}.3f})"
