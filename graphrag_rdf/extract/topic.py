"""What a passage is about: the entity that its title names, or for want of a title the first that it names.

Encyclopaedic and report-like texts name their subject once and then say "he", "it", "the company". A passage
is about its topic even where it does not name it, and retrieval follows that.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from graphrag_rdf.documents.titles import PART

from .model import Mention
from .normalise import fold

_BRACKETED = re.compile(r"\s*\([^()]*\)\s*$")
_ARTICLE = re.compile(r"(?:the|an?)\s+(?=\S)", re.IGNORECASE)
_WORD = re.compile(r"\w+")
_LONGEST = 12  # words of a title that can be a name


def topics_of(title: str, mentions: Sequence[Mention], *, given: bool) -> tuple[str, ...]:
    """The names of what a passage is about: of `topic_of`, and as others write a given title - without its
    article, and without the place after a comma where the passage names it so (`Springfield, Ohio`). Of a
    title with parts (`Halden Locks Co. — Form 10-Q — …`) the first names it.
    """
    topic = topic_of(title.partition(PART)[0] if given else title, mentions, given=given)
    if topic is None:
        return ()
    names = [topic]
    if given:
        names.append(_ARTICLE.sub("", topic, count=1) if _ARTICLE.match(topic) else topic)
        head = topic.split(", ")[0]
        if fold(head) in {fold(mention.name) for mention in mentions}:
            names.append(head)
    return tuple(dict.fromkeys(names))


def topic_of(title: str, mentions: Sequence[Mention], *, given: bool) -> str | None:
    """The name of what a passage is about.

    Args:
        title: of its document.
        mentions: the names that the passage has, in text order.
        given: whether the document has this title, rather than that its file is called so.

    Returns:
        the title without a bracket at its end, which tells homonyms apart, if it is given or the passage has
        that name; of a title as long as a sentence the first name that the passage has too; of a file's name
        that says nothing the first name of the passage; None if there is none.
    """
    name = _BRACKETED.sub("", title).strip()
    if not given and fold(name) not in {fold(mention.name) for mention in mentions}:
        return mentions[0].name if mentions else None
    if 0 < len(_WORD.findall(name)) <= _LONGEST:
        return name
    flat = f" {' '.join(_WORD.findall(fold(title)))} "
    named = [(flat.find(f" {' '.join(_WORD.findall(fold(m.name)))} "), m.name) for m in mentions]
    inside = sorted((place, -len(found), found) for place, found in named if place >= 0)
    return inside[0][2] if inside else None
