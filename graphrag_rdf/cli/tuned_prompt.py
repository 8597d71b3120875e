"""What people are told of a tuned prompt."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from graphrag_rdf.cli import output
from graphrag_rdf.cli.output import note, pairs, safe, say, warn, warn_of
from graphrag_rdf.cli.summary import counts, usage

if TYPE_CHECKING:
    from graphrag_rdf.tuning.prompt_check import Check
    from graphrag_rdf.tuning.prompt_run import Outcome

_LISTED = 8
"""Types and relations of which it is told how often they were used."""


def show_estimate(found: Mapping[str, Any]) -> None:
    """What `--dry-run` tells."""
    llm, passages = found["llm"], found["passages"]
    cost = "price unknown" if llm["cost_usd"] is None else f"{llm['cost_usd']:.2f} USD"
    tokens = f"about {llm['in_tokens']:,} + {llm['out_tokens']:,} tokens"
    say("Nothing was asked or written. This would be done:")
    pairs(
        [
            (
                "passages",
                f"{passages['seen']:,} looked at, {passages['held_out']:,} held out, of {passages['all']:,}",
            ),
            (
                "model",
                f"{llm['calls']:,} calls at most, {tokens}, {cost}",
            ),
        ],
        indent="  ",
    )


def show(outcome: Outcome, told: Mapping[str, Any], *, apply: bool, in_force: bool) -> None:
    """What a run did and what came of it.

    Args:
        told: as `--format json` has it.
        apply: whether the prompt was to be put into force.
        in_force: whether what is written is read.
    """
    data, sample, tokens = outcome.data, outcome.sample, told["prompt"]["tokens"]
    examples = f"{len(data.examples)} from the documents"
    if outcome.rejected:
        examples += f"; not taken: {counts(outcome.rejected)}"
    rows: list[tuple[str, object]] = [
        (
            "passages",
            f"{len(sample.seen):,} looked at, {len(sample.held_out):,} held out, of {sample.all:,} "
            f"({outcome.request.selection}, seed {outcome.request.seed})",
        ),
        ("domain", data.domain),
        ("persona", data.persona),
        ("language", data.language or "that of each passage"),
        ("entity types", _names(kind.name for kind in data.entity_types)),
        ("relations", _names(kind.name for kind in data.relation_types)),
        ("examples", examples),
        ("prompt", f"about {tokens['after']:,} tokens beside the passage (in force: {tokens['before']:,})"),
        ("model", usage(outcome.llm)),
    ]
    pairs(rows)
    for warning in outcome.warnings:
        warn_of(warning)
    if outcome.check is not None:
        _show_check(told["check"])
    if "diff" in told:
        say()
        say(safe(told["diff"]) or "the prompt stays as it is")
    say()
    _verdict(outcome, told, apply=apply, in_force=in_force)


def _names(names: Iterable[str]) -> str:
    return ", ".join(names) or "none listed"


def _show_check(found: Mapping[str, Any]) -> None:
    for one in found["failures"]:
        prompt = "in force" if one["prompt"] == "before" else "tuned"
        warn(f"{one['title']} ({one['chunk']}), prompt {prompt}: {one['reason']}")
    if not found["passages"]:
        return
    say()
    titles = {
        "facts": "facts",
        "verified": "verified facts",
        "entities": "entities",
        "left_out": "left out",
        "in_tokens": "tokens of the prompt",
    }
    rows = [
        (titles[name], f"{figures['before']:,.1f}", f"{figures['after']:,.1f}", _gain(figures))
        for name, figures in found["measures"].items()
    ]
    say(f"in {found['passages']:,} passages that were held out, a passage:")
    output.table(("", "in force", "tuned", "difference (95 %)"), rows)
    share = found["verified_share"]
    say()
    lines = [("verified", _both(*(_percent(share[side]) for side in ("before", "after"))))]
    for name, title in (("types", "types"), ("predicates", "relations")):
        used = found[name]
        lines.append((f"{title} used", _both(*(f"{len(used[side]):,}" for side in ("before", "after")))))
        lines += [
            (f"  {told}", _most(used[side])) for side, told in (("before", "in force"), ("after", "tuned"))
        ]
    pairs(lines)


def _gain(figures: Mapping[str, Any]) -> str:
    low, high = figures["gain_ci95"]
    return f"{figures['gain']:+,.1f} ({low:+,.1f} to {high:+,.1f})"


def _both(before: str, after: str) -> str:
    return f"{before} in force, {after} tuned"


def _percent(share: float | None) -> str:
    return "nothing to verify" if share is None else f"{share:.0%}"


def _most(used: Mapping[str, int]) -> str:
    listed = [f"{name} {number}" for name, number in list(used.items())[:_LISTED]]
    return ", ".join(listed + (["…"] if len(used) > _LISTED else [])) or "none"


def _verdict(outcome: Outcome, told: Mapping[str, Any], *, apply: bool, in_force: bool) -> None:
    if not outcome.changed:
        say("the prompt in force says the same already: it stays as it is")
        return
    if outcome.check is not None:
        say(_gained(outcome.check, told["check"]["measures"]["verified"]))
    elif not outcome.request.held_out:
        say("nothing was held out: whether the tuned prompt is any better is not known")
    if told["applied"]:
        say(safe(f"wrote {told['path']}"))
        if in_force:
            note("the next ingest extracts anew with it; graphrag-rdf ingest --dry-run tells what that costs")
        else:
            note("it is in force once the setting pipelines names that folder")
    elif apply:
        say("the prompt stays as it is (--force applies the tuned one anyway)")
    else:
        note("--apply puts it into force; whether the facts are right was not measured")


def _gained(found: Check, verified: Mapping[str, Any]) -> str:
    if not found.readings:
        return "of no held-out passage both prompts gave an answer: they cannot be compared"
    if found.lost > 0:
        return (
            f"the tuned prompt gave no answer for {found.lost:,} held-out passages more than the one in force"
        )
    before, after = found.total("verified")
    if after == before:
        return "as many facts are verified as before: nothing is gained in the held-out passages"
    low, high = verified["gain_ci95"]
    chance = " (it may be chance: the interval of the difference holds 0)" if low <= 0 <= high else ""
    which = "more" if after > before else "fewer"
    return f"{abs(after - before):,} {which} facts are verified in the held-out passages{chance}"
