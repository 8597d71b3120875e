"""The words of questions in Chinese.

A phrase that asks (谁, 什么, 何时, 哪里, 多少, 为什么, 是否) is cut out before the words of a question are
weighed: no answer has to have it, nor the pairs of characters across its borders.
"""

from __future__ import annotations

import re
from functools import cache

from graphrag_rdf.extract.chinese import names_in, tokens_of
from graphrag_rdf.han import simplified

_SAYING = frozenset("nvajbg")  # tags of words that say something
_MEASURE = (
    "平方公里|平方米|公里|千米|英里|小时|分钟|美元|[个座名台艘条只家位所次种批项件部辆架间层届人年月天秒岁元吨米度倍"
    "页本篇张场支队棵头匹国州省市县节门]"
)
_END = "[呢吧呀啊]?[？?。]?$"

# Of phrases that begin at one place the longest counts. In simplified characters.
_ASKING = (
    r"(?:是|在|于)*(?:什么时候|什么时间|什么日期|何时|何年|几时|几月几日|几月|几号)",
    r"(?:是|在|于)*哪一?个?(?:年份|年代|世纪|年|天|日)",
    r"(?:是|因)*(?:(?<![称名作成认视做变定分译])为什么|为何|为啥|何以|什么原因|何故)",
    r"(?:是|在|位于|于|来自)*(?:哪里|哪儿|何处|何地|什么地方|哪个地方)",
    r"在?哪一?[个座些]?(?=城市|国家|国|省|市|县|州|地区|地方|区域|大陆|岛|镇|村)",
    r"(?:是|由|被|在)*哪一?[家所](?=[^？?])",
    r"第几(?:名|位|届|次|个|大)?",
    rf"(?:共|总共|一共)?有?(?:多少|几)(?:(?:{_MEASURE}){_END})?",
    r"(?:共|总共|一共)?有?(?:多少|几)[个名位]?人(?![类民物口种员口体])",
    r"(?:共|总共|一共)?要?(?:多少|几)(?:钱|元)",
    r"(?:共|总共|一共)?有?多(?:长时间|久)",
    r"有?多(?:长|高|远|深|宽|厚|重|大|快)",
    r"(?:是|由|被)?(?:谁|何人|哪一?位)是?",
    r"叫什么名字|名叫什么|姓什么",
    r"(?:是|为|叫|叫做)?(?:什么|啥|何物)是?|如何|怎么样?|怎样",
    r"是?哪(?:一?(?:个|座|艘|家|所|些|种|条|部))?",
    r"是否|是不是|有没有|有无|能否|可否|会不会|能不能|吗(?=[？?。]?$)",
    r"发生[了过]?(?:什么|啥|哪些)(?:事情?|情况)?",
    _END,
)


@cache
def _patterns() -> tuple[re.Pattern[str], ...]:
    """Compiled when a question in Chinese is asked: they take long to compile."""
    return tuple(map(re.compile, _ASKING))


def without_asking(question: str) -> str:
    """A question with blanks for the phrases that ask."""
    plain, end = simplified(question), 0
    matches = [match for pattern in _patterns() for match in pattern.finditer(plain) if match[0]]
    for match in sorted(matches, key=lambda match: (match.start(), -match.end())):
        if match.start() >= end:
            end = match.end()
            question = question[: match.start()] + " " * len(match[0]) + question[end:]
    return question


def pairs_in_words(text: str) -> frozenset[str]:
    """The pairs of characters that are in one word or name, or that a word of one character is in."""
    plain, pairs = simplified(text), set[str]()
    words = [(token.start, token.end, token.tag) for token in tokens_of(text)]
    for start, end, tag in (*words, *((name.start, name.end, "N") for name in names_in(text))):
        around = int(end - start == 1 and tag[0] in _SAYING)
        places = range(max(0, start - around), min(end + around, len(plain)) - 1)
        pairs.update(plain[at : at + 2] for at in places)
    return frozenset(pairs)
