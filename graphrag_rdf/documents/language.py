"""Which language a text is in: by its script where that decides, else by two witnesses that agree.

The witnesses are statistics of byte n-grams (py3langid), which are sure of themselves on anything, and
function words, which tables, code and lists of names lack.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Mapping


def _languages(codes: str) -> tuple[str, ...]:
    return tuple(codes.split())


# letters of a script, the share of a text's letters from which on it is of that script, and the languages
# that are written in it; in order of precedence (Japanese is full of Han). Latin words stand in all others
_SCRIPTS = tuple(
    (re.compile(f"[{letters}]"), share, _languages(languages))
    for letters, share, languages in (
        (r"\u3041-\u30ff\uff66-\uff9d", 0.05, "ja"),
        (r"\u1100-\u11ff\u3131-\u318e\uac00-\ud7a3", 0.3, "ko"),
        (r"\u3400-\u4dbf\u4e00-\u9fff\U00020000-\U0003ffff", 0.3, "zh"),
        (r"\u0e01-\u0e4e", 0.3, "th"),
        (r"\u0370-\u03ff\u1f00-\u1fff", 0.3, "el"),
        (r"\u05d0-\u05ea", 0.3, "he"),
        (r"\u0531-\u0587", 0.3, "hy"),
        (r"\u10a0-\u10ff", 0.3, "ka"),
        (r"\u0b80-\u0bff", 0.3, "ta"),
        (r"\u0c00-\u0c7f", 0.3, "te"),
        (r"\u0c80-\u0cff", 0.3, "kn"),
        (r"\u0d00-\u0d7f", 0.3, "ml"),
        (r"\u0a80-\u0aff", 0.3, "gu"),
        (r"\u0a00-\u0a7f", 0.3, "pa"),
        (r"\u0d80-\u0dff", 0.3, "si"),
        (r"\u1780-\u17ff", 0.3, "km"),
        (r"\u0e80-\u0eff", 0.3, "lo"),
        (r"\u1000-\u109f", 0.3, "my"),
        (r"\u0400-\u052f", 0.3, "be bg kk ky mk mn ru sr tg tt uk"),
        (r"\u0620-\u064a\u066e-\u06d3", 0.3, "ar fa ku ps ug ur"),
        (r"\u0900-\u097f", 0.3, "hi mr ne"),
        (r"\u0980-\u09ff", 0.3, "as bn"),
    )
)
_LATIN = _languages(
    "af az ca cs cy da de en es et eu fi fr ga gl hr hu id is it la lt lv ms mt nl no pl pt ro sk sl sq sv "
    "sw tl tr vi"
)
_LETTERS_OF_A_WORD = 4
"""An ideograph counts as so many letters: it stands for a word."""

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
_FEWEST_LETTERS = 10
_LONG = 20
"""Letters from which on statistics may decide without a function word."""
_SENTENCE = re.compile(
    r"[A-Z\u00c0-\u00de][^\s.]*(?: [^\s.]+)* [a-z\u00df-\u00ff]{3,}(?: [^\s.]+)*\.(?=\s|$)"
)
"""From a capital to a full stop, with a word in small letters between: prose, also without function words."""
_PROSE = 0.5
"""The confidence that is needed of such a sentence."""
_TITLE = 12
"""Words; more of them without a function word are no prose."""
_LEAST_CONFIDENCE = 0.3
_ALONE = 0.9
"""The confidence that is needed without function words; in other scripts than the Latin,"""
_ALONE_ELSEWHERE = 0.75
"""which code and tables are seldom in, it is this."""
_NO_LANGUAGE = frozenset({"zxx", "und", "mul"})


def detect_language(text: str) -> str | None:
    """Recognise the language of a text.

    Long texts are sampled: their first 2,000 characters, and 1,000 from the middle, because a document may
    begin with an English licence. Where neither the script nor English function words decide, py3langid's
    naive Bayes model over byte n-grams does (Lui and Baldwin, 2012), among the languages of the script and
    together with their function words; loading it takes about half a second and 80 MB, once.

    Args:
        text: any text; fewer than 10 letters are recognised by script only.

    Returns:
        ISO 639-1 code (639-3 where there is none), or None if that would be a guess.
    """
    parts = [text[:_HEAD]]
    if len(text) > _HEAD + _MIDDLE:
        parts.append(text[len(text) // 2 :][:_MIDDLE])
    sample = "\n".join(parts).encode("utf-8", "ignore").decode()  # lone surrogates are no letters
    candidates = _written_in(sample)
    if len(candidates) == 1:
        return candidates[0]
    letters = len(_LETTER.findall(sample))
    if letters < _FEWEST_LETTERS:
        return None
    if candidates is _LATIN and all(map(_is_english, parts)):
        return "en"
    own = sample if candidates is _LATIN else _ASCII.sub(" ", sample)  # words of programs tell nothing
    language, confidence = _classify(own, candidates)
    words = _WORD.findall(sample.lower())
    known = FUNCTION_WORDS.get(language, frozenset())
    if any(map(known.__contains__, words)):
        return language if confidence >= _LEAST_CONFIDENCE else None
    if candidates is not _LATIN:
        return language if confidence >= _ALONE_ELSEWHERE else None
    if letters < _LONG or len(words) > _TITLE:
        return None
    return language if confidence >= (_PROSE if _SENTENCE.match(sample) else _ALONE) else None


def detect_script(text: str) -> str | None:
    """The language that all but owns the script of a text (zh, ja, ko, …); None where scripts are shared."""
    languages = _written_in(text)
    return languages[0] if len(languages) == 1 else None


def _written_in(text: str) -> tuple[str, ...]:
    """The languages that are written in the script of a text."""
    beyond = _ASCII.sub("", text)
    if not beyond:
        return _LATIN
    letters = len(_LETTER.findall(text))
    for script, share, languages in _SCRIPTS:
        found = len(script.findall(beyond))
        more = (_LETTERS_OF_A_WORD - 1) * found if languages == ("zh",) else 0
        if letters and found + more >= share * (letters + more):
            return languages
    return _LATIN


def _is_english(text: str) -> bool:
    """Whether function words alone show that it is; False leaves it open."""
    words = _WORD.findall(text.lower())
    known = sum(map(_ENGLISH.__contains__, words))
    return len(words) >= _FEWEST_WORDS and known >= _ENGLISH_SHARE * len(words)


def _classify(sample: str, candidates: Collection[str]) -> tuple[str, float]:
    import py3langid

    ranked = [(name, score) for name, score in py3langid.rank(sample) if name in candidates]
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


FUNCTION_WORDS: Mapping[str, frozenset[str]] = {
    language: frozenset(words.split())
    for language, words in {
        "af": "die het van nie en is was wat vir met word ook deur hulle ons sy aan om se",
        "az": "və bir bu da də üçün ilə ki nə kimi olan daha çox deyil necə harada",
        "bg": "на да се и не за от по със как къде мен че са това той тя към при или",
        "ca": "el la els les i amb per que és una dels del com on està més aquest són però va",
        "cs": "a se na je že to v s z do jak kde si by jsou pro ale jako nebo ve podle také byl",
        "cy": "y yr yn a i o ac ar mae wedi gan am sut ble fod oedd eu ei",
        "da": "og i at det en er til på som med for af den hvordan hvor ikke jeg har var vi blev fra",
        "de": "der die das und ist ein eine zu den dem des mit für von auf nicht wie wo ich sie wir im hat "
        "sich auch bei wird nach aus oder an als es werden wurde wurden sind zum zur",
        "en": "the of and to that it with for not from is was are in a an by this how where my i you we on "
        "at be have or as were has which their its should does do what who",
        "es": "el la los las de y que en un una es por con para del se cómo dónde mi su al lo no más como "
        "fue son sus entre",
        "et": "ja on ei et see oma kui kuidas kus mis ka oli või seda mille tema aga",
        "eu": "eta da bat ez du dira hau zen non nola baina ere zuen dute",
        "fi": "ja on ei että se oli miten missä kun myös hän ovat tämä mutta joka sekä",
        "fr": "le la les de des et un une est à du que qui dans pour sur pas comment où mon je nous au aux "
        "en par il elle avec ce sont ou ses son plus été",
        "ga": "agus an na is ar tá bhí le go i a sé conas cá ag do",
        "gl": "o a os as e de que un unha é en con para do da como onde non foi polo pola",
        "hr": "i je u na se da za od su s kako gdje ne koji što to o kao ili bio",
        "hu": "a az és hogy nem van egy is volt hogyan hol ez meg de mint vagy azt csak",
        "id": "yang dan di ke dari untuk dengan ini itu tidak pada adalah bagaimana mana saya dalam kita",
        "is": "og í að er á það sem en við um til hvernig hvar ekki ég var með fyrir",
        "it": "il la lo i gli le di e che un una è per con del della nel come dove mio non si da sono "
        "più al alla dei delle anche ha ho",
        "la": "est sunt esse erat quae quod qui cum sed ut atque enim etiam autem neque ab",
        "lt": "ir yra kad su į iš kaip kur ne buvo tai bet už per arba savo dėl",
        "lv": "un ir ka ar uz no kā kur nav bija tas bet par vai pie savu",
        "ms": "yang dan di ke dari untuk dengan ini itu tidak pada adalah bagaimana mana saya dalam kita",
        "mt": "u li ta huwa hija minn għal kif fejn kien dan lil dik",
        "nl": "de het een en van is op te dat die in met voor niet hoe waar je ik we mijn aan zijn er naar "
        "ook bij door om werd wordt uit als of was",
        "no": "og i at det en er til på som med for av den hvordan hvor ikke jeg har var vi ble fra",
        "pl": "i w na z się nie do jest że jak gdzie to o za od po dla przez są był czy oraz mój",
        "pt": "o a os as e de que em um uma é por com para do da no na como onde meu não se ao foi mais são "
        "dos das pela pelo",
        "ro": "și în de la cu pe nu este un o care din pentru că cum unde sau mai a fost sunt prin",
        "ru": "и в на не что с как где по из за от к у о мой я это для он она был или при его мы нам",
        "sk": "a sa na je že to v s z do ako kde si by sú pre ale alebo vo podľa tiež bol",
        "sl": "in je v na se da za z so kako kje ne ki to o kot ali bil po",
        "sq": "dhe në të e një për me që nuk është si ku nga ka janë por ky",
        "sr": "и је у на се да за од су са како где не који што то",
        "sv": "och i att det en ett är till på som med för av den så hur var inte jag vi har du från om vid",
        "sw": "na ya wa kwa ni katika za la cha jinsi wapi si kama hii huyo",
        "tl": "ang ng sa mga na ay at ko ito paano saan hindi para kung siya",
        "tr": "ve bir bu da de için ile ne nasıl nerede çok daha gibi olarak olan artık ben değil var",
        "uk": "і в на не що з як де по із за від до у о мій я це для він вона був або та його",
        "vi": "và của là có không được trong một cho với các này để những ở như đã tôi",
    }.items()
}
