"""Who does what to whom: whether a sentence has the parts of a question the other way round.

“Who succeeded Ada?” is not answered by “Ada succeeded Bob”, and “Did Ada have children?” not by “the only
child of Bob, Ada”. Only plain questions are read: English ones, 谁 with a verb, and “Hatte Ada Kinder?”.
"""

from __future__ import annotations

import re
from functools import lru_cache

from graphrag_rdf.index.analyse import analyse

_NAME = r"(?:[Tt]he )?[A-Z][\w'’.-]*(?: (?:(?:of|the|de|von|van|and) )*[A-Z][\w'’.-]*)*"
_WHO_DID = re.compile(
    rf"^\W*(?:[Ww]ho|[Ww]hich [a-z]+|[Ww]hat [a-z]+) (?P<verb>[a-z]{{3,}}) (?P<whom>{_NAME})\b"
)
_WHO_ACTED = re.compile(  # beside something else: “Who commanded the Petrel when it sank?”
    r"^\W*(?:[Ww]ho|[Ww]er) (?P<verb>[a-zäöü]{3,})\b.*"
    r"(?: (?:when|while|after|before)|, (?:als|während|nachdem|bevor)) "
)
_HAS = re.compile(
    rf"^\W*(?:Did|Does|Do) (?P<who>{_NAME}) (?:ever )?have (?!to\b)"
    r"(?:an? |any )?(?:\w+ ){0,2}(?P<what>\w+)\W*$"
)
_HAT = re.compile(rf"^\W*Hat(?:te)? (?P<who>{_NAME}) (?:eine? )?(?P<what>[A-ZÄÖÜ]\w+)\W*$")
_WHO_HAN = re.compile(r"^(?:谁|誰)(?P<what>[\u4e00-\u9fff]{3,20})[？?]?$")
_HELPS = frozenset(
    ("was", "were", "are", "has", "had", "have", "did", "does", "can", "will", "would", "could", "should")
)
_BETWEEN = r"(?:,? (?:who|which|that|then|also|later|soon|had|has|have|\w+ly))*"


def act(question: str) -> str:
    """The verb of what somebody did when something else happened: "commanded" of "Who commanded the Petrel
    when it sank?"; "" of other questions.
    """
    asked = _WHO_ACTED.match(question)
    return asked["verb"] if asked and asked["verb"] not in _HELPS else ""


def is_reversed(question: str, sentence: str) -> bool:
    """Whether a sentence says the reverse of what is asked, or lacks what the question asks whether one has.

    Args:
        sentence: on one line.
    """
    if asked := _WHO_DID.match(question):
        name = asked["whom"].split()[-1]
        return asked["verb"] not in _HELPS and _acts(name, asked["verb"], sentence)
    if asked := _HAS.match(question) or _HAT.match(question):
        return _lacks(asked["who"].split()[-1], asked["what"], sentence)
    if asked := _WHO_HAN.match(question):
        pairs = [(asked["what"][:n], asked["what"][n:].removeprefix("了")) for n in (1, 2, 3)]
        return any(
            len(whom) > 1 and f"{whom}{verb}" in sentence and not re.search(f"{verb}[了过]?{whom}", sentence)
            for verb, whom in pairs
        )
    return False


def _acts(name: str, verb: str, sentence: str) -> bool:
    """Whether what has the name does what the verb says, and nobody else does it to it."""
    forms = {word for word in re.findall(r"\w+", sentence) if _stem(word) == _stem(verb)}
    verbs, name = "|".join(map(re.escape, forms)), re.escape(name)
    if not forms or re.search(rf"\b(?:{verbs})\b(?: [^\s,;]+){{0,4}}? {name}\b", sentence):
        return False
    return re.search(rf"\b{name}{_BETWEEN} (?:{verbs})\b(?! by\b)", sentence) is not None


def _lacks(name: str, thing: str, sentence: str) -> bool:
    """Whether the thing is not there, or only before its owner, who so is rather one of them."""
    things = [word.start() for word in re.finditer(r"\w+", sentence) if _stem(word[0]) == _stem(thing)]
    owners = [match.start() for match in re.finditer(rf"\b{re.escape(name)}\b", sentence)]
    if re.search(rf"\b(?:of|by|for|von) (?:\w+ ){{0,3}}?{re.escape(name)}\b", sentence):
        return not things
    return not things or (bool(owners) and max(things) < min(owners))


@lru_cache(maxsize=4096)
def _stem(word: str) -> str:
    return next(iter(analyse(word, "en")), word.lower())
