"""Which language a text is in: by its script where that decides, else by statistics."""

from __future__ import annotations

import math
import re

# letters of a script that one language all but owns, in order of precedence (Japanese is full of Han)
_SCRIPTS = (
    ("ja", re.compile(r"[\u3041-\u30ff\uff66-\uff9d]"), 0.05),
    ("ko", re.compile(r"[\u1100-\u11ff\u3131-\u318e\uac00-\ud7a3]"), 0.3),
    ("zh", re.compile(r"[\u3400-\u4dbf\u4e00-\u9fff\U00020000-\U0003ffff]"), 0.3),
    ("th", re.compile(r"[\u0e01-\u0e4e]"), 0.5),
    ("el", re.compile(r"[\u0370-\u03ff\u1f00-\u1fff]"), 0.5),
    ("he", re.compile(r"[\u05d0-\u05ea]"), 0.5),
    ("hy", re.compile(r"[\u0531-\u0587]"), 0.5),
    ("ka", re.compile(r"[\u10a0-\u10ff]"), 0.5),
    ("ta", re.compile(r"[\u0b80-\u0bff]"), 0.5),
    ("te", re.compile(r"[\u0c00-\u0c7f]"), 0.5),
)
_ASCII = re.compile(r"[\x00-\x7f]+")
_LETTER = re.compile(r"[^\W\d_]")
_WORD = re.compile(r"[^\W\d_]+")
# a third of the words of English prose; of other languages' a tenth at most
_ENGLISH = frozenset(
    {
        "the", "of", "and", "to", "that", "it", "with", "his", "for", "not", "but", "from", "have", "they",
        "which", "you", "were", "she", "there", "would", "their", "him", "been", "when", "who", "if",
        "what", "as", "by", "this", "are", "at", "or", "on", "be",
    }
)  # fmt: skip
_ENGLISH_SHARE = 0.2
_FEWEST_WORDS = 20
_TAG = re.compile(r"[A-Za-z]{2,3}(?:-[A-Za-z0-9]{1,8})*")
_HEAD = 2000
_MIDDLE = 1000
_FEWEST_LETTERS = 20
_LEAST_CONFIDENCE = 0.3
_NO_LANGUAGE = frozenset({"zxx", "und", "mul"})


def detect_language(text: str) -> str | None:
    """Recognise the language of a text.

    Long texts are sampled: their first 2,000 characters, and 1,000 from the middle, because a document may
    begin with an English licence. Where neither the script nor English function words decide, py3langid's
    naive Bayes model over byte n-grams does (Lui and Baldwin, 2012); loading it takes about half a second
    and 80 MB, once.

    Args:
        text: any text; fewer than 20 letters are recognised by script only.

    Returns:
        ISO 639-1 code (639-3 where there is none), or None if that would be a guess.
    """
    parts = [text[:_HEAD]]
    if len(text) > _HEAD + _MIDDLE:
        parts.append(text[len(text) // 2 :][:_MIDDLE])
    sample = "\n".join(parts)
    if by_script := detect_script(sample):
        return by_script
    if len(_LETTER.findall(sample)) < _FEWEST_LETTERS:
        return None
    if all(map(_is_english, parts)):
        return "en"
    language, confidence = _classify(sample)
    return language if confidence >= _LEAST_CONFIDENCE and language not in _NO_LANGUAGE else None


def detect_script(text: str) -> str | None:
    """The language that all but owns the script of a text (zh, ja, ko, …); None where scripts are shared."""
    beyond = _ASCII.sub("", text)
    if not beyond:
        return None
    letters = len(_LETTER.findall(text))
    for language, script, share in _SCRIPTS:
        if letters and len(script.findall(beyond)) >= share * letters:
            return language
    return None


def _is_english(text: str) -> bool:
    """Whether function words alone show that it is; False leaves it open."""
    words = _WORD.findall(text.lower())
    known = sum(map(_ENGLISH.__contains__, words))
    return len(words) >= _FEWEST_WORDS and known >= _ENGLISH_SHARE * len(words)


def _classify(sample: str) -> tuple[str, float]:
    import py3langid

    ranked = py3langid.rank(sample)
    # softmax of the log-likelihoods, tempered by length: their spread grows with it, certainty does not
    temperature = math.sqrt(len(sample.encode()))
    best = ranked[0][1]
    return ranked[0][0], 1 / sum(math.exp((score - best) / temperature) for _, score in ranked)


def normalise_tag(tag: str | None) -> str | None:
    """A declared language as BCP 47 writes it (`EN_us` → `en-US`), or None if it is no language tag."""
    cleaned = (tag or "").strip().replace("_", "-")
    if not _TAG.fullmatch(cleaned) or cleaned[:3].lower() in _NO_LANGUAGE:
        return None
    first, *rest = cleaned.split("-")
    sized = {2: str.upper, 4: str.title}  # region, script
    return "-".join([first.lower(), *(sized.get(len(part), str.lower)(part) for part in rest)])
