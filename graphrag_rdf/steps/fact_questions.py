"""English questions for one end of a fact, by the other end and the relation.

A relation is read as a verb phrase ("was born in", "founded", "belonged to"), a participle ("directed by"),
or a role ("chairman of"). What reads as none of them gives no question.
"""

from __future__ import annotations

import re

from graphrag_rdf.index.analyse import irregular_forms

_AUXILIARIES = frozenset(
    (
        "is",
        "are",
        "was",
        "were",
        "has",
        "have",
        "had",
        "can",
        "could",
        "will",
        "would",
        "must",
        "may",
        "might",
    )
)
_HAVE = frozenset(["has", "have", "had"])
_POSITIONS = frozenset(
    ("born", "located", "situated", "based", "buried", "raised", "held", "die", "live", "settle")
)
"""Verbs that say where, before "in" and "at"."""
_RELATION = re.compile(r"[a-z]+(?:[ '-][a-z]+){0,4}\Z")
_PREPOSITION = re.compile(r" (?:on|in|at|from|since|until|by)\Z")
_ENDINGS = tuple(
    (re.compile(rf"(.*(?:{stem})){ending}"), base)
    for stem, ending, base in (
        ("^[dltv]", "ied", "ie"),
        ("[a-z]{2}", "ied", "y"),
        ("ee", "d", ""),
        ("cre", "ated", "ate"),
        ("[aeo]l(?<=[a-z]{5})|[bdgkmnprtv]", r"(?<=(.))\2ed", ""),
        ("ll|ss|ff|zz", "ed", ""),
        ("[nrlsxpc]t|[nrlw]d|[nrlcs]k|gn|long|focus|[lmr]p|[rlw]m|[rw]n|[sctpg]h|[wr]l|[wxy]", "ed", ""),
        ("(?:ea|ee|oo|oa|ai|oi)[tdlnrmkp]|ou[tdlnr]", "ed", ""),
        ("[a-z]{2}(?:en|er|on)|velop|[vd]is?it|hibit", "ed", ""),
        ("[cvuz]|[aiou]s|[nr]s|[iua]d|[iu]r|[iu]b|[bdfgkptz]l|[^aeo]at|ot|ut|am|um|[aiuo]k", "ed", "e"),
    )
)
"""Past forms and what ends their base forms; the first that fits."""


def ask_for_object(subject: str, relation: str, *, date: bool = False) -> str | None:
    """A question for the object of a fact.

    Args:
        subject: its name.
        relation: in lower case, as people read it.
        date: whether the object is a date.
    """
    if not _RELATION.match(relation):
        return None
    asked, end = ("When", _PREPOSITION.sub("", relation)) if date else ("What", relation)
    first, _, rest = end.partition(" ")
    if first in _AUXILIARIES:
        if not rest:
            return None if first in _HAVE else f"Who or what {first} {subject}?"
        return f"{_placed(asked, first, subject, rest)}?"
    if rest.startswith("by") and first.endswith("ed"):
        return f"Who or what was {subject} {end}?"
    if base := base_form(first):
        return f"{_placed(asked, 'did', subject, f'{base} {rest}'.strip())}?"
    if not _is_past(first):
        return None
    if date:
        return f"When was it that {subject} {end}?"
    return f"What is it that {subject} {end}?" if rest else f"What was {first} by {subject}?"


def _placed(asked: str, auxiliary: str, subject: str, rest: str) -> str:
    """A question for a thing, or for a place, as the verb has it."""
    if asked == "What" and rest.partition(" ")[0] in _POSITIONS and rest.endswith((" in", " at")):
        asked, rest = "Where", rest[:-3]
    return f"{asked} {auxiliary} {subject} {rest}"


def ask_for_subject(relation: str, object_: str) -> str | None:
    """A question for the subject of a fact; arguments as of `ask_for_object`."""
    if not _RELATION.match(relation):
        return None
    first, _, rest = relation.partition(" ")
    if first in _AUXILIARIES:
        return f"Who or what {relation} {object_}?" if rest else None
    if relation.endswith(" of") and not _is_past(first):
        return f"Who or what is the {relation} {object_}?"
    if rest == "by":
        return f"What was {relation} {object_}?" if first.endswith("ed") else None
    return f"Who or what {relation} {object_}?" if _is_past(first) else None


def base_form(past: str) -> str | None:
    """The base form of a past form; None where its spelling does not tell."""
    if past in irregular_forms()["en"]:
        return irregular_forms()["en"][past]
    for form, base in _ENDINGS:
        if found := form.fullmatch(past):
            return found[1] + base
    return None


def _is_past(word: str) -> bool:
    return (len(word) > 3 and word.endswith("ed")) or word in irregular_forms()["en"]
