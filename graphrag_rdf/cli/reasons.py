"""Why statements were left out, in words."""

from __future__ import annotations

from collections.abc import Mapping

_WORDS: Mapping[str, str] = {
    "unresolved_description": "described but not named",
    "unresolved_pronoun": "with an unclear pronoun",
    "unresolved_owner": "with an unclear owner",
    "unnamed_subject": "without a named subject",
    "literal_subject": "about a number or date",
    "counted_subject": "about a number of things",
    "light_noun": "about a word like “thing”",
    "speaker_or_reader": "about speaker or reader",
    "pronoun_object": "with a pronoun as object",
    "self_relation": "about a thing and itself",
    "number_mismatch": "in which verb and subject differ in number",
    "reported": "that somebody else reports",
    "conditional": "with a condition",
}
"""Code → words; other codes are words already, with underscores."""


def left_out(rejected: Mapping[str, int], most: int) -> str:
    """How many statements were left out, and the most frequent reasons."""
    ranked = sorted(rejected.items(), key=lambda item: (-item[1], item[0]))
    told = ", ".join(
        f"{number:,} {_WORDS.get(code, code.replace('_', ' '))}" for code, number in ranked[:most]
    )
    more = f" and {len(ranked) - most} more reasons" if len(ranked) > most else ""
    return f"{sum(rejected.values()):,} statements: {told}{more}"
