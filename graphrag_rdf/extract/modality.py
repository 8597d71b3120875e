"""Why a statement is not asserted: it is denied, guessed, supposed, reported, asked or demanded, or cut.

Such statements become rejected candidates with one of these reasons: `negated`, `hedged` (also wishes, plans
and what is possible), `conditional`, `reported`, `question`, `request`, `cut` (its subject or object goes on
where the grammar stopped reading: "three" of "three- and five-year agreements").

Sentences that the rules read are judged by their grammar; statements of a model by the words of their quotes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

from graphrag_rdf.documents.sentences import without_emoji

from .lexicon import all_stopwords, read_table

_WORDS = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)*(?:-[^\W\d_]+)*\.?")
_WORD = re.compile(r"[^\W_]+(?:['’-][^\W_]+)*")
_CLAUSE = re.compile(r"[,;:.!?，。；：！？、]+(?!\d)|\s[-–—]\s")
_CLOSING = " \"'”’)»」』*_"
_WINDOW = 3
"""Words after a denying word that it may deny."""


@cache
def _words(name: str) -> frozenset[str]:
    """A list of `data/modality.toml`."""
    return frozenset(read_table("modality")[name].split())


def denies(predicate: str, value: str | None) -> bool:
    """Whether a statement is negated.

    Args:
        predicate: in lower case.
        value: the object, where it is a value; None for an entity.
    """
    denying = _words("words")
    predicate_words = _WORDS.findall(predicate.lower())
    if any(
        word in denying or _is_contracted(word) or word.startswith(("n'", "n’")) for word in predicate_words
    ):
        return True
    if predicate[:1] in _words("han") or predicate.startswith("并非"):
        return True
    first = _WORDS.match((value or "").lower())
    return first is not None and first[0] in _words("none")


def doubt_of_quote(quote: str, predicate: str, target: str) -> str:
    """Why a quote does not support the statement that a model read in it, or "".

    It asks (`question`), or it denies (`negated`) or only supposes (`hedged`) the predicate or the object:
    "was never sold", read as "was sold".

    Args:
        predicate: in lower case.
        target: the object.
    """
    if without_emoji(quote).rstrip(_CLOSING).endswith(("?", "？")):
        return "question"
    clauses = _clauses(quote)
    verbs, things = _content(predicate), _content(target)
    in_quote = not {*things}.isdisjoint(_content(quote))
    for reason, marks, reach, han, joining in (
        ("negated", "denying", 1, "han", "有"),  # "not exceed 40 mg" does not deny the 40 mg
        ("hedged", "guessing", _WINDOW, "han_guessing", ""),
    ):
        if not _words(marks).isdisjoint(_WORD.findall(predicate)):  # "may cause"
            continue
        for clause in clauses:
            # where the object stands in another clause, the predicate may be meant there
            elsewhere = in_quote and {*things}.isdisjoint(word.lower() for word in clause)
            for near in _marked(clause, _words(marks)):
                if not elsewhere and any(_alike(word, verb) for word in near for verb in verbs):
                    return reason
                objects = _content(" ".join(near))[:reach]
                if things and things[0].isalpha() and any(_alike(word, things[0]) for word in objects):
                    return reason
        after = [match.end() for match in re.finditer(_any(han), quote)]
        starts = tuple(more + part for part in (predicate, target) if len(part) > 1 for more in ("", joining))
        if any(quote.startswith(starts, place) for place in after):
            return reason
    return ""


def _clauses(quote: str) -> list[list[str]]:
    """The words of each clause; "not" for a word that is contracted with it."""
    clauses: list[list[str]] = []
    for part in _CLAUSE.split(quote):
        clauses.append([])
        for word in _WORD.findall(part):
            if word in _words("parting"):
                clauses.append([])
            else:
                clauses[-1].append("not" if _is_contracted(word) else word)
    return clauses


def _marked(clause: list[str], marks: frozenset[str]) -> Iterator[list[str]]:
    """The few words after each marking word of a clause, in lower case; none if a word takes it back."""
    folded = [word.lower() for word in clause]
    for place, word in enumerate(clause, 1):  # as it is spelt: "May" is a month
        if word in marks and _words("lifting").isdisjoint(folded[place:]):
            yield folded[place : place + _WINDOW]


def _content(text: str) -> list[str]:
    """The words of a text without stop words, in lower case."""
    return [word for word in _WORD.findall(text.lower()) if word not in all_stopwords()]


def _is_contracted(word: str) -> bool:
    return word.lower().endswith(("n't", "n’t"))


def _alike(word: str, form: str) -> bool:
    """Whether two words may be forms of one: "expect" and "expects"."""
    short, long = sorted((word, form), key=len)
    more = len(long) - len(short)
    return long.startswith(short) and (more == 0 or (len(short) > 2 and more < 4))


# --- chats and stories


# from an opening mark to the closing one after a comma or stop, or to the end of the paragraph
_SPEECH = re.compile(
    r"(?<![^\s(—–-])(?:“(?:[^”\n]|\n(?!\s*\n))*|\"(?:[^\"\n]|\n(?!\s*\n))*|„(?:[^“”\n]|\n(?!\s*\n))*"
    r"|['‘](?:[^'’\n]|(?<![.,!?—-])['’]|\n(?!\s*\n))*[.,!?—-](?:['’]|(?=\n\s*\n)))"
)


@cache
def _claims() -> tuple[re.Pattern[str], re.Pattern[str]]:
    """Sentences of a chat that ask, and those that wish, offer or guess."""
    opening = r"\W*(?:(?:and|but|so|hey|oh|well|ok|okay)\b\W*)*"
    asks = re.compile(rf"{opening}{_any('asking')}\b", re.IGNORECASE)
    return asks, re.compile(rf"\b{_any('no_claim')}\b|['’](?:ll|d)\b", re.IGNORECASE)


@cache
def _any(name: str) -> str:
    """A regular expression for the words of a list."""
    return f"(?:{'|'.join(sorted(_words(name), reverse=True)).replace('_', chr(92) + 's+')})"


def doubt_of_claim(words: str) -> str:
    """Why a sentence of a chat states nothing (see above): it asks, wishes, offers or guesses; else ""."""
    asks, supposes = _claims()
    if "?" in words or asks.match(words):
        return "question"
    return "hedged" if supposes.search(words) else ""


def speech_in(text: str) -> tuple[tuple[int, int], ...]:
    """The spans of direct speech in a story, in text order."""
    return tuple(match.span() for match in _SPEECH.finditer(text))
