"""Yes or no to questions in Chinese (是否, 是不是, 吗, 有没有, 能不能).

The question is read as a statement. A sentence that has its words answers yes, one that denies them once no.
The roles must agree: 公司由甲创办 says the same as 甲创办了公司, 甲是乙的孙女 not the same as 乙是甲的孙女.
No is also the answer if a sentence has all words but one, and another value in its place where only one can
be true: the date, the agent or the place of what happens once, and a number of the same things. A number is
compared as a whole, with one beside the same words in the clause of the verb.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from decimal import Decimal
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

from graphrag_rdf.extract.chinese import names_in, table
from graphrag_rdf.extract.chinese_prose import Part, clauses_in, denials_in, doubts_of
from graphrag_rdf.extract.numbers import worded_numbers
from graphrag_rdf.han import date_parts, dates_in_digits, simplified
from graphrag_rdf.steps.chinese_questions import MEASURE, WHETHER, same_words

_SMALL = frozenset("uxypc")  # tags of words that a sentence may lack
_ANSWERS = {
    "有": ("没有。", "有。"),
    "能": ("不能。", "能。"),
    "可": ("不可以。", "可以。"),
    "": ("否。", "是。"),
}
"""No and yes to each way to ask, in both forms of Chinese."""
_MODAL = re.compile("可以|能够|能|可")
_BY = frozenset("由被")
_AT = frozenset(("在", "于", "从", "自", "到"))
_DISTRICTS = frozenset("国省市县区镇乡村州")
_ZEROS = {"百": 2, "千": 3, "万": 4, "亿": 8}
_NUMERALS = "〇零一二两三四五六七八九十百千万亿"
_WORDED = re.compile(rf"(?<![第\d{_NUMERALS}])[{_NUMERALS}]+(?=[余多]? ?(?:{MEASURE}))")
_DIGITS = r"(?<![\d.])(\d[\d,.]*)[余多]? ?"
_GAP = r"[^，,。；;、和与及\d]{0,4}?"  # between a measure word and what it counts
_BOUND = r"(?:超过|超出|多于|少于|至少|至多|最多|最少|不到|不足|不止|将近|近)$"  # not that number


class _Claim(NamedTuple):
    """A question as a statement.

    Attributes:
        way: to ask, a key of `_ANSWERS`.
        words: that a sentence must have, in order, the verb among them.
        verb: None if it only says what something is or has.
        agent, patient: what does and what suffers it; None if the words do not tell which is which.
        place: where it happens.
    """

    way: str
    words: tuple[Part, ...]
    verb: Part | None = None
    agent: Part | None = None
    patient: Part | None = None
    place: Part | None = None


class _Clause(NamedTuple):
    """A clause with the verb of a claim.

    Attributes:
        text: of the sentence.
        parts: of the clause.
        earlier: the clauses before it.
        verb: where the verb stands.
        by: the word before the agent of a passive, if it has one.
    """

    text: str
    parts: Sequence[Part]
    earlier: Sequence[Sequence[Part]]
    verb: tuple[int, int]
    by: Part | None

    def agents(self) -> tuple[int, int]:
        """Where the agent may stand."""
        return (self.by.end if self.by else 0, self.verb[0])

    def patients(self) -> tuple[int, int]:
        """Where the patient may stand."""
        return (0, self.by.start) if self.by else (self.verb[1], self.parts[-1].end)

    def subjects(self) -> list[Part]:
        """The names that its subject may be: before the verb, else in the clauses before."""
        inside = [part for part in self.parts if part.end <= self.verb[0]]
        for parts in (inside, *map(_before_verb, reversed(self.earlier))):
            if found := _free_names(parts):
                return found
        return []

    def dates(self) -> list[Part]:
        """The dates of the clause, else that which stands alone before it."""
        found = [part for part in self.parts if part.kind == "D"]
        before = self.earlier[-1] if self.earlier else ()
        alone = all(part.kind == "D" or part.kind[0] in "tf" or part.text == "夜" for part in before)
        return found or [part for part in before if alone and part.kind == "D"]


def decides(question: str, sentence: str, title: str = "", before: str = "") -> str:
    """The answer to a question for yes or no that a sentence gives: "是。", "否。" or the like; "" if it
    neither states nor denies all that is asked, nor says otherwise.

    Args:
        title: of the document, which may name what the sentence is about.
        before: the text before it, in which what it calls 大桥 may be 临江大桥.
    """
    claim, text = _claim(question), _in_digits(sentence)
    if claim is None or not claim.words:
        return ""
    said = _says(_shortened(claim, text, simplified(before)), text, simplified(title))
    return "" if said is None else _ANSWERS[claim.way][said]


def lacks(question: str, text: str, context: str) -> bool:
    """Whether a text has not all words of a question for yes or no, nor others that mean the same.

    Args:
        context: what else may name that which the question is about: a title, the text before.
    """
    claim, plain, known = _claim(question), _in_digits(text), _in_digits(f"{context} {text}")
    return claim is not None and any(
        all(one not in (plain if number else known) for one in (word.text, *same_words(word.text)))
        for number, word in enumerate(claim.words)
    )


def _in_digits(text: str) -> str:
    """A text in simplified characters, with dates and what is counted in digits."""

    def digits(match: re.Match[str]) -> str:
        values = list(worded_numbers(match[0]))
        return str(values[0]) if len(values) == 1 else match[0]

    return _WORDED.sub(digits, dates_in_digits(simplified(text)))


@lru_cache(maxsize=16)
def _claim(question: str) -> _Claim | None:
    plain = _in_digits(question)
    asked = WHETHER.search(plain)
    if asked is None:
        return None
    kept = "是" if asked[0] == "是不是" else asked["modal"] or ""
    stated = plain[: asked.start()] + kept + plain[asked.end() :]
    parts = [part for clause in clauses_in(stated) for part in clause]
    if not parts or any(denials_in(part.text) for part in parts):
        return None
    modal = next((part for part in parts if _MODAL.fullmatch(part.text)), None)
    way = modal.text[0] if modal else "有" if asked["there"] else ""
    lists, verdicts = table()["clauses"], table()["verdicts"]
    light = lists["copula"] | lists["adverbs"] | _BY | {"有"}
    words = tuple(p for p in parts if p.kind[0] not in _SMALL and p is not modal and p.text not in light)
    known = verdicts["once"] | verdicts["made"]
    verbs = [part for part in words if part.kind in {"v", "vn"} or part.text in known]
    done = {a for a, b in pairwise(parts) if b.text in {"了", "过", "于"} or a.text in known}
    verb = next((part for part in verbs if part in done), verbs[-1] if verbs else None)
    if verb is None:
        return _Claim(way, words)
    placed = (
        b for a, b in pairwise(parts) if b.kind in {"N", "ns"} and (a.text in _AT or a.text[-1] == "于")
    )
    place = next(placed, None)
    things = [part for part in words if part not in (verb, place) and part.kind[0] in "Nnjr"]
    after = [part for part in things if part.start > verb.start]
    by = _by(parts, verb.start, last=not after)
    agents = [part for part in things if (by.start if by else -1) < part.start < verb.start]
    patients = [part for part in things if part.start < by.start] if by else after
    both = agents and patients  # one thing alone may be either
    return _Claim(way, words, verb, agents[-1] if both else None, patients[-1] if both else None, place)


def _shortened(claim: _Claim, text: str, before: str) -> _Claim:
    """A claim about the short form of its first word, if a clause of the sentence begins with that."""
    first = claim.words[0]
    if first.kind == "Q" or first.text in text or first.text not in before:
        return claim
    shorter = (first.text[start:] for start in range(1, len(first.text) - 1))
    short = next(
        (one for one in shorter if re.search(rf"(?:^|[，；。：年月日该本]){re.escape(one)}", text)), None
    )
    if short is None:
        return claim
    new = {first: first._replace(kind="n", text=short)}
    agent, patient = (new.get(one, one) if one else None for one in (claim.agent, claim.patient))
    words = tuple(new.get(word, word) for word in claim.words)
    return claim._replace(words=words, agent=agent, patient=patient)


def _by(parts: Sequence[Part], verb: int, *, last: bool) -> Part | None:
    """由 or 被 before a verb, or the 是 of 是…的."""
    before = [part for part in parts if part.end <= verb]
    found = [part for part in before if part.text in _BY]
    if not found and last and parts[-1].text == "的":
        found = [part for part in before if part.text == "是"]
    return found[-1] if found else None


def _says(claim: _Claim, text: str, title: str) -> bool | None:
    """Whether a sentence states (True) or denies (False) a claim, or says otherwise (False)."""
    clauses = clauses_in(text)
    if claim.verb is None:
        return _has(claim, text, title)
    words = sorted({claim.verb.text.removesuffix("于"), *same_words(claim.verb.text)}, key=len, reverse=True)
    for match in re.finditer("|".join(words), text):
        for number, parts in enumerate(clauses):
            if parts[0].start <= match.start() < parts[-1].end:
                last = parts[-1].text == "的" and parts[-1].start == match.end()
                by = _by(parts, match.start(), last=last)
                said = _does(claim, _Clause(text, parts, clauses[:number], match.span(), by), title)
                if said is not None:
                    return said
    return None


def _does(claim: _Claim, clause: _Clause, title: str) -> bool | None:
    """The same of a clause that has the verb of the claim."""
    missing, places = [], [clause.verb]
    for word in claim.words:
        zone = (0, len(clause.text))
        if word is claim.verb:
            continue
        if word is claim.agent:
            zone = clause.agents()
        elif word is claim.patient:
            zone = clause.patients()
        if place := _find(claim, word, clause, zone):
            places.append(place)
        elif word is not claim.words[0] or word.kind == "Q" or word.text not in title or clause.subjects():
            missing.append(word)
    subject = claim.agent or claim.words[0]
    if subject.kind == "N" and subject not in missing and clause.by is None:
        named = clause.subjects()
        free = claim.agent is None and clause.text.find(subject.text, clause.verb[1]) >= 0
        if named and not free and not any(_alike(subject.text, one.text) for one in named):
            return None
    start, end = min(places)[0], max(end for _, end in places)
    if not missing:
        return _stated(claim, clause.text, start, end)
    if len(missing) > 1 or doubts_of(clause.text, start, end):
        return None
    return False if _otherwise(claim, missing[0], clause) else None


def _find(claim: _Claim, word: Part, clause: _Clause, zone: tuple[int, int]) -> tuple[int, int] | None:
    """Where a word of a claim stands in a part of a sentence."""
    if word.kind == "D":
        return next(((d.start, d.end) for d in clause.dates() if _agrees(word.text, d.text)), None)
    if word.kind == "Q":
        said = _amount(claim, word, clause)
        return (said.start, said.end) if said and _value(said) == _value(word) else None
    for form in (word.text, *same_words(word.text)):
        found = re.compile(rf"(?<![\d.]){re.escape(form)}(?!\d)" if form[0].isdigit() else re.escape(form))
        at = found.search(clause.text, *zone)
        if at and not (word.kind == "N" and clause.text[at.end() :].startswith("的")):
            return at.span()
    return None


def _amount(claim: _Claim, number: Part, clause: _Clause) -> Part | None:
    """The one number by which a clause counts what a number of the claim counts."""
    at, percent = claim.words.index(number), number.text.endswith("%")
    counted: list[Part] = []
    for before, word in pairwise(claim.words[at:]):
        if percent or word.start != before.end or word.kind == "v" or word is claim.verb:
            break
        counted.append(word)
    bound = bool(counted) and counted[0].text in {"余", "多"}
    counted = counted[bound:]
    if not counted and not percent:
        return None
    things = [word for word in claim.words[:at] if word.kind[0] == "n" and word is not claim.verb]
    if len(counted) > 1:
        things = counted
    elif percent or counted[0].kind != "q":
        things = []
    noun = "|".join(map(re.escape, (things[-1].text, *same_words(things[-1].text)))) if things else ""
    unit = rf"[余多]? ?{re.escape(counted[0].text) if counted else ''}"
    found, start = [], clause.parts[0].start
    for part in (part for part in clause.parts if part.kind == "Q"):
        before_it, after = clause.text[start : part.start], clause.text[part.end : clause.parts[-1].end]
        stands_after = re.fullmatch(unit, after) and re.search(noun, before_it)  # 水轮机三座
        if part.text.endswith("%") == percent and (
            stands_after or re.match(f"{unit}{_GAP}(?:{noun})", after)
        ):
            found.append(part)
        start = part.end
    if len(found) != 1:
        return None
    said, text = found[0], clause.text
    inexact = text.startswith(("余", "多"), said.end) or re.search(_BOUND, text[: said.start])
    return said if bool(inexact) == bound else None


def _value(number: Part) -> Decimal | str:
    digits = re.fullmatch(r"(\d+(?:\.\d+)?)([百千万亿]*)%?", re.sub(r"[, ]", "", number.text))
    return Decimal(digits[1]).scaleb(sum(_ZEROS[one] for one in digits[2])) if digits else number.text


def _has(claim: _Claim, text: str, title: str) -> bool | None:
    """The same of a claim without a verb, whose words must come in its order."""
    words = list(claim.words)
    while len(words) > 1 and words[0].text not in text and words[0].text in title:
        del words[0]
    pattern, number = "", None
    for at, word in enumerate(words):
        kinds = [before.kind for before in words[max(at - 2, 0) : at]]
        if word.kind == "Q" or "Q" not in kinds:
            pattern += ".*?" if kinds else ""
        else:
            pattern += "" if kinds[-1] == "Q" else _GAP
        pattern += _DIGITS if word.kind == "Q" else re.escape(word.text)
        number = word.text if word.kind == "Q" else number
    found = re.search(pattern, text)
    names = [word for word in words if word.kind == "N"]
    if found is None and len(names) == 2 and (role := "".join(w.text for w in words if w.kind[0] == "n")):
        first, second = names if words[-1].kind == "N" else reversed(names)  # 甲的弟弟是乙, 乙是甲的弟弟
        whose, who = re.escape(f"{first.text}的{role}"), re.escape(second.text)
        found = re.search(f"{whose}[是为叫]?{who}|{who}[是为]{whose}", text)
    if found is None or pattern.count(_DIGITS) > 1:
        return None
    said = _stated(claim, text, *found.span())
    if number is None or found[1] == number:
        return said
    counted = words[[word.kind for word in words].index("Q") + 1 :]
    same = re.findall(_DIGITS + _GAP.join(re.escape(word.text) for word in counted[:2]), text)
    return False if said and counted and len(same) == 1 else None


def _stated(claim: _Claim, text: str, start: int, end: int) -> bool | None:
    """Whether the clauses of a sentence between two places state or deny; None if they do neither."""
    doubts = doubts_of(text, start, end) - ({"hedged"} if claim.way in {"能", "可"} else set())
    words = [part for parts in clauses_in(text) for part in parts if start <= part.start < end]
    denials = sum(denials_in(part.text) for part in words if part.kind != "N")
    if doubts - {"negated"} or denials > 1 or (doubts and not denials):
        return None
    return not denials


def _otherwise(claim: _Claim, word: Part, clause: _Clause) -> bool:
    """Whether a clause has another value in the place of a word, of which only one can be true."""
    verb = claim.verb.text.removesuffix("于") if claim.verb else ""
    lists = table()["verdicts"]
    if word.kind == "D":
        dates = clause.dates()
        return verb in lists["once"] and len(dates) == 1 and _conflict(word.text, dates[0].text)
    if word.kind == "Q":
        return clause.text.count(clause.text[slice(*clause.verb)]) == 1 and bool(_amount(claim, word, clause))
    if word is claim.place:
        start = clause.verb[0]
        there = [
            b for a, b in pairwise(clause.parts) if b.kind == "N" and (a.text in _AT or a.text[-1] == "于")
        ]
        near = [part for part in there if part.start >= start or part.end == start]
        return verb in lists["once"] and len(near) == 1 and _apart(word.text, near[0].text)
    if word is not claim.agent or word.kind != "N" or word.text in clause.text or verb not in lists["made"]:
        return False
    start, end = clause.agents()
    found = _free_names([part for part in clause.parts if start <= part.start and part.end <= end])
    if not found or _alike(word.text, found[-1].text):
        return False
    return all(name.type != "Place" for text in (word.text, found[-1].text) for name in names_in(text))


def _free_names(parts: Sequence[Part]) -> list[Part]:
    """The names that neither say where nor whose."""
    around = zip((None, *parts), parts, (*parts[1:], None), strict=False)
    return [
        part
        for before, part, after in around
        if part.kind == "N" and not (before and before.text in _AT) and not (after and after.text == "的")
    ]


def _before_verb(parts: Sequence[Part]) -> Sequence[Part]:
    verbs = (number for number, part in enumerate(parts) if part.kind == "v")
    return parts[: next(verbs, len(parts))]


def _alike(one: str, other: str) -> bool:
    return one in other or other in one


def _agrees(asked: str, said: str) -> bool:
    return date_parts(said)[: len(date_parts(asked))] == date_parts(asked)


def _conflict(asked: str, said: str) -> bool:
    return any(a != b for a, b in zip(date_parts(asked), date_parts(said), strict=False))


def _apart(one: str, other: str) -> bool:
    """Whether neither of two places can lie in the other: two cities, two countries."""
    if _alike(one, other):
        return False
    kinds = [{key for key, names in table()["places"].items() if text in names} for text in (one, other)]
    return bool(kinds[0] & kinds[1]) or (one[-1] == other[-1] and one[-1] in _DISTRICTS)
