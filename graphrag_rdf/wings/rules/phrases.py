"""Noun phrases and verb groups: regular expressions over the classes of a sentence's units.

In German and Dutch a participle or infinitive at the end joins its auxiliary: `wurde 1871 in Kelm geboren`
becomes `wurde geboren 1871 in Kelm`. A subject behind its verb stays there, and such a clause is not read,
because without cases the subject is not certain.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from graphrag_rdf.extract.lexicon import Lexicon
from graphrag_rdf.extract.numbers import LiteralSpan
from graphrag_rdf.extract.tagging import Unit, kinds

NounKind = Literal["name", "common", "pronoun", "literal"]

DATES = frozenset({"date", "month", "year"})
"""Kinds of literals that are dates."""

_BEGINS = "NJPDS"  # kinds of units that a noun phrase may begin with

_MOD = r"(?:R?[JM](?:(?:K|C|KC)R?J(?=[JMNPY]))*|Y(?=[JMNP]))"
_NUMBERED = "[NP]+(?:M(?!(?<=PM)J*N))?"  # chapter 3, but “sold Tom | 3 books”
_HEADED = (
    rf"(?:[DS]+(?:{_MOD}|R?[EG](?=[JMNPEG]))*(?:{_NUMBERED}|Y|M)|{_MOD}*(?:{_NUMBERED}|Y)|M)"
    rf"(?:'(?:{_MOD}|[EG](?=[JMNP]))*[NP]+)*"
)
_NOUN_PHRASE = re.compile(rf"(?P<n>O|{_HEADED}(?:F{_HEADED})*)")
_VERB_GROUP = re.compile(
    r"(?P<v>(?:[XBHbh][Rn]*)+(?:[EGVI]L?)?(?:R?TR?(?:[Ih]|bE?)L?)?"
    r"|[Rn]*VL?(?:R?TR?(?:[Ih]|bE?)L?)?)"
    r"|(?P<e>EL?)|(?P<g>[Gh]L?)|(?P<i>T[Rn]*(?:[Ih]|b[EG]?)L?)"
)


@dataclass(frozen=True, slots=True)
class NounPhrase:
    """A noun phrase with its "of" phrases.

    Args:
        units: of the whole phrase.
        kind: what its head is.
        determiner: article, demonstrative or possessive pronoun, lower case, or "".
        possessive: whether the determiner is a possessive pronoun.
        core: index range in `units` without determiner, up to the first "of".
    """

    units: tuple[Unit, ...]
    kind: NounKind
    determiner: str
    possessive: bool
    core: tuple[int, int]

    @property
    def head(self) -> Unit:
        """The last noun or name before the first "of"."""
        return self.units[self.core[1] - 1]

    @property
    def start(self) -> int:
        """Where it begins in the chunk, code points."""
        return self.units[0].start

    @property
    def end(self) -> int:
        """Where it ends in the chunk, code points."""
        return self.units[-1].end

    @property
    def of(self) -> tuple[Unit, ...]:
        """The units after the first "of"."""
        return self.units[self.core[1] + 1 :]

    @property
    def owner(self) -> tuple[Unit, ...]:
        """The units before the last possessive mark of the core, without determiner."""
        core = self.units[slice(*self.core)]
        marks = [index for index, unit in enumerate(core) if unit.kind == "'"]
        return core[: marks[-1]] if marks else ()

    @property
    def owned(self) -> tuple[Unit, ...]:
        """The units after the last possessive mark of the core; the whole core if there is none."""
        core = self.units[slice(*self.core)]
        marks = [index for index, unit in enumerate(core) if unit.kind == "'"]
        return core[marks[-1] + 1 :] if marks else core

    @property
    def literal(self) -> LiteralSpan | None:
        """The date or number that the phrase is, if it is nothing else."""
        content = [unit for unit in self.units if unit.kind != "D"]
        return content[0].literal if len(content) == 1 else None


@dataclass(frozen=True, slots=True)
class VerbGroup:
    """Auxiliaries, verb, particle and infinitive.

    Args:
        units: of the whole group.
        words: lower case, without adverbs; negations stay.
        passive: whether a form of "be" governs a past participle at its end.
        copula: whether it is a form of "be" and nothing else.
        have: whether it is a form of "have" and nothing else.
    """

    units: tuple[Unit, ...]
    words: str
    passive: bool
    copula: bool
    have: bool


@dataclass(frozen=True, slots=True)
class Item:
    """A phrase or a single unit of the sentence.

    Args:
        kind: `n` noun phrase, `v` verb group, `e` past participle, `g` present participle, `i` infinitive;
            for single units their class in lower case, with `.` for stops.
        unit: its first unit.
        noun: for `n`.
        verb: for `v`, `e`, `g`, `i`.
    """

    kind: str
    unit: Unit
    noun: NounPhrase | None = None
    verb: VerbGroup | None = None

    @property
    def units(self) -> tuple[Unit, ...]:
        """All of its units."""
        if self.noun is not None:
            return self.noun.units
        return self.verb.units if self.verb is not None else (self.unit,)


_SINGLE = dict(zip("AFCK.()WUJxLI", "aac,.()wujxlz", strict=True))


def read_items(units: Sequence[Unit], words: Lexicon) -> list[Item]:
    """The phrases of a sentence, left to right; adverbs and quotation marks are left out.

    Args:
        units: of one sentence.
        words: lexicon of its language.
    """
    units = [unit for unit in units if unit.kind != "Q"]  # the film "Kelm" is the film Kelm
    units = _with_ranges(units, words)
    row = kinds(units)
    items: list[Item] = []
    position = 0
    while position < len(row):
        verb = _VERB_GROUP.match(row, position)
        if verb:
            reach = verb.end()
            group = _verb_group(units[position:reach], row[position:reach])
            items.append(Item(verb.lastgroup or "v", units[position], verb=group))
            position = reach
            continue
        noun = _NOUN_PHRASE.match(row, position)
        if noun:
            reach = _end_of_date(units, position, noun.end(), words) or noun.end()
            phrase = _noun_phrase(tuple(units[position:reach]), words)
            items.append(Item("n", units[position], noun=phrase))
            position = reach
            continue
        if row[position] != "R":
            items.append(Item(_SINGLE.get(row[position], "z"), units[position]))
        position += 1
    return items


def _is_date(unit: Unit) -> bool:
    return unit.literal is not None and unit.literal.kind in DATES


def _with_ranges(units: Sequence[Unit], words: Lexicon) -> list[Unit]:
    """The units, with “von” and “bis” of “von 2008 bis 2014” as prepositions; without “zum” of “bis zum
    4. Mai 2015”, and “Jahr” of “im Jahr 1999 die Reederei”.
    """
    kept: list[Unit] = []
    for index, unit in enumerate(units):
        after, last = units[index + 1 : index + 3], kept[-1].lower if kept else ""
        dated = bool(after) and _is_date(after[0])
        filler = (unit.kind in "AN" and last in words.ranges) or (
            unit.lower in words.year_words and len(after) > 1 and after[1].kind in _BEGINS
        )
        if dated and filler and last in words.periods:
            continue
        ranges = unit.lower in words.ranges and bool(kept) and _is_date(kept[-1])
        kept.append(replace(unit, kind="A") if ranges and unit.kind in "CF" else unit)
        if ranges and len(kept) > 2 and kept[-3].kind == "F" and kept[-3].lower in words.periods:
            kept[-3] = replace(kept[-3], kind="A")
    return kept


def _end_of_date(units: Sequence[Unit], start: int, end: int, words: Lexicon) -> int | None:
    """Where a date ends that a noun follows: “seit 2013 | Vorsitzender”, “wurde 2014 | Rektor”.

    In languages whose verb comes second these phrases stand between the verb and its object; in others at the
    beginning of the sentence only (“In 2014 Carl Hook”, but “the guests in 2014 World Cups”).
    """
    day = units[start].kind == "D" and units[start + 1].literal
    reach = start + (2 if day and day.kind == "date" else 1)
    before = units[start - 1] if start else None
    if reach >= end or before is None or not _is_date(units[reach - 1]) or units[reach].kind not in _BEGINS:
        return None
    opens = all(unit.kind in "AD" or _is_date(unit) for unit in units[:start])
    after_preposition = before.lower in words.periods and (words.verb_second or opens)
    singular = (
        words.verb_second and before.kind == "B" and before.lower[-1] in "trde"
    )  # no “waren 2015 Gäste”
    return reach if after_preposition or singular else None


def _without_brackets(items: Sequence[Item]) -> list[Item]:
    """The items that stand outside of brackets."""
    kept: list[Item] = []
    depth = 0
    for item in items:
        if item.kind == "(":
            depth += 1
        elif item.kind == ")":
            depth = max(0, depth - 1)
        elif depth == 0:
            kept.append(item)
    return kept


class ItemRow:
    """The items of a sentence outside of brackets, by their places; beyond them are only full stops.

    Args:
        items: phrases and single units, in the order in which they are read.
        words: lexicon of their language.
    """

    def __init__(self, items: Sequence[Item], words: Lexicon) -> None:
        self.items = _without_brackets(items)
        self.words = words

    def _at(self, index: int) -> str:
        return self.items[index].kind if 0 <= index < len(self.items) else "."

    def _word(self, index: int) -> str:
        return self.items[index].unit.lower if 0 <= index < len(self.items) else ""

    def _phrase(self, index: int) -> NounPhrase | None:
        return self.items[index].noun if 0 <= index < len(self.items) else None

    def _end_of(self, index: int) -> int:
        return self.items[index].units[-1].end

    def _past_complements(self, at: int) -> int:
        while (
            self._at(at) == "a"
            and (noun := self._phrase(at + 1)) is not None
            and noun.kind != "pronoun"
            and (noun.kind == "literal" or self._word(at) not in self.words.prepositional)
        ):
            at += 2
        return at

    def _past_wider(self, noun: NounPhrase, at: int) -> int:
        """The place after the second name of `in Berkeley, California,`, which only says which Berkeley."""
        wider = self._phrase(at + 1) if self._at(at) == "," else None
        both = wider is not None and noun.kind == wider.kind == "name"
        return at + 2 if both and self._at(at + 2) in {",", "."} else at


def surface(units: Sequence[Unit]) -> str:
    """The words of units as running text: as written, white space made single."""
    parts: list[str] = []
    for previous, unit in zip([None, *units[:-1]], units, strict=True):
        if previous is not None and unit.start > previous.end:
            parts.append(" ")
        parts.append(unit.text)
    return " ".join("".join(parts).split()).strip("\"“”'’ ")


def _verb_group(units: Sequence[Unit], row: str) -> VerbGroup:
    bare = "".join(kind for kind in row if kind not in "RnL")
    main = bare.split("T")[0]
    perfect = bare == "HE"  # "has built" is "built"
    return VerbGroup(
        units=tuple(units),
        words=" ".join(
            _spelt(unit, units, index)
            for index, unit in enumerate(units)
            if unit.kind not in ("RH" if perfect else "R")
        ),
        passive=(len(bare) > 1 and bare[-1] in "EV" and bare[-2] in "Bb"),
        copula=bare[-1] in "Bb" and "T" not in bare,
        have=main[-1:] in {"H", "h"} and "T" not in bare,
    )


_CLITICS = {"n't": "not", "'re": "are", "'ve": "have", "'ll": "will", "'m": "am"}
_STEMS = {"ca": "can", "wo": "will", "sha": "shall"}


def _spelt(unit: Unit, units: Sequence[Unit], index: int) -> str:
    word = unit.lower.replace("’", "'")
    if word == "'s":
        return "has" if unit.kind == "H" else "is"
    if word == "'d":
        return "would" if unit.kind == "X" else "had"
    if word in _STEMS and index + 1 < len(units) and units[index + 1].kind == "n":
        return _STEMS[word]
    return _CLITICS.get(word, word)


def _noun_phrase(units: tuple[Unit, ...], words: Lexicon) -> NounPhrase:
    row = kinds(units)
    if row == "O":
        return NounPhrase(units, "pronoun", "", False, (0, 1))
    first = len(row) - len(row.lstrip("DS"))
    determiners = units[:first]
    stop = row.find("F", first)
    stop = len(row) if stop < 0 else stop
    possessive = any(unit.kind == "S" for unit in determiners)
    determiner = determiners[0].lower if determiners else ""
    content = row[first:stop]
    head = content[-1]
    kind: NounKind
    if "F" not in row and not possessive and not set(content) - set("MYRJ") and head in "MY":
        kind = "literal"
    elif head == "P" or (
        # "the TX-40 controller" is one thing with a name, "the DECnet protocols" are several
        determiner in words.definite and content in {"PN", "PNN"} and units[stop - 1].tag.startswith("NN1")
    ):
        kind = "name"
    else:
        kind = "common"
    return NounPhrase(units, kind, determiner, possessive, (first, stop))


# --- German and Dutch ----------------------------------------------------------------------------------


_CLAUSE_ENDS = frozenset({".", ",", "u", "w", "(", ")"})


def verb_second_order(items: Sequence[Item]) -> list[Item]:
    """The items of a sentence, clause by clause in subject-verb-object order.

    Args:
        items: as read from left to right.
    """
    ordered: list[Item] = []
    clause: list[Item] = []
    for item in items:
        if item.kind in _CLAUSE_ENDS:
            ordered += [*_joined(clause), item]
            clause = []
        else:
            clause.append(item)
    return ordered + _joined(clause)


def _joined(clause: list[Item]) -> list[Item]:
    """Joins each auxiliary with the participle, infinitive or particle that ends its part of the clause."""
    result = _dates_last(clause)
    position = 0
    while position < len(result):
        item = result[position]
        if item.kind == "v" and item.verb is not None:
            end = _end_of_part(result, position)
            final = result[end - 1] if end - 1 > position else None
            if final is not None and _completes(item.verb, final):
                result[position] = replace(item, verb=_with(item.verb, final))
                del result[end - 1]
        position += 1
    return result


def _dates_last(clause: Sequence[Item]) -> list[Item]:
    """The items, with dates between a verb and its object behind the object: “ist | Rektor | seit 2013”."""
    result = list(clause)
    for index, item in enumerate(clause):
        end = index + 1
        while item.kind == "v" and [i.kind for i in clause[end : end + 2]] == ["a", "n"]:
            noun = clause[end + 1].noun
            if noun is None or noun.literal is None or noun.literal.kind not in DATES:
                break
            end += 2
        if end > index + 1 and end < len(clause) and clause[end].kind == "n":
            return [*clause[: index + 1], clause[end], *clause[index + 1 : end], *clause[end + 1 :]]
    return result


def _end_of_part(items: Sequence[Item], start: int) -> int:
    for index in range(start + 1, len(items)):
        if items[index].kind == "v":
            return index - 1 if items[index - 1].kind == "c" else index
        if items[index].kind == "c" and items[index - 1].unit.kind in "EIL":
            return index
    return len(items)


def _completes(verb: VerbGroup, final: Item) -> bool:
    auxiliary = verb.units[-1].kind in "BHXb"
    return (auxiliary and final.unit.kind in "EI") or (verb.units[-1].kind == "V" and final.unit.kind == "L")


def _with(verb: VerbGroup, final: Item) -> VerbGroup:
    passive = final.unit.kind == "E" and verb.units[-1].kind in "Bb"
    return VerbGroup((*verb.units, final.unit), f"{verb.words} {final.unit.lower}", passive, False, False)
