"""One spelling per name: for IRIs (`slug`) and for look-ups (`match_key`).

Entities with the same slug are the same IRI, so folding is deliberately shy: width, ligatures, case
and white space go; plural, accents and punctuation stay. What is more alike than that is a matter of
merging, which can be undone.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

_SPACE = re.compile(r"\s+")
# invisible characters that come with copied text and never tell two names apart
_INVISIBLE = dict.fromkeys((0x00AD, 0x200B, 0x2060, 0xFEFF))
# RFC 3987 ipchar: iunreserved / sub-delims / ":" / "@", with ucschar, less the bidi marks of its section 4.1
_NOT_IN_PATH = re.compile(
    "[^-A-Za-z0-9._~!$&'()*+,;=:@"
    "\u00a0-\u200d\u2010-\u2029\u202f-\ud7ff\uf900-\ufdcf\ufdf0-\uffef"
    + "".join(f"{chr(plane * 0x10000)}-{chr(plane * 0x10000 + 0xFFFD)}" for plane in range(1, 14))
    + "\U000e1000-\U000efffd]"
)
_LONGEST_NAME = 200  # names recur and are remembered, texts are not
_EDGE = re.compile(r"^[\W_]+|[\W_]+$")


def fold(text: str) -> str:
    """NFKC, case folded, white space collapsed and trimmed, invisible characters dropped."""
    return _fold_name(text) if len(text) <= _LONGEST_NAME else _fold(text)


def _fold(text: str) -> str:
    folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())
    return _SPACE.sub(" ", folded.translate(_INVISIBLE)).strip()


_fold_name = lru_cache(maxsize=16_384)(_fold)


def slug(name: str) -> str:
    """The last segment of an entity's, relation's or type's IRI.

    Non-ASCII letters stay as they are (IRIs, RFC 3987); what a path segment may not hold is
    percent-encoded as UTF-8, lone surrogates as if UTF-8 had them.

    Args:
        name: a surface form.

    Raises:
        ValueError: if nothing is left of the name.
    """
    folded = fold(name)
    if not folded:
        raise ValueError("a name without any visible character has no IRI")
    if folded in {".", ".."}:  # a resolver would take these segments away
        return folded.replace(".", "%2E")
    return _NOT_IN_PATH.sub(_percent, folded.replace(" ", "-"))


def match_key(surface: str) -> str:
    """The key under which a name is looked up: folded, without punctuation around it.

    A name of nothing but punctuation keeps it, so that distinct names keep distinct keys.
    """
    folded = fold(surface)
    return _EDGE.sub("", folded) or folded


def apart(name: str) -> str:
    """A name whose words are written together, as words: LiHua is Li Hua, PowerPoint Power Point.

    A capital after a small letter begins a word if a small one follows it: PhD and kW stay.
    """
    return "".join(
        f" {here}" if before.islower() and here.isupper() and after.islower() else here
        for before, here, after in zip(f" {name}", name, f"{name[1:]} ", strict=False)
    )


def together(name: str) -> str | None:
    """A name of words with capitals, written as one: Li Hua is LiHua; None of other names."""
    parts = name.split()
    joined = "".join(parts)
    return joined if len(parts) > 1 and apart(joined) == " ".join(parts) else None


def _percent(match: re.Match[str]) -> str:
    return "".join(f"%{byte:02X}" for byte in match.group().encode("utf-8", "surrogatepass"))
