"""Chinese: words, names, and what sentences state."""

import subprocess
import sys
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphrag_rdf.documents.sentences import split_sentences
from graphrag_rdf.extract.chinese import names_in, tokens_of
from graphrag_rdf.extract.mentions import find_mentions
from graphrag_rdf.han import simplified


def names(text: str, language: str | None = "zh") -> list[str]:
    return [m.name for m in find_mentions(text, split_sentences(text, language), language=language)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("林玉华教授访问了塔内岛。", ["林玉华", "塔内岛"]),
        ("潮东水利学院与邓马罗学院签订了合作协议。", ["潮东水利学院", "邓马罗学院"]),
        ("作者的真名是埃尔斯佩思·马威克。", ["埃尔斯佩思·马威克"]),
        ("詹姆斯·雷伊博士到达北京。", ["詹姆斯·雷伊", "北京"]),
        ("他把《海峡的潮流》译成了英语。", ["海峡的潮流", "英语"]),
        ("谁设计了斯凯尔海峡的灯塔？", ["斯凯尔海峡"]),
        ("這座城市位於臺灣北部。", ["臺灣"]),
        ("我们希望电站能够继续运行。", []),
        ("城市的老师在公园里看叶子。", []),
        ("冰岛医院从法国购买机器。", ["冰岛", "法国"]),
    ],
)
def test_names_of_people_places_and_organisations_are_mentions(text: str, expected: list[str]) -> None:
    assert names(text) == expected


@pytest.mark.parametrize("text", ["東京は日本の首都です。", "서울은 대한민국의 수도이다."])
def test_japanese_and_korean_are_not_read_as_chinese(text: str) -> None:
    assert names(text, None) == []


def test_types_are_given_where_they_are_sure() -> None:
    text = "林玉华在邓马罗学院研究塔内岛和特斯拉。"
    assert {text[n.start : n.end]: n.type for n in names_in(text)} == {
        "林玉华": "Person",
        "邓马罗学院": "Organisation",
        "塔内岛": "Place",
        "特斯拉": None,
    }


@given(st.text(alphabet="林玉华在邓马罗学院·的《》 ,。1998年Ab臺灣於𠮷\n", max_size=40))
def test_words_and_names_stand_where_they_say(text: str) -> None:
    tokens = tokens_of(text)
    assert [token.text for token in tokens] == [simplified(text)[t.start : t.end] for t in tokens]
    found = names_in(text)
    assert all(0 <= name.start < name.end <= len(text) for name in found)
    assert all(one.end <= other.start for one, other in pairwise(found))


@given(st.text(max_size=60))
def test_simplified_keeps_the_length(text: str) -> None:
    assert len(simplified(text)) == len(text)
    assert simplified(simplified(text)) == simplified(text)


def test_the_dictionary_is_loaded_for_chinese_only() -> None:
    code = (
        "import sys; from graphrag_rdf.extract.mentions import find_mentions;"
        "from graphrag_rdf.documents.sentences import split_sentences;"
        "say = lambda t, l: find_mentions(t, split_sentences(t, l), language=l);"
        "say('Ada Venn built it.', 'en'); assert 'rjieba' not in sys.modules;"
        "say('林玉华在北京。', 'zh'); assert 'rjieba' in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
