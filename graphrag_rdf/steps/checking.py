"""Checks of an answer that a model wrote: is everything cited, and does it stand in what is cited?

They work on texts alone. A check that cannot be sure says nothing: a name is looked for only if answer and
evidence are in one language, and a language is judged only by enough words.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from graphrag_rdf.documents.language import detect_language
from graphrag_rdf.documents.sentences import split_sentences
from graphrag_rdf.extract.lexicon import base_language
from graphrag_rdf.extract.mentions import find_mentions
from graphrag_rdf.extract.names import CJK, apart
from graphrag_rdf.extract.numbers import scales
from graphrag_rdf.index.analyse import analyse
from graphrag_rdf.steps.citations import MARKER, cited_numbers
from graphrag_rdf.steps.figures import Figure, figures, follows, known_figures
from graphrag_rdf.steps.refusals import is_apology, says_unknown

GENERAL = ("[general knowledge]", "[LLM: verify]")
"""How a model marks what it knows from elsewhere."""
UNRELIABLE = frozenset(
    {
        "answer_language",
        "answer_refused",
        "answer_truncated",
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


def refuses(sentences: Sequence[str], known: AbstractSet[int]) -> bool:
    """Whether an answer says no more than that it does not know.

    Args:
        sentences: of the answer, with their markers.
        known: the numbers that may be cited.
    """
    claims = [Claim(text, ("",) if known & set(cited_numbers(text)) else ()) for text in sentences]
    said = [claim for claim in claims if claim.unknown or not is_apology(claim.words)]
    return bool(said) and said[0].unknown and not any(c.general or (c.cited and not c.unknown) for c in said)


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
        yield "uncited_sentence", f"{len(bare)} of {len(claims)} sentences cite nothing: {shown}"
    cited = "\n".join(dict.fromkeys(text for claim in claims for text in claim.cited))
    for claim in claims:
        if not claim.general:
            yield from _numbers(question, claim, language)
            yield from _names(f"{question}\n{cited}", claim, language)
    yield from _language(question, claims, language)


def uncited(question: str, claims: Sequence[Claim], language: str | None) -> list[Claim]:
    """The sentences of an answer that should cite something and do not."""
    said = {*analyse(question, language)}
    said.update(term for claim in claims if claim.cited for term in analyse(claim.words, language))
    return [
        claim
        for claim in claims
        if not claim.cited
        and not claim.general
        and not claim.unknown
        and _states(claim)
        and not said.issuperset(analyse(claim.words, language))  # else it repeats what is cited elsewhere
    ]


def _states(claim: Claim) -> bool:
    """Not a mere "Yes.", a heading, or the words before a list."""
    text = claim.words.rstrip("*_ ")
    if text.startswith("#") or text.endswith((":", "：")) or MARKER.search(claim.text):
        return False  # a marker that leads nowhere has a warning of its own
    if text.startswith("|") and not any(map(str.isdigit, text)):  # the head of a table
        return False
    return len(_WORD.findall(text)) > 1 or len(CJK.findall(text)) > 2


def _numbers(question: str, claim: Claim, language: str | None) -> Iterator[tuple[str, str]]:
    claimed = figures(claim.words, language)
    if not claimed or claim.unknown:
        return
    if not claim.cited:
        if not MARKER.search(claim.text):
            yield "unreferenced_numeric", f"cites nothing: {_listed(claimed)} in “{claim.text[:_SHOWN]}”"
        return
    if not all(text.strip() for text in claim.cited):  # words that are not at hand: nothing can be said
        return
    known, asked = known_figures("\n".join(claim.cited)), known_figures(question)
    beside = known_figures(f"{claim.beside}\n{question}")
    missing = [
        figure
        for figure in claimed
        if not known.supports(figure, beside)
        and not asked.supports(figure)
        and not follows(figure, [*claim.cited, *([question] if asked.values else [])], language)
    ]
    if missing:
        yield "unsupported_numeric", f"not in what is cited: {_listed(missing)} in “{claim.text[:_SHOWN]}”"


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
    known = _folded(evidence)
    letters = _letters(known)
    heads = {word[:4] for word in _WORD.findall(known) if len(word) >= 4}
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
        if len(last) < 4 and re.search(rf"\b{re.escape(last)}\b", known):
            continue
        missing.append(mention.name)
    if missing:
        named = ", ".join(dict.fromkeys(missing))
        yield "unsupported_name", f"not in what is cited: {named} in “{claim.text[:_SHOWN]}”"


def _language(question: str, claims: Sequence[Claim], language: str | None) -> Iterator[tuple[str, str]]:
    text = _QUOTED.sub(" ", " ".join(claim.words for claim in claims))
    if sum(map(str.isalpha, text)) < _ENOUGH and not CJK.search(text):
        return
    asked, answered = detect_language(question) or base_language(language), detect_language(text)
    if asked and answered and asked != answered:
        yield "answer_language", f"the question is in “{asked}”, the answer in “{answered}”"


def _folded(text: str) -> str:
    """Without case and accents, and with one blank between words, also between those of LiHua."""
    plain = unicodedata.normalize("NFKD", apart(text))
    return " ".join("".join(c for c in plain if not unicodedata.combining(c)).casefold().split())


def _letters(folded: str) -> str:
    """Letters and digits alone."""
    return "".join(_WORD.findall(folded))
