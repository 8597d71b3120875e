"""What questions in Chinese ask for: 谁, 什么, 何时, 哪里, 多少, 为什么, 是否.

A phrase that asks is cut out before the words of a question are weighed: no answer has to have it, nor the
pairs of characters across its borders. Whether a sentence shows the kind of thing asked for is told by dates,
numbers with the measure word asked for, names and conjunctions. 是否 is answered by a sentence that has the
words of the question in its order, and that states or denies them.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache, lru_cache
from typing import NamedTuple

from graphrag_rdf.extract.chinese import names_in, table, tokens_of
from graphrag_rdf.extract.lexicon import read_table
from graphrag_rdf.han import DATE, has_han, simplified

_SAYING = frozenset("nvajbg")  # tags of words that say something
_DIGIT = "[\\d〇零一二两三四五六七八九十百千万亿半]"
MEASURE = (
    "平方公里|平方米|公里|千米|英里|小时|分钟|美元|[个座名台艘条只家位所次种批项件部辆架间层届人年月天秒岁元吨米度倍"
    "页本篇张场支队棵头匹国州省市县节门]"
)
_LENGTH = "米|公里|千米|厘米|毫米|英里|英尺|英寸|海里|里|丈|尺|码|层"
_WEIGHT = "吨|公斤|千克|克|磅|斤"
_MONEY = "[块元角圆镑]|万元|亿元|[美欧日银港]元|英镑|法郎|马克|卢布|两银子|两白银"
_TIME = "年|个月|月|周|星期|天|日|小时|分钟|秒|世纪"
_END = "[呢吧呀啊]?[？?。]?$"
_DATE = rf"{DATE}|\d{{1,4}} ?年|{_DIGIT}{{1,3}} ?月|{_DIGIT} ?世纪|{_DIGIT}年代|年间|公元前?|时期"
_REASON = "因为|由于|因此|因而|所以|导致|造成|引起|致使|使得|以便|为了|原因|缘故|出于|之故"
_NUMBER = rf"\d|(?<!第)(?:[二两三四五六七八九十百千万亿]|一(?=[百千万亿成半]|{MEASURE}))"


class _Kind(NamedTuple):
    """A kind of question.

    Attributes:
        asks: the phrases that ask for it, in simplified characters; a group `of` is the measure word.
        shows: whether a sentence shows such a thing, of the question, the phrase and the sentence.
        lacks: whether it surely shows none.
    """

    asks: str
    shows: Callable[[str, re.Match[str], str], bool] | None
    lacks: Callable[[str, re.Match[str], str], bool] | None = None


@cache
def _pattern(expression: str) -> re.Pattern[str]:
    """A compiled expression: most questions are not Chinese, and these take long to compile."""
    return re.compile(expression)


def _names(question: str, sentence: str, types: frozenset[str | None]) -> bool:
    """Whether a sentence has a name of one of these types that the question has not."""
    found = names_in(sentence)
    return any(one.type in types and sentence[one.start : one.end] not in question for one in found)


def _who(question: str, asked: re.Match[str], sentence: str) -> bool:
    if _lacks_relative(question, asked, sentence):
        return False
    verb = next((token.text for token in tokens_of(question[asked.end() :]) if token.tag in {"v", "vn"}), "")
    if verb and re.search(f"[由被][^，。；]{{1,20}}{verb}", sentence):  # also by what is no known name
        return True
    return _names(question, sentence, frozenset({"Person", "Organisation", None}))


def _lacks_relative(question: str, asked: re.Match[str], sentence: str) -> bool:
    """Whether a question asks for somebody's wife or the like, and a sentence speaks of none."""
    before = question[: asked.start()]
    relative = next((word for word in table()["names"]["relatives"] if before.endswith(word)), "")
    return bool(relative) and not any(word in sentence for word in (relative, *same_words(relative)))


def _where(question: str, _: re.Match[str], sentence: str) -> bool:
    return _names(question, sentence, frozenset({"Place"}))


def _which_organisation(question: str, _: re.Match[str], sentence: str) -> bool:
    return _names(question, sentence, frozenset({"Organisation"}))


def _when(_: str, __: re.Match[str], sentence: str) -> bool:
    return _pattern(_DATE).search(sentence) is not None


def _why(_: str, __: re.Match[str], sentence: str) -> bool:
    return _pattern(_REASON).search(sentence) is not None


def _how_many(question: str, asked: re.Match[str], sentence: str) -> bool:
    if unit := asked["of"]:
        after = (token for token in tokens_of(question) if token.start == asked.end("of"))
        counted = next((token.text for token in after if token.tag.startswith(("n", "vn"))), "")
        return counted in sentence and re.search(rf"(?<!第){_DIGIT}[余多]?{unit}", sentence) is not None
    return _pattern(_NUMBER).search(sentence) is not None


def _not(shows: Callable[[str, re.Match[str], str], bool]) -> Callable[[str, re.Match[str], str], bool]:
    return lambda *given: not shows(*given)


def _no_number(_: str, __: re.Match[str], sentence: str) -> bool:
    return _pattern(_NUMBER).search(sentence) is None


def _which_number(_: str, __: re.Match[str], sentence: str) -> bool:
    return re.search(f"第 ?{_DIGIT}", sentence) is not None


def _how_much_of(units: str) -> Callable[[str, re.Match[str], str], bool]:
    shown = rf"{_DIGIT}[余多]? ?(?:{units})"
    return lambda _, __, sentence: _pattern(shown).search(sentence) is not None


_how_much_money = _how_much_of(_MONEY)
_SURELY = {
    _when: _not(_when),
    _how_many: _no_number,
    _how_much_money: _not(_how_much_money),
    _who: _lacks_relative,
}
"""What is never said in other words: a sentence without any does not answer."""

# Of phrases that begin at one place the longest counts, else the first.
_KINDS = tuple(
    _Kind(asks, shows, _SURELY.get(shows) if shows else None)
    for asks, shows in (
        (r"(?:是|在|于)*(?:什么时候|什么时间|什么日期|何时|何年|几时|几月几日|几月|几号)", _when),
        (r"(?:是|在|于)*哪一?个?(?:年份|年代|世纪|年|天|日)", _when),
        (r"(?:是|因)*(?:(?<![称名作成认视做变定分译])为什么|为何|为啥|何以|什么原因|何故)", _why),
        (r"(?:是|在|位于|于|来自)*(?:哪里|哪儿|何处|何地|什么地方|哪个地方)", _where),
        (r"在?哪一?[个座些]?(?=城市|国家|国|省|市|县|州|地区|地方|区域|大陆|岛|镇|村)", _where),
        (r"(?:是|由|被|在)*哪一?[家所](?=[^？?])", _which_organisation),
        (r"第几(?:名|位|届|次|个|大)?", _which_number),
        (rf"(?:共|总共|一共)?有?(?:多少|几)(?=(?P<of>{MEASURE})?)(?:{MEASURE}{_END})?", _how_many),
        (r"(?:共|总共|一共)?有?(?:多少|几)[个名位]?人(?![类民物口种员口体])", _how_much_of("个?人|[名位]")),
        (r"(?:共|总共|一共)?要?(?:多少|几)(?:钱|元)", _how_much_money),
        (r"(?:共|总共|一共)?有?多(?:长时间|久)", _how_much_of(_TIME)),
        (r"有?多(?:长|高|远|深|宽|厚)", _how_much_of(f"{_LENGTH}|{_TIME}")),
        (r"有?多重", _how_much_of(_WEIGHT)),
        (r"有?多(?:大|快)", _how_much_of(MEASURE)),
        (r"(?:是|由|被)?(?:谁|何人|哪一?位)是?", _who),
        (r"叫什么名字|名叫什么|姓什么", _who),
        (r"(?:是|为|叫|叫做)?(?:什么|啥|何物)是?|如何|怎么样?|怎样", None),
        (r"是?哪(?:一?(?:个|座|艘|家|所|些|种|条|部))?", None),
        (r"是否|是不是|有没有|有无|能否|可否|会不会|能不能|吗(?=[？?。]?$)", None),
        (r"发生[了过]?(?:什么|啥|哪些)(?:事情?|情况)?", None),
        (_END, None),
    )
)
WHETHER = re.compile(
    r"(?P<there>有没有|有无)|是否|是不是|(?P<modal>[能可](?=否)|能(?=不能)|可以?(?=不可以))(?:否|不能|不可以)"
    rf"|(?:，?(?:对|是|是真的))?吗{_END}|，?对不对{_END}|(?<=[了过])没有?{_END}"
)
"""What asks for yes or no."""


@lru_cache(maxsize=64)
def _asked(question: str) -> tuple[tuple[_Kind, re.Match[str]], ...]:
    """The phrases of a question that ask, in its order, and the kinds of question."""
    plain = simplified(question)
    found = [(kind, match) for kind in _KINDS for match in _pattern(kind.asks).finditer(plain) if match[0]]
    apart: list[tuple[_Kind, re.Match[str]]] = []
    for kind, match in sorted(found, key=lambda one: (one[1].start(), -one[1].end())):
        if not apart or match.start() >= apart[-1][1].end():
            apart.append((kind, match))
    return tuple(apart)


def without_asking(question: str) -> str:
    """A question with blanks for the phrases that ask."""
    for _, match in _asked(question):
        question = question[: match.start()] + " " * len(match[0]) + question[match.end() :]
    return question


def pairs_in_words(text: str) -> frozenset[str]:
    """The pairs of characters that are in one word or name, or that a word of one character is in."""
    plain, found = simplified(text), set[str]()
    words = [(token.start, token.end, token.tag) for token in tokens_of(text)]
    for start, end, tag in (*words, *((name.start, name.end, "N") for name in names_in(text))):
        around = int(end - start == 1 and tag[0] in _SAYING)
        places = range(max(0, start - around), min(end + around, len(plain)) - 1)
        found.update(plain[at : at + 2] for at in places)
    return frozenset(found)


def kinds_asked(question: str) -> list[str]:
    """The phrases by which a question asks for a date, a number, a name, a place or a reason."""
    return [match[0] for kind, match in _asked(question) if kind.shows]


def asks_whether(question: str) -> bool:
    """Whether a question asks for yes or no, so that a sentence that only says the same answers."""
    return WHETHER.search(simplified(question)) is not None


def answered_words(question: str, sentence: str) -> list[str]:
    """The phrases by which a question asks for a kind of thing that a sentence shows."""
    plain, text = simplified(question), simplified(sentence)
    return [match[0] for kind, match in _asked(question) if kind.shows and kind.shows(plain, match, text)]


def same_words(word: str) -> frozenset[str]:
    """The other words that mean the same."""
    rows = (row for row in _same() if word in row or f"{word}于" in row)
    return frozenset(one for row in rows for one in row) - {word}


def shows_no_such_thing(question: str, sentence: str) -> bool:
    """Whether a question asks for a date, an amount, a number or a relative, and a sentence has none."""
    plain, text = simplified(question), simplified(sentence)
    return any(kind.lacks and kind.lacks(plain, match, text) for kind, match in _asked(question))


def says_of_another(question: str, sentence: str) -> bool:
    """Whether a sentence has a name of the question only as an owner, 甲的弟弟, and the question asks for
    no such thing.
    """
    if not (has_han(question) and has_han(sentence)):
        return False
    plain, text = simplified(question), simplified(sentence)
    named = {plain[name.start : name.end] for name in names_in(question)}
    return any(
        f"{name}的" in text and f"{name}的" not in plain and name not in text.replace(f"{name}的", "")
        for name in named
    )


def said_otherwise(question: str, sentence: str) -> list[str]:
    """The words of a question for which a sentence has another one that means the same."""
    plain, text = simplified(question), simplified(sentence)
    return [
        word
        for words in _same()
        for word in words
        if word in plain and any(other in text for other in words if other != word)
    ]


@cache
def _same() -> tuple[tuple[str, ...], ...]:
    rows: str = read_table("zh")["questions"]["same"]
    return tuple(tuple(row.split()) for row in rows.splitlines())
