"""What a model wrote as its answer: citations, not knowing, and whether it stands in what it cites.

Citations are read in all usual forms, and written in one. `refusals.toml` has how models and the program say
that something is not known. Checks work on texts alone. A check that cannot be sure says nothing: a name is
looked for only if answer and evidence are in one language, and a language is judged only by enough words.
"""

from __future__ import annotations

import re
import tomllib
import unicodedata
from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from graphrag_rdf.documents.language import detect_language
from graphrag_rdf.documents.sentences import split_sentences
from graphrag_rdf.extract.lexicon import base_language
from graphrag_rdf.extract.mentions import find_mentions
from graphrag_rdf.extract.names import CJK, apart
from graphrag_rdf.extract.numbers import scales
from graphrag_rdf.han import simplified
from graphrag_rdf.i18n import tr
from graphrag_rdf.index.analyse import analyse
from graphrag_rdf.steps.figures import Figure, figures, follows, known_figures
from graphrag_rdf.trace.citations import MARKER, cited_numbers

_NUMBER = r"[Ss]?\d{1,4}"
_LIST = rf"{_NUMBER}(?:\s*(?:[,;、，]|[-–—]|and|und|et|y)\s*{_NUMBER})*"
_FORMS = re.compile(
    rf"\[\s*\^?\s*(?P<square>{_LIST})\s*\]"  # [1], [S1], [^1], [1, 2], [6-7]
    rf"|【\s*(?P<lenticular>{_LIST})\s*(?:[†:‡][^】\n]{{0,40}})?】"  # 【1】, 【1†source】
    rf"|［\s*(?P<wide>{_LIST})\s*］"
)
_ROUND = re.compile(rf"(?<=[\w.!?。\"”’)])(?P<blank>\s?)\((?P<round>{_LIST})\)(?=\s*(?:[.!?。]|$|\n|\())")
_RANGE = re.compile(rf"({_NUMBER})\s*[-–—]\s*({_NUMBER})")
_LONGEST_RANGE = 20


def with_markers(answer: str, markers: AbstractSet[int]) -> str:
    """An answer with all its citations in the form [1][2].

    Round brackets count only where the answer cites in no other way, and all their numbers are known.

    Args:
        answer: as the model wrote it, without thinking.
        markers: the numbers that it was given.
    """
    if _FORMS.search(answer):
        return in_markers(answer)
    return _ROUND.sub(
        lambda form: (
            form["blank"] + _written(form["round"]) if set(_numbers_of(form["round"])) <= markers else form[0]
        ),
        answer,
    )


def in_markers(text: str) -> str:
    """A text with all its citations in square brackets in the form [1][2]."""
    return _FORMS.sub(lambda form: _written(form[form.lastgroup or 0]) or form[0], text)


def sentence_spans(answer: str, language: str | None) -> list[tuple[int, int]]:
    """(offset, length) of the answer's sentences; markers after a full stop belong to what stands before."""
    spans: list[tuple[int, int]] = []
    for sentence in split_sentences(answer, language):
        offset, end = sentence.offset, sentence.offset + sentence.length
        text = answer[offset:end]
        lead = re.match(r"(?:\[[^\]\n]{1,20}\]\s*)+", text)
        if lead and spans:
            before, _ = spans[-1]
            spans[-1] = (before, offset + len(lead[0].rstrip()) - before)
            offset += lead.end()
        if answer[offset:end].strip():
            spans.append((offset, end - offset))
    return spans


def _written(listed: str) -> str:
    """Empty for years, such as [1911-1913]."""
    numbers = _numbers_of(listed)
    return "" if min(numbers) >= 1000 else "".join(f"[{number}]" for number in dict.fromkeys(numbers))


def _numbers_of(listed: str) -> list[int]:
    """6-7 as 6, 7; a range that is reversed or long is the two numbers alone."""
    numbers: list[int] = []
    at = 0
    for span in _RANGE.finditer(listed):
        numbers += _plain(listed[at : span.start()])
        first, last = _plain(span[1])[0], _plain(span[2])[0]
        numbers += range(first, last + 1) if 0 <= last - first <= _LONGEST_RANGE else (first, last)
        at = span.end()
    return numbers + _plain(listed[at:])


def _plain(text: str) -> list[int]:
    return [int(number) for number in re.findall(r"\d+", text)]


SENTINEL = "NO ANSWER"
"""What a model is asked to write if the evidence does not answer the question."""

_TABLE = Path(__file__).with_name("refusals.toml")
_SORRY = re.compile(
    r"\W*(?:I['’]?m |I am )?(?:sorry|unfortunately|leider|désolé|lo siento|mi dispiace|helaas)\b",
    re.IGNORECASE,
)
_SENTINEL = re.compile(r"[\W_]*NO[ _-]ANSWER[\W_]*(?=$|\s|:)")
_AT_END = re.compile(r"\s*\W?NO ANSWER\W*$")
_SHORT = 30  # characters of an apology that says nothing else


def not_answered(language: str | None, question: str = "") -> str:
    """What the program says where the documents found do not answer; English where it has no other words.

    Args:
        language: of the question, BCP 47.
        question: tells whether Chinese is written in traditional characters.
    """
    return _said("not_answered", language, question)


def nothing_found(language: str | None, question: str = "") -> str:
    """What the program says where nothing was found; see `not_answered`."""
    return _said("nothing_found", language, question)


def no_sure_answer(language: str | None, question: str = "") -> str:
    """What the program says if no sentence that was found is close enough; see `not_answered`."""
    return _said("no_sure_answer", language, question)


def is_sentinel(text: str) -> bool:
    """Whether a model's answer begins with the sentinel."""
    return _SENTINEL.match(text) is not None


def may_become_sentinel(text: str) -> bool:
    """Whether the beginning of an answer may be that of the sentinel."""
    begun = text.lstrip(" \n\t\"'*_[(“«`").replace("_", " ").replace("-", " ")
    return SENTINEL.startswith(begun) or is_sentinel(text)


def without_sentinel(text: str) -> str:
    """An answer without a sentinel at its end, which some models add to a partial answer."""
    return _AT_END.sub("", text)


def says_unknown(sentence: str, *, cites: bool) -> bool:
    """Whether a sentence only says that something is not known.

    Args:
        sentence: without markers of citations.
        cites: whether it cites something: then it must speak of its evidence ("… do not say").
    """
    plain = simplified(sentence)  # of Japanese, too, so both are searched
    return _says_unknown(sentence, cites) or (plain != sentence and _says_unknown(plain, cites))


def _says_unknown(sentence: str, cites: bool) -> bool:
    keys: list[tuple[str, ...]] = [("evidence",)] if cites else [("evidence",), ("own",), ("about", "no")]
    for matches in ([_any(key).search(sentence) for key in together] for together in keys):
        ends = [match.end() for match in matches if match]
        if len(ends) == len(matches):
            return _any("but").search(sentence, max(ends)) is None
    return False


def is_apology(sentence: str) -> bool:
    """Whether a sentence only apologises."""
    return _SORRY.match(sentence) is not None and len(sentence) <= _SHORT


@cache
def _table() -> dict[str, dict[str, Any]]:
    return tomllib.loads(_TABLE.read_text("utf-8"))


def _said(key: str, language: str | None, question: str) -> str:
    table = _table()
    words = table.get(base_language(language) or "en", table["en"])
    traditional = base_language(language) == "zh" and simplified(question) != question
    return str(words["traditional"][key] if traditional else words[key])


@cache
def _any(key: str) -> re.Pattern[str]:
    """What any language has under a key."""
    listed = [pattern for each in _table().values() for pattern in each[key]]
    if key == "but":
        listed = [rf"(?<!\w){word}(?!\w)" if word.isascii() else word for word in listed]
    return re.compile("|".join(listed), re.IGNORECASE)


GENERAL = ("[general knowledge]", "[LLM: verify]")
"""How a model marks what it knows from elsewhere."""
UNRELIABLE = frozenset(
    {
        "answer_language",
        "answer_refused",
        "answer_truncated",
        "general_knowledge",
        "invalid_citation",
        "uncited_sentence",
        "unreferenced_numeric",
        "unsupported_name",
        "unsupported_numeric",
    }
)
"""Warnings of answers that are not kept: asked again, the model may do better."""

_WORD = re.compile(r"[^\W_]+")
_QUOTED = re.compile(r"[“„«\"「『][^”“»\"」』\n]{1,300}[”“»\"」』]")
_EMPHASIS = re.compile(r"(?<!\w)[*_]{1,3}(?=\S)|(?<=\S)[*_]{1,3}(?!\w)")
_ELISION = re.compile(r"^(?:[cdjlmnst]|qu)['’]", re.IGNORECASE)
_SHOWN = 120
_MOST_SHOWN = 3
_ENOUGH = 40  # letters by which a language can be told


@dataclass(frozen=True, slots=True)
class Claim:
    """A sentence of an answer.

    Attributes:
        text: with its markers.
        cited: the texts that it cites, empty if it cites none.
        beside: the titles of the documents that it cites, and what else of them was shown. It says whom a
            pronoun of what is cited means, so names in it need no other evidence.
    """

    text: str
    cited: tuple[str, ...]
    beside: str = ""

    @property
    def words(self) -> str:
        """The sentence without markers, emphasis and the mark of a list."""
        return _EMPHASIS.sub("", MARKER.sub("", self.text)).lstrip("-*•> \n").rstrip()

    @property
    def general(self) -> bool:
        """Whether it is marked as general knowledge."""
        return any(mark in self.text for mark in GENERAL)

    @property
    def unknown(self) -> bool:
        """Whether it only says what is not known."""
        return says_unknown(self.words, cites=bool(self.cited))


def refuses(sentences: Sequence[str], markers: AbstractSet[int]) -> bool:
    """Whether an answer says no more than that it does not know.

    Args:
        sentences: of the answer, with their markers.
        markers: the numbers that may be cited.
    """
    claims = [Claim(text, ("",) if markers & set(cited_numbers(text)) else ()) for text in sentences]
    statements = [claim for claim in claims if claim.unknown or not is_apology(claim.words)]
    return (
        bool(statements)
        and statements[0].unknown
        and not any(c.general or (c.cited and not c.unknown) for c in statements)
    )


def check_answer(question: str, claims: Sequence[Claim], language: str | None) -> Iterator[tuple[str, str]]:
    """The warnings that an answer deserves.

    Args:
        claims: its sentences, of an answer that does not refuse.
        language: of the question, BCP 47; None if unknown.

    Returns:
        (type, detail) of each.
    """
    if bare := uncited(question, claims, language):
        shown = "; ".join(f"“{claim.words[:_SHOWN]}”" for claim in bare[:_MOST_SHOWN])
        yield (
            "uncited_sentence",
            tr("{count} of {all} sentences cite nothing: {shown}").format(
                count=len(bare), all=len(claims), shown=shown
            ),
        )
    cited = "\n".join(dict.fromkeys(text for claim in claims for text in claim.cited))
    stated: list[Figure] = []
    for claim in claims:
        if not claim.general:
            yield from _numbers(question, claim, language, stated)
            yield from _names(f"{question}\n{cited}", claim, language)
    yield from _language(question, claims, language)


def uncited(question: str, claims: Sequence[Claim], language: str | None) -> list[Claim]:
    """The sentences of an answer that should cite something and do not."""
    terms = {*analyse(question, language)}
    terms.update(term for claim in claims if claim.cited for term in analyse(claim.words, language))
    return [
        claim
        for claim in claims
        if not claim.cited
        and not claim.general
        and not claim.unknown
        and _states(claim)
        and not terms.issuperset(analyse(claim.words, language))  # else it repeats what is cited elsewhere
    ]


def _states(claim: Claim) -> bool:
    """Not a mere "Yes.", a heading, or the words before a list."""
    text = claim.words.rstrip("*_ ")
    if text.startswith("#") or text.endswith((":", "：")) or MARKER.search(claim.text):
        return False  # a marker that leads nowhere has a warning of its own
    if text.startswith("|") and not any(map(str.isdigit, text)):  # the head of a table
        return False
    return len(_WORD.findall(text)) > 1 or len(CJK.findall(text)) > 2


def _numbers(
    question: str, claim: Claim, language: str | None, stated: list[Figure]
) -> Iterator[tuple[str, str]]:
    """Numbers that stand neither in what is cited nor in the question, and do not follow from these.

    Args:
        stated: the numbers that stand there, of the sentences before; those of this one are added. A whole
            number is a quotient only of numbers in its sentence, else too many are.
    """
    claimed = figures(claim.words, language)
    if not claimed or claim.unknown:
        return
    if not claim.cited:
        if not MARKER.search(claim.text):
            yield (
                "unreferenced_numeric",
                tr("cites nothing: {claimed} in “{text}”").format(
                    claimed=_listed(claimed), text=claim.text[:_SHOWN]
                ),
            )
        return
    if not all(text.strip() for text in claim.cited):  # words that are not at hand: nothing can be said
        return
    evidence_figures, asked = known_figures("\n".join(claim.cited)), known_figures(question)
    beside = known_figures(f"{claim.beside}\n{question}")
    texts = [*claim.cited, *([question] if asked.values else [])]
    own = [
        figure for figure in claimed if evidence_figures.supports(figure, beside) or asked.supports(figure)
    ]
    stated += own
    missing = [
        figure
        for figure in claimed
        if figure not in own and not follows(figure, texts, language, own if figure.whole else stated)
    ]
    if missing:
        yield (
            "unsupported_numeric",
            tr("not in what is cited: {claimed} in “{text}”").format(
                claimed=_listed(missing), text=claim.text[:_SHOWN]
            ),
        )


def _listed(claimed: Sequence[Figure]) -> str:
    return ", ".join(figure.text for figure in claimed)


def _names(elsewhere: str, claim: Claim, language: str | None) -> Iterator[tuple[str, str]]:
    """Names that stand neither in what the sentence cites nor elsewhere: in the question, or in what another
    sentence of the answer cites, by which it may go on.
    """
    if not all(text.strip() for text in claim.cited) or not claim.cited:
        return
    evidence = "\n".join([*claim.cited, claim.beside, elsewhere])
    words = claim.words
    spoken, read = detect_language(words), detect_language(" ".join(claim.cited))
    if spoken and read and spoken != read:  # names are translated: Deutschland, Germany
        return
    language = spoken or language
    evidence_text = _folded(evidence)
    letters = _letters(evidence_text)
    heads = {word[:4] for word in _WORD.findall(evidence_text) if len(word) >= 4}
    initials = "".join(word[0] for word in _WORD.findall(evidence) if word[0].isupper()).casefold()
    sentences = split_sentences(words, language)
    starts = {sentence.offset for sentence in sentences}
    missing = []
    for mention in find_mentions(words, sentences, language=language):
        name = _ELISION.sub("", mention.name)
        parts = [
            part for part in _WORD.findall(name) if not part.isdigit() and part.casefold() not in scales()
        ]
        alone = len(parts) < 2
        common = alone and (mention.offset in starts or base_language(language) == "de")  # a noun like others
        if not parts or common or not (name[0].isupper() or CJK.match(name)):
            continue
        folded = _folded(name)
        last = _folded(parts[-1])
        if last[:4] in heads or (name.isupper() and _letters(folded) in initials):
            continue
        if (len(last) >= 4 or CJK.match(name)) and _letters(folded) in letters:
            continue
        if len(last) < 4 and re.search(rf"\b{re.escape(last)}\b", evidence_text):
            continue
        missing.append(mention.name)
    if missing:
        named = ", ".join(dict.fromkeys(missing))
        yield (
            "unsupported_name",
            tr("not in what is cited: {claimed} in “{text}”").format(claimed=named, text=claim.text[:_SHOWN]),
        )


def _language(question: str, claims: Sequence[Claim], language: str | None) -> Iterator[tuple[str, str]]:
    text = _QUOTED.sub(" ", " ".join(claim.words for claim in claims))
    if sum(map(str.isalpha, text)) < _ENOUGH and not CJK.search(text):
        return
    asked, answered = detect_language(question) or base_language(language), detect_language(text)
    if asked and answered and asked != answered:
        yield (
            "answer_language",
            tr("the question is in “{asked}”, the answer in “{answered}”").format(
                asked=asked, answered=answered
            ),
        )


def _folded(text: str) -> str:
    """Without case, accents and traditional characters, with one blank between words, also those of LiHua."""
    plain = unicodedata.normalize("NFKD", apart(text))
    bare = "".join(c for c in plain if not unicodedata.combining(c)).casefold()
    return simplified(" ".join(bare.split()))


def _letters(folded: str) -> str:
    """Letters and digits alone."""
    return "".join(_WORD.findall(folded))
