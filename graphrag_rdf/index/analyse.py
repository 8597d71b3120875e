"""From text to index terms, the same way for documents and for questions.

Terms are made here rather than in the search engine, so that both sides agree to the letter and what
was indexed can be scored again exactly.
"""

from __future__ import annotations

import re
import tomllib
import unicodedata
from collections.abc import Callable, Mapping
from collections.abc import Set as AbstractSet
from functools import cache, lru_cache
from itertools import pairwise
from pathlib import Path

from graphrag_rdf.han import dates_in_digits, simplified

# Languages with a Snowball stemmer in Tantivy (the compiled one: a fortieth of the time of one in Python)
_SNOWBALL = {
    "ar": "arabic", "da": "danish", "de": "german", "el": "greek", "en": "english", "es": "spanish",
    "fi": "finnish", "fr": "french", "hu": "hungarian", "it": "italian", "nb": "norwegian", "nl": "dutch",
    "nn": "norwegian", "no": "norwegian", "pt": "portuguese", "ro": "romanian", "ru": "russian",
    "sv": "swedish", "ta": "tamil", "tr": "turkish",
}  # fmt: skip

# Languages that are searched by pairs of characters
_PAIRED = frozenset({"zh", "ja", "ko", "th", "lo", "my", "km"})

# Scripts written without spaces, or whose spaces do not part words: searched by pairs of characters.
_UNSPACED = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff"
    "\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003134f"
)
_HAS_UNSPACED = re.compile(f"[{_UNSPACED}]")
_RUNS = re.compile(f"[{_UNSPACED}]+|[^{_UNSPACED}]+")
_ASCII_WORD = re.compile(r"[a-z0-9]+")
# soft hyphen, zero-width characters, byte order mark: invisible, and inside words
_INVISIBLE = dict.fromkeys([0x00AD, 0x200B, 0x200C, 0x200D, 0x2060, 0xFEFF])
_MAX_TERM = 64


@lru_cache(maxsize=1)
def _word() -> re.Pattern[str]:
    """Letters and digits with their combining marks (which `\\w` leaves out, cutting Hindi words up)."""
    marks = "".join(
        re.escape(chr(code))
        for code in range(0x300, 0x1F000)
        if unicodedata.category(chr(code)) in ("Mn", "Mc")
    )
    return re.compile(rf"\w+(?:[{marks}]+\w*)*")


@lru_cache(maxsize=256)
def primary_language(language: str | None) -> str:
    """The first subtag of a BCP 47 tag in lower case; `und` for None."""
    return re.split("[-_]", language, maxsplit=1)[0].lower() or "und" if language else "und"


@cache
def _table() -> dict[str, dict[str, str]]:
    return tomllib.loads(Path(__file__).with_name("data").joinpath("words.toml").read_text("utf-8"))


@cache
def stop_words() -> Mapping[str, frozenset[str]]:
    """Language → words too common to search by, after case folding."""
    return {language: frozenset(words.split()) for language, words in _table()["stop"].items()}


@cache
def irregular_forms() -> Mapping[str, Mapping[str, str]]:
    """Language → irregular form → base form."""
    return {
        language: {form: base for base, *forms in map(str.split, rows.splitlines()) for form in forms}
        for language, rows in _table()["irregular"].items()
    }


@lru_cache(maxsize=64)
def _term_of(language: str) -> Callable[[str], str]:
    """The function from a folded word to its term ("" for a stop word) in a language."""
    stop = stop_words().get(language, frozenset())
    stem = _stemmer(_SNOWBALL[language]) if language in _SNOWBALL else str
    irregular = irregular_forms().get(language, {})
    # accents in English are those of foreign names; its stemmer takes "Tekezé" and "Tekeze" for two words
    bare = _unaccented if language == "en" else str

    @lru_cache(maxsize=50_000)
    def term(word: str) -> str:
        word = bare(word)
        return "" if word in stop else _unaccented(stem(irregular.get(word, word)[:_MAX_TERM]))

    return term


def _stemmer(algorithm: str) -> Callable[[str], str]:
    import tantivy

    builder = tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.raw())
    analyser = builder.filter(tantivy.Filter.stemmer(algorithm)).build()
    return lambda word: analyser.analyze(word)[0]


def _unaccented(term: str) -> str:
    """A term in Latin script without its accents, as people often type it; others as they are."""
    if term.isascii():
        return term
    bare = "".join(c for c in unicodedata.normalize("NFD", term) if unicodedata.category(c) != "Mn")
    return bare if bare.isascii() else term


def fold(text: str) -> str:
    """Text without differences of case, width, composition, invisible characters (NFKC, case folding) and of
    traditional and simplified Chinese.
    """
    if text.isascii():
        return text.lower()
    folded = unicodedata.normalize("NFKC", text).translate(_INVISIBLE).casefold()
    return simplified(unicodedata.normalize("NFKC", folded))


def match_key(label: str) -> str:
    """The key of a label: equal for labels that are the same name. Folded, white space collapsed."""
    return " ".join(fold(label).split())


def has_base_forms(language: str) -> bool:
    """Whether the words of a language are stemmed, or it is searched by pairs of characters."""
    return primary_language(language) in _SNOWBALL or primary_language(language) in _PAIRED


def analyse(text: str, language: str | None) -> list[str]:
    """The index terms of a text, in order, with repetitions.

    Words are folded, cut at everything that is not a letter or digit, freed of stop words, brought to their
    base form where that is irregular, stemmed (Snowball) where the language has such lists and rules, and
    those in Latin script freed of accents. Chinese, Japanese, Korean, Thai, Lao, Burmese and Khmer become
    overlapping pairs of characters; a single character stays itself. Dates in Chinese numerals are those in
    digits.

    Args:
        text: any text.
        language: BCP 47 tag; None or an unknown one means no stemming and no stop words.
    """
    folded = fold(text)
    term = _term_of(primary_language(language))
    if folded.isascii():
        return [t for word in _ASCII_WORD.findall(folded) if (t := term(word))]
    unspaced = _HAS_UNSPACED.search(folded)
    words = _word().findall((dates_in_digits(folded) if unspaced else folded).replace("_", " "))
    if not unspaced:
        return [t for word in words if (t := term(word))]
    terms: list[str] = []
    for word in words:
        for run in _RUNS.findall(word):
            if not _HAS_UNSPACED.match(run):
                terms.extend(filter(None, [term(run)]))
            elif len(run) == 1:
                terms.append(run)
            else:
                terms.extend(a + b for a, b in pairwise(run))
    return terms


def words_with(terms: AbstractSet[str], text: str, language: str | None) -> list[str]:
    """The words of a text that have any of these terms, as they stand in it, each once. Of languages without
    blanks, all characters in a row that have some are one word.
    """
    words: list[str] = []
    for run in (run[0] for word in _word().findall(text) for run in _RUNS.finditer(word)):
        if not _HAS_UNSPACED.match(run):
            words += [run] if not terms.isdisjoint(analyse(run, language)) else []
            continue
        places = range(max(1, len(run) - 1))
        pairs = [at for at in places if not terms.isdisjoint(analyse(run[at : at + 2], language))]
        marked = {place for at in pairs for place in (at, at + 1)}
        words += "".join(char if place in marked else " " for place, char in enumerate(run)).split()
    return [*dict.fromkeys(words)]


def common_words(text: str, language: str | None) -> int:
    """How many words of a text are stop words of a language.

    Args:
        language: BCP 47 tag.
    """
    stop = stop_words().get(primary_language(language), frozenset())
    return sum(word in stop for word in _word().findall(fold(text)))


def spoken_by(text: str) -> str | None:
    """The language with most stop words in a text, English before others; None if there are none."""
    best = max(stop_words(), key=lambda language: (common_words(text, language), language == "en"))
    return best if common_words(text, best) else None
