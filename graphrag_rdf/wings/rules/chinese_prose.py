"""Facts from Chinese sentences: X是Y, X的A是Y, X由Y建造, X位于Y, X创办了Y.

A clause is read as a whole or not at all: its subject is a name (of a definition, also a noun), and every
word has its place in one of the patterns. Clauses that deny, guess, suppose, report or ask give only a
rejected candidate.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise, product
from typing import NamedTuple

from graphrag_rdf.documents.model import Sentence
from graphrag_rdf.documents.sentences import without_emoji
from graphrag_rdf.extract.chinese import is_role, names_in, table, tokens_of
from graphrag_rdf.extract.model import EntityCandidate, Extraction, Mention, Qualifiers
from graphrag_rdf.extract.names import RuleSettings, fold, reject_reason
from graphrag_rdf.extract.numbers import read_date
from graphrag_rdf.han import date_pattern, simplified
from graphrag_rdf.wings.rules.collector import Collector

_CERTAINTY = {"copula": 0.85, "attribute": 0.85, "passive": 0.85, "verb": 0.8, "event": 0.8}
_CARRIED = 0.85  # of a clause whose subject is that of the clause before
_NUMBER = re.compile(r"\d[\d,.]*\s?(?:%|％|[百千万亿]+)?")
_BRACKETS = re.compile(r"（[^（）]*）|\([^()]*\)")
_ITEM = re.compile(r"^\s*(?:[一二三四五六七八九十\d]{1,3}[、.．]|[（(][一二三四五六七八九十\d]{1,3}[）)])")
_LATIN_NAME = re.compile(r"[（(]\s*([A-Z][A-Za-z .'’-]+)\s*[）)]")
_ENDS = re.compile("[，,；;：:。．！!？?…\n]|——")
_BY = frozenset("由被")  # before the agent of a passive
_LONGEST = 30  # characters of an object
_NOUN = ("n", "j", "an", "eng", "vn")
_WITHIN = (*_NOUN, "b", "a", "m", "q", "f", "s", "t", "u", "c", "k", "i", "l", "z")


class Part(NamedTuple):
    """A word of a clause, or a name, date or number in it.

    Args:
        kind: N for a name, D for a date, Q for a number, else jieba's tag.
        text: in simplified characters.
    """

    kind: str
    start: int
    end: int
    text: str


class Fact(NamedTuple):
    """What a clause states; subject and object as places in the sentence."""

    subject: Part
    predicate: str
    object: tuple[int, int]
    entity: bool
    pattern: str
    qualifiers: Qualifiers = ()


class ChineseProse:
    """The sentences of one chunk.

    Args:
        text: the chunk's.
        mentions: the names in it.
    """

    def __init__(
        self, text: str, sentences: Sequence[Sentence], mentions: Sequence[Mention], settings: RuleSettings
    ) -> None:
        self.text, self.sentences, self.mentions, self.settings = text, sentences, mentions, settings
        self.collector = Collector(text, settings)
        self.entities: dict[str, EntityCandidate] = {}
        self.unread = 0

    def read(self) -> Extraction:
        """The facts and names of the sentences."""
        for sentence in self.sentences:
            self._sentence(sentence)
        return Extraction(
            entities=tuple(self.entities.values()),
            relations=self.collector.relations,
            rejected=self.collector.rejected,
            mentions=tuple(self.mentions),
            language_warning=None,
            unread=self.unread,
        )

    def _sentence(self, sentence: Sentence) -> None:
        start, end = sentence.offset, sentence.offset + sentence.length
        words = self.text[start:end]
        inside = [m for m in self.mentions if start <= m.offset < end]
        names = {(m.offset - start, m.offset - start + m.length): m.name for m in inside}
        types = {(name.start, name.end): name.type for name in names_in(words)}
        for (first, last), name in names.items():
            kind = "Work" if words[first - 1 : first] == "《" else types.get((first, last))
            alias = _LATIN_NAME.match(words, last)
            self._meet(name, kind, (start + first, last - first), alias.group(1).strip() if alias else "")
        whole = _doubt_of_sentence(simplified(words))
        clauses = list(_clauses(words, names))
        reported = _reported_from(clauses)
        past, ago = table()["clauses"]["past"], False
        subject: Part | None = None
        when: Sequence[Part] = ()
        states, before = False, len(self.collector)
        for number, parts in enumerate(clauses):
            clause = words[parts[0].start : parts[-1].end]
            if reason := whole or ("reported" if number >= reported else _doubt_of_clause(parts)):
                if any(part.kind == "N" for part in parts) or subject:
                    self.collector.reject(reason, clause)
                if not whole and number == reported:  # who reports is what the writer says
                    for fact in _in_apposition(parts, _skip(parts, 0)[0])[0]:
                        self._state(fact, words, names, sentence, carried=False)
                subject, when = None, ()
                continue
            if "\n" in clause:  # a heading before it, or a line that was cut anywhere
                subject, when = None, ()
                continue
            if "".join(part.text for part in parts) in past or _only_dates(parts):
                ago, when = True, parts
                continue
            if [part.kind for part in parts] == ["N"]:
                subject = parts[0]
                continue
            if subject and parts[0].text in table()["clauses"]["names_too"]:
                continue
            facts = list(_read(parts, subject, when, ago=ago))
            when = ()
            for fact in facts:
                self._state(fact, words, names, sentence, carried=fact.subject is subject)
            subject = _goes_on(facts[0]) if facts else None
            states = states or any(map(_states, parts))
        self.unread += states and len(self.collector) == before

    def _meet(self, name: str, kind: str | None, span: tuple[int, int], alias: str = "") -> None:
        if reject_reason(name) is not None:
            return
        kind = self.settings.type_of(kind)
        entity = self.entities.get(fold(name)) or EntityCandidate(name, kind, None, (), span)
        aliases = dict.fromkeys((*entity.aliases, *([alias] if alias else [])))
        self.entities[fold(name)] = EntityCandidate(
            entity.name, entity.type or kind, None, tuple(aliases), entity.span
        )

    def _state(
        self,
        fact: Fact,
        words: str,
        names: Mapping[tuple[int, int], str],
        sentence: Sentence,
        *,
        carried: bool,
    ) -> None:
        place = (fact.subject.start, fact.subject.end)
        subject = names.get(place, words[slice(*place)])
        target = names.get(fact.object, words[slice(*fact.object)]) if fact.entity else ""
        text = words[slice(*fact.object)]
        lexical, datatype = (None if fact.entity else read_date(text)) or (target or text, None)
        unfit = reject_reason(subject) or (fact.entity and reject_reason(target)) or ""
        if len(lexical) > _LONGEST:
            unfit = unfit or "too_long"
        unfit = unfit or self.collector.add(
            subject,
            fact.predicate,
            lexical,
            sentence,
            confidence=round(_CERTAINTY[fact.pattern] * (_CARRIED if carried else 1), 3),
            entity=fact.entity,
            datatype=datatype,
            qualifiers=() if datatype else fact.qualifiers,
        )
        if unfit:
            self.collector.reject(unfit, subject, fact.predicate, lexical)
        else:
            self._meet(subject, None, (sentence.offset + place[0], place[1] - place[0]))


def _goes_on(fact: Fact) -> Part | None:
    """The subject that the next clause may go on with."""
    if fact.pattern == "passive" and fact.entity:
        return Part("N", *fact.object, "")
    return fact.subject if fact.pattern in {"copula", "event"} else None


def _doubt_of_sentence(words: str) -> str:
    """Why a whole sentence asserts nothing, or ""."""
    if without_emoji(words).rstrip("”」』\"' ")[-1:] in {"?", "？"}:
        return "question"
    return _doubt([token.text for token in tokens_of(words)], ("question", "conditional"))


def _reported_from(clauses: Sequence[Sequence[Part]]) -> int:
    """The number of the first clause that is reported speech; 0 if the last clause says who reports."""
    for number, parts in enumerate(clauses):
        if _doubt([part.text for part in parts if part.kind != "N"], ("reported",)):
            ends = number == len(clauses) - 1 and parts[-1].text in table()["doubts"]["reported"]
            return 0 if ends else number
    return len(clauses)


def _doubt_of_clause(parts: Sequence[Part]) -> str:
    words = [part.text for part in parts if part.kind != "N"]
    if any(map(_denies, words)):
        return "negated"
    if any(mark in word for word in words for mark in '“”「」"'):
        return "reported"
    return _doubt(words, ("negated", "hedged"))


def _denies(word: str) -> bool:
    """Whether a word denies: 没有, 从未, 不能, but not 无线电报."""
    lists = table()["clauses"]
    if word[0] in "".join(lists["denying"]) and not word.startswith(tuple(lists["plain"])):
        return True
    return word in table()["doubts"]["negated"]


def _doubt(words: Sequence[str], reasons: Sequence[str]) -> str:
    together = "".join(words)
    for reason in reasons:
        marks = table()["doubts"][reason]
        if not marks.isdisjoint(words) or any(len(mark) > 1 and mark in together for mark in marks):
            return reason
    return ""


def _clauses(words: str, names: Mapping[tuple[int, int], str]) -> Iterator[list[Part]]:
    """The parts of each clause of a sentence, without what is in brackets."""
    whole = simplified(words)
    spans = [("", *match.span()) for pattern in (_ITEM, _BRACKETS) for match in pattern.finditer(whole)]
    places = [("N", *span) for span in names]
    places += [("D", *match.span()) for match in date_pattern().finditer(whole)]
    places += [("f", end, end + 1) for kind, _, end in places if kind == "D" and whole[end : end + 1] == "起"]
    places += [("Q", *match.span()) for match in _NUMBER.finditer(whole)]
    for kind, start, end in places:
        if all(end <= first or start >= last for _, first, last in spans):
            spans.append((kind, start, end))
    covered = {place for _, start, end in spans for place in range(start, end)}
    parts = [Part(kind, start, end, whole[start:end]) for kind, start, end in spans if kind]
    for token in tokens_of(words):
        # what is left of a word that a name cuts
        uncovered = [place for place in range(token.start, token.end) if place not in covered]
        if uncovered and token.text not in "《》":
            text = whole[uncovered[0] : uncovered[-1] + 1]
            tag = "v" if text in table()["clauses"]["short"] else "n"
            tag = token.tag if text == token.text else tag
            parts.append(Part(tag, uncovered[0], uncovered[-1] + 1, text))
    clause: list[Part] = []
    for part in sorted(parts, key=lambda part: part.start):
        if part.kind not in {"N", "D", "Q"} and _ENDS.fullmatch(part.text):
            if clause:
                yield clause
            clause = []
        else:
            clause.append(part)
    if clause:
        yield clause


def _only_dates(parts: Sequence[Part]) -> bool:
    return any(part.kind == "D" for part in parts) and _skip(parts, 0)[0] == len(parts)


def _qualifiers(parts: Sequence[Part]) -> Qualifiers:
    """When a clause holds, by the dates before its verb: 自2018年起, 从2012年到2018年, 2014年."""
    lists, dates = table()["clauses"], dict[str, tuple[str, str]]()
    for before, part, after in zip([None, *parts], parts, [*parts[1:], None], strict=False):
        if part.kind == "D" and (date := read_date(part.text)):
            ends = before is not None and before.text in lists["to"]
            begins = (before is not None and before.text in lists["from"]) or (
                after is not None and after.text in lists["to"] | lists["on"]
            )
            dates.setdefault("to" if ends else "from" if begins else "at", date)
    if len(dates) > 1:
        dates.pop("at", None)
    return tuple((name, *date) for name, date in dates.items())


def _read(parts: Sequence[Part], carried: Part | None, when: Sequence[Part], *, ago: bool) -> Iterator[Fact]:
    """The facts of a clause, if all its parts fit a pattern.

    Args:
        carried: the subject of the clause before, where this one goes on with it.
        when: the dates that stand alone before the clause.
        ago: whether the sentence began with a time that has passed.
    """
    lists = table()["clauses"]
    if parts[0].text in lists["when"] or parts[-1].text in lists["when"]:
        return
    index, date = _skip(parts, 0)
    described, index = _in_apposition(parts, index)
    yield from described
    subjects, index = _subjects(parts, index)
    if not subjects:
        nouns = _run(parts, index, ("n", "vn", "ns", "nz"))
        if nouns > index and parts[nouns - 1].end - parts[index].start > 2:
            subjects = [Part("n", parts[index].start, parts[nouns - 1].end, "")]
            index = nouns
        elif carried is not None:
            subjects = [carried]
        else:
            return
    common = subjects[0].kind != "N"
    if parts[index : index + 1] and parts[index].text == "的" and not common:
        yield from _attribute(subjects[0], parts[index + 1 :])
        return
    begin = index
    index, later = _skip(parts, index)
    date = later or date or _skip(when, 0)[1]
    qualifiers = _qualifiers([*when, *parts[:index]])
    if index >= len(parts):
        return
    tail, verb = parts[index + 1 :], parts[index]
    cleft = verb.text in lists["copula"] and len(tail) > 2 and tail[-1].text == "的"
    if cleft and tail[0].kind != "N" and tail[-2].text in lists["events"] and tail[0].text not in _BY:
        yield from _read([*parts[:index], *tail[:-1]], carried, when, ago=ago)
    elif cleft and (passive := list(_passive(subjects, tail[tail[0].text in _BY : -1], not common))):
        yield from passive
    elif verb.text in lists["copula"]:
        ago = ago or date is not None or any(part.text in lists["past"] for part in parts[:index])
        for fact in _copula(subjects, tail, "曾是" if ago else "是"):
            yield fact._replace(qualifiers=qualifiers)
    elif verb.text in _BY:
        yield from _passive(subjects, tail, not common)
    elif common:
        return
    elif verb.text in lists["events"] and all(part.kind == "ul" for part in tail):
        where_and_when = [(_place(parts[begin:index]), True), (date, False)]
        for subject, (part, entity) in product(subjects, where_and_when):
            if part is not None:
                yield Fact(subject, f"{verb.text}于", (part.start, part.end), entity, "event")
    elif _states(verb) and tail:
        for fact in _active(subjects, verb, tail, date):
            yield fact._replace(qualifiers=qualifiers)


def _active(subjects: Sequence[Part], verb: Part, after: Sequence[Part], date: Part | None) -> Iterator[Fact]:
    """What is said by a verb and what follows it."""
    lists = table()["clauses"]
    predicate, taken = verb.text, 0
    if after[0].text in {"于", "自", "为"}:
        predicate, taken = predicate + after[0].text, 1
    elif after[0].kind in {"ul", "ug"}:
        taken = 1
    if predicate[-1] != "于" and len(after) > taken and after[taken].kind == "D":
        return
    if predicate in lists["holds"] and (office := list(_office(subjects, after[taken:]))):
        yield from office
        return
    pattern = "event" if predicate[-1] == "于" else "verb"
    done = taken > 0 and after[0].kind == "ul"
    for span, entity in _objects(after[taken:], done=done):
        for subject in subjects:
            yield Fact(subject, predicate, span, entity, pattern)
        if entity and date is not None and predicate in lists["events"]:
            yield Fact(Part("N", *span, ""), f"{predicate}于", (date.start, date.end), False, "event")
    happens = predicate.removesuffix("于") in lists["events"] and predicate[-1] == "于"
    if happens and date is not None and all(part.kind != "D" for part in after):
        for subject in subjects:  # both when and where
            yield Fact(subject, predicate, (date.start, date.end), False, pattern)


def _office(subjects: Sequence[Part], parts: Sequence[Part], is_: str = "是") -> Iterator[Fact]:
    """担任Y的董事长, 任Y市长: who is what of Y."""
    role = parts[1 + (len(parts) > 1 and parts[1].text == "的") :]
    if parts and parts[0].kind == "N" and role and all(part.kind in {"n", "b", "vn"} for part in role):
        words = "".join(part.text for part in role)
        for subject in subjects if is_role(words) else ():
            yield Fact(subject, f"{is_}…的{words}", (parts[0].start, parts[0].end), True, "copula")


def _attribute(owner: Part, parts: Sequence[Part]) -> Iterator[Fact]:
    """What is said after 的: 首都是…, 总部设在…."""
    lists = table()["clauses"]
    end = _run(parts, 0, ("n", "vn", "a", "uj"))
    verb = parts[end].text if 0 < end < len(parts) else ""
    if verb in lists["copula"] or verb in lists["placed"]:
        predicate = "".join(part.text for part in parts[:end]) + (verb if verb in lists["placed"] else "")
        for span, entity in _objects(parts[end + 1 :]):
            yield Fact(owner, predicate, span, entity, "attribute")


def _states(verb: Part) -> bool:
    lists = table()["clauses"]
    long = verb.kind in {"v", "vn"} and len(verb.text) > 1
    return (long or verb.text in lists["short"] | lists["events"]) and verb.text not in lists["light"]


def _passive(subjects: Sequence[Part], parts: Sequence[Part], entity: bool) -> Iterator[Fact]:
    """What is said after 由 or 被: who does what, when."""
    agents, after = _subjects(parts, 0)
    after, date = _skip(parts, after)
    after += int(after < len(parts) and parts[after].text == "所")
    if after >= len(parts) or not _states(parts[after]) or any(p.kind != "ul" for p in parts[after + 1 :]):
        return
    verb = parts[after].text.removeprefix("所")
    for agent, subject in product(agents, subjects):
        yield Fact(agent, verb, (subject.start, subject.end), entity, "passive")
    if date is not None and entity and verb in table()["clauses"]["events"]:
        for subject in subjects:
            yield Fact(subject, f"{verb}于", (date.start, date.end), False, "event")


def _place(parts: Sequence[Part]) -> Part | None:
    """Where something happens, by 在 or 从 before its verb; of an address the last name."""
    start = next((n for n, part in enumerate(parts) if part.text in {"在", "从"}), len(parts))
    end = _run(parts, start + 1, ("N",))
    return parts[end - 1] if end == len(parts) and end > start + 1 else None


def _skip(parts: Sequence[Part], index: int) -> tuple[int, Part | None]:
    """Where adverbs and dates end, and the last of the dates."""
    date, lists = None, table()["clauses"]
    while index < len(parts):
        part = parts[index]
        following = parts[index + 1].kind if index + 1 < len(parts) else ""
        if (part.text in {"于", "在"} | lists["from"] | lists["to"] and following == "D") or (
            date is not None and part.text in lists["on"]
        ):
            index += 1
        elif part.kind == "D":
            date = part
            index += 1
        elif part.text in lists["adverbs"] or (part.kind == "t" and part.text not in lists["events"]):
            index += 1
        elif part.text in {"在", "从"} and following in {"N", "ns"}:
            index = _run(parts, index + 1, ("N", "ns"))
        else:
            break
    return index, date


def _in_apposition(parts: Sequence[Part], index: int) -> tuple[list[Fact], int]:
    """Where the name begins that a phrase with 的 describes, and whose it is: 沈若川的妻子林淑贞."""
    end = _run(parts, index, ("N", "n", "r", "b", "vn", "uj"))
    linked, name = False, index
    for place in range(index, end):
        linked = linked or parts[place].text == "的"
        if linked and parts[place].kind == "N" and _says_who(parts[place - 1]):
            name = place
    if name == index:
        return [], index
    inner = parts[index + 2 : name]
    if parts[index].kind != "N" or parts[index + 1].text != "的" or any(p.kind in {"N", "r"} for p in inner):
        return [], name
    attribute = "".join(part.text for part in inner)
    named = (parts[name].start, parts[name].end)
    return [Fact(parts[index], attribute, named, True, "attribute")], name


def _says_who(part: Part) -> bool:
    names = table()["names"]
    return part.kind == "n" and (
        part.text in names["relatives"] or part.text in names["appositives"] or is_role(part.text)
    )


def _subjects(parts: Sequence[Part], index: int) -> tuple[list[Part], int]:
    """The names at the beginning of a clause, with titles after them and descriptions before them."""
    subjects = []
    nouns = _run(parts, index, ("n", "N", "b"))
    while nouns > index and parts[nouns - 1].kind != "N":
        nouns -= 1
    if nouns - index > 1 and _introduces(parts[nouns - 2]):
        index = nouns - 1  # the chemist James Dewar
    while index < len(parts) and parts[index].kind == "N":
        subjects.append(parts[index])
        index += 1
        if index < len(parts) and parts[index].text in table()["clauses"]["titles"]:
            if any(name.type not in {None, "Person"} for name in names_in(subjects[-1].text)):
                return [], index  # the president of France, not France
            index += 1
        elif (nouns := _run(parts, index, ("n",))) in {index + 1, index + 2} and _touch(
            parts[index - 1 : nouns]
        ):
            subjects[-1] = Part("N", subjects[-1].start, parts[nouns - 1].end, "")  # the river's bridge
            index = nouns
        if index + 1 < len(parts) and parts[index].text in {"、", "和", "与", "及"}:
            if parts[index + 1].kind != "N":
                return [], index
            index += 1
        else:
            break
    return subjects, index


def _introduces(part: Part) -> bool:
    """Whether a word before a name says what it is: the chemist, the ship, national."""
    vessel = part.text.endswith(tuple(table()["names"]["vessels"]))
    return vessel or part.kind == "b" or is_role(part.text)


def _touch(parts: Sequence[Part]) -> bool:
    return all(before.end == after.start for before, after in pairwise(parts))


def _run(parts: Sequence[Part], index: int, tags: tuple[str, ...]) -> int:
    while index < len(parts) and parts[index].kind in tags:
        index += 1
    return index


def _copula(subjects: Sequence[Part], after: Sequence[Part], is_: str) -> Iterator[Fact]:
    """X是Y的首都 links X and Y, also where Y is described (渔民沈阿福的孙女) and where its role is a chain
    (沈若澄的弟弟的妻子); other clauses with 是 say what X is.
    """
    owner = max(
        (n for n, part in enumerate(after[:-2]) if part.kind == "N" and after[n + 1].text == "的"), default=-1
    )
    described = after[: max(owner, 0)]
    if owner >= 0 and subjects[0].kind == "N" and (not described or _describe(described)):
        end = _run(after, owner + 2, ("n", "vn", "b", "f", "m", "uj"))
        if end == len(after) and after[-1].text != "的":
            role = f"{is_}…的{''.join(part.text for part in after[owner + 2 :])}"
            for subject in subjects:
                yield Fact(subject, role, (after[owner].start, after[owner].end), True, "copula")
            return
    titled = bool(after) and (after[-1].text[-1] == "长" or after[-1].text in table()["clauses"]["titles"])
    if titled and subjects[0].kind == "N" and (office := list(_office(subjects, after, is_))):
        yield from office
        return
    for span, entity in _objects(after, described=True):
        for subject in subjects:
            yield Fact(subject, is_, span, entity, "copula")


def _describe(before: Sequence[Part]) -> bool:
    """Whether words before a name say what it is: 渔民, 东屿省的."""
    return all(part.kind in {"N", "n", "nz", "b"} or part.text == "的" for part in before) and (
        before[-1].kind in {"n", "nz"} or before[-1].text == "的"
    )


def _objects(
    parts: Sequence[Part], *, described: bool = False, done: bool = False
) -> Iterator[tuple[tuple[int, int], bool]]:
    """The noun phrases at the end of a clause: where each stands, and whether it is a name.

    Args:
        described: clauses with 的 before the noun may be in it.
        done: after 了, so that a verb at the beginning is part of a noun (换向齿轮).
    """
    if len(parts) == 2 and parts[0].kind == "N" and parts[1].text in table()["clauses"]["inside"]:
        yield (parts[0].start, parts[0].end), True
        return
    if (
        parts
        and parts[0].kind == "N"
        and "".join(part.text for part in parts[1:]) in table()["clauses"]["books"]
    ):
        yield (parts[0].start, parts[0].end), True
        return
    ends = parts[-1] if parts and parts[0].kind != "c" else None
    if ends is None or not (
        ends.kind in "NDQ" or ends.kind.startswith((*_NOUN, "q", "s")) or ends.text == "之一"
    ):
        return
    joined = {"、", "和", "与", "及", "以及"}
    if all(part.kind == "N" or part.text in joined for part in parts):
        for part, after in zip(parts, (*parts[1:], None), strict=True):
            # of a place that an address goes on with, the last: 浙江嘉兴
            if part.kind == "N" and not (after and after.kind == "N" and after.start == part.end):
                yield (part.start, part.end), True
        return
    if ends.kind == "N" and all(part.kind == "N" or part.text == "的" for part in parts):
        yield (ends.start, ends.end), True  # 东屿省潮东市的白鹤湾
        return
    last = max((i for i, part in enumerate(parts) if part.text == "的"), default=-1)
    for index, part in enumerate(parts):
        fits = (
            part is ends
            or part.kind in {"N", "D", "Q"}
            or part.kind.startswith(_WITHIN)
            or part.text in joined
            or (done and index == 0 and part.kind == "v" and len(parts) == 2 and parts[1].kind == "n")
        )
        if not (fits or (described and index < last and part.kind[0] in "vdprx" and part.kind != "x")):
            return
    if parts[0].text in table()["clauses"]["pronouns"] | {"的"} or (
        last >= 0 and not described and last < len(parts) - 3
    ):
        return
    plain = all(part.kind in {"N", "n", "b", "a"} for part in parts)
    if plain and parts[-1].kind == "N" and all(part.kind != "N" for part in parts[:-1]):
        yield (parts[-1].start, parts[-1].end), True  # the engineer Li Ming
        return
    first = 1 if parts[0].kind in {"m", "q"} and parts[0].text[0] == "一" and len(parts) > 1 else 0
    yield (parts[first].start, parts[-1].end), False
