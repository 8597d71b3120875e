"""`plan`: machines, days, dollars and disk for a number of documents, and what gets too large first.

The estimate is linear in the tokens of the documents. Its constants are in `constants.json`, each with the
command that measured it, or as an assumption; `--set` replaces any of them.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from graphrag_rdf.cli import output
from graphrag_rdf.cli.command import Command, key_values
from graphrag_rdf.cli.output import format_option, note, pairs, say
from graphrag_rdf.errors import UsageError
from graphrag_rdf.i18n import later, tr

CONSTANTS = Path(__file__).with_name("constants.json")
_DAY = 86_400
_NO_MODEL = "none"
_LEAST, _MOST = 1e-9, 1e30
_DIVISORS = frozenset({"cores", "load_quads_s", "disk_tb", "tested_facts", "model_tpm"})
"""The constants that may not be 0."""

_LIMITS: Mapping[str, str] = {
    "one_writer": later("one process ingests everything: its days over --days. Ingest in parts"),
    "one_disk": later(
        "the database and its shards on one disk: over disk_tb. A sharded engine, or several stores"
    ),
    "one_loader": later("the engine's loader: its days over --days. Several stores, or another engine"),
    "one_index": later("one process indexes and settles parts: its days over --days. Several stores"),
    "tested": later("facts in one store: over the number that a benchmark has run"),
    "model_rate": later(
        "tokens a minute of the model: over model_tpm. A server of your own, or several accounts"
    ),
}
"""What may get too large → in words, with the way out."""


class _Number(click.FloatRange):
    """A number from `minimum` to `_MOST`, which NaN is not."""

    def __init__(self, minimum: float = _LEAST) -> None:
        super().__init__(minimum, _MOST)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        try:
            unusable = math.isnan(float(value))
        except ValueError:
            unusable = True
        if unusable:
            self.fail(tr("{text!r} is not a number").format(text=value), param, ctx)
        number: float = super().convert(value, param, ctx)
        return number


@click.command(
    cls=Command,
    examples=[
        "graphrag-rdf plan --documents 1e8 --model openai/gpt-4.1-mini",
        "graphrag-rdf plan --documents 1e6 --model none --days 2 --format json",
    ],
)
@click.option("--documents", type=_Number(), required=True, metavar="N", help="Number of documents, as 1e8.")
@click.option(
    "--tokens-per-document", type=_Number(), default=800, show_default=True, metavar="N", help="Mean length."
)
@click.option(
    "--model",
    default=_NO_MODEL,
    show_default=True,
    metavar="M",
    help="Language model for extraction, priced by litellm's list; none for rules.",
)
@click.option("--days", type=_Number(0.01), default=30.0, show_default=True, help="Days to ingest in.")
@click.option(
    "--set",
    "changes",
    multiple=True,
    metavar="NAME=VALUE",
    help="Replace a constant of --format json; may be repeated.",
)
@format_option()
def plan_command(
    documents: float, tokens_per_document: float, model: str, days: float, changes: tuple[str, ...], form: str
) -> None:
    """Estimate machines, days, dollars and disk for a number of documents, and what gets too large first."""
    constants = json.loads(CONSTANTS.read_text(encoding="utf-8"))
    for name, value in key_values(changes).items():
        if name not in constants:
            raise UsageError(
                tr("there is no constant {name!r}").format(name=name),
                hint=tr("use one of: {names}").format(names=", ".join(constants)),
            )
        constants[name] = {"value": _constant(name, value), "from": "--set"}
    values = {name: each["value"] for name, each in constants.items()}
    priced = None if model == _NO_MODEL else model
    estimate = plan(values, documents * tokens_per_document, priced, days)
    if not output.write(form, {**estimate, "constants": constants}):
        _show(estimate)


def plan(of: Mapping[str, float], tokens: float, model: str | None, days: float) -> dict[str, Any]:
    """The estimate.

    Args:
        of: the constants.
        tokens: of all documents.
        days: in which the ingest is to be done.

    Raises:
        UsageError: the price of the model is unknown.
    """
    thousands = tokens / 1000
    cpu = thousands * of["ingest_cpu_s"] * (of["model_cpu_factor"] if model else 1)
    quads = thousands * of["quads"]
    machines = max(1, math.ceil(cpu / (days * _DAY * of["cores"])))
    load = quads / of["load_quads_s"] / _DAY
    index, settle = (quads * of[name] / _DAY for name in ("adopt_s_per_quad", "settle_s_per_quad"))
    tera = {
        "database": quads * of["database_bytes"] / 1e12,
        "shards": quads * of["shard_bytes"] / 1e12,
        "indexes": quads * of["index_bytes"] / 1e12,
    }
    read, written = thousands * of["model_in_tokens"], thousands * of["model_out_tokens"]
    ingest = cpu / (machines * of["cores"] * _DAY)
    rented = (ingest * machines + load + index + settle) * 24 * of["cores"] * of["core_hour_usd"]
    limits = {
        "one_writer": cpu / _DAY / days,
        "one_disk": (tera["database"] + tera["shards"]) / of["disk_tb"],
        "one_loader": load / days,
        "one_index": (index + settle) / days,
        "tested": thousands * of["facts"] / of["tested_facts"],
        "model_rate": (read + written) / (days * 1440) / of["model_tpm"] if model else 0.0,
    }
    return {
        "tokens": tokens,
        "chunks": thousands * of["chunks"],
        "facts": thousands * of["facts"],
        "quads": quads,
        "machines": machines,
        "cores": of["cores"],
        "days": {"ingest": ingest, "load": load, "index": index, "settle": settle},
        "usd": {"machines": rented, "model": _price(model, read, written)},
        "terabytes": tera,
        "model_tokens": {"in": read, "out": written} if model else None,
        "over": dict(sorted(limits.items(), key=lambda each: -each[1])),
    }


def _constant(name: str, text: str) -> float:
    try:
        return _Number(_LEAST if name in _DIVISORS else 0).convert(text, None, None)
    except click.BadParameter as error:
        raise click.BadParameter(error.message, param_hint=f"'--set {name}'") from error


def _price(model: str | None, read: float, written: float) -> float:
    if model is None:
        return 0.0
    from graphrag_rdf.llm.library import price_of

    million = price_of(model, 1_000_000, 0), price_of(model, 0, 1_000_000)
    if million[0] is None or million[1] is None:
        raise UsageError(
            tr("litellm's list has no price for {model}").format(model=model),
            hint=tr("name a priced model with its provider, as openai/gpt-4.1-mini, or none"),
        )
    return (million[0] * read + million[1] * written) / 1e6


def _show(estimate: Mapping[str, Any]) -> None:
    many = {name: f"{float(f'{estimate[name]:.3g}'):,.0f}" for name in ("tokens", "chunks", "facts", "quads")}
    rows = [
        (tr("documents"), tr("{tokens} tokens, {chunks} chunks"), many),
        (tr("store"), tr("{facts} facts, {quads} quads"), many),
        (
            tr("machines"),
            tr("{machines:,} for the ingest, each of {cores:g} cores; one for the engine"),
            estimate,
        ),
        (
            tr("days"),
            tr("ingest {ingest:.3g}, load {load:.3g}, index {index:.3g}, settle parts {settle:.3g}"),
            estimate["days"],
        ),
        (tr("dollars"), tr("machines {machines:,.0f}, model {model:,.0f}"), estimate["usd"]),
        (
            tr("disk"),
            tr("database {database:.3g} TB, shards {shards:.3g} TB, indexes {indexes:.3g} TB"),
            estimate["terabytes"],
        ),
    ]
    pairs((name, text.format_map(values)) for name, text, values in rows)
    over = [(name, ratio) for name, ratio in estimate["over"].items() if ratio > 1]
    say(tr("too large, the worst first:") if over else tr("nothing is too large"))
    for name, ratio in over:
        say(f"  {ratio:,.3g} × {tr(_LIMITS[name])}")
    note(tr("estimated from measurements of small stores; --format json has each constant and its command"))
