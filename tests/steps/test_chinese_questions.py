"""Questions in Chinese: the phrases that ask are no words to be found."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphrag_rdf.steps.chinese_questions import without_asking


@pytest.mark.parametrize(
    ("question", "rest"),
    [
        ("谁创办了公司？", "创办了公司"),
        ("大桥由谁设计？", "大桥 设计"),
        ("灯塔是谁设计的？", "灯塔 设计的"),
        ("那位作者叫什么名字？", "那位作者"),
        ("電站何時投產？", "電站 投產"),
        ("它是什么时候建成的？", "它 建成的"),
        ("他是哪一年毕业的？", "他 毕业的"),
        ("工厂位于哪里？", "工厂"),
        ("他在哪座城市工作？", "他 城市工作"),
        ("电站有几座水轮机？", "电站 座水轮机"),
        ("水轮机有几座？", "水轮机"),
        ("他有几个孩子？", "他 个孩子"),
        ("多少名工程师到了？", "名工程师到了"),
        ("大坝有多长？", "大坝"),
        ("修理用了多长时间？", "修理用了"),
        ("他得了第几名？", "他得了"),
        ("门票多少钱？", "门票"),
        ("闸门为什么脱落？", "闸门 脱落"),
        ("公司后来改名为什么？", "公司后来改名"),
        ("整数被称为什么？", "整数被称"),
        ("他的论文是什么？", "他的论文"),
        ("他是哪艘船的船长？", "他 船的船长"),
        ("工厂是否制造了水轮机？", "工厂 制造了水轮机"),
        ("船上有没有救生艇？", "船上 救生艇"),
        ("1911年11月14日发生了什么？", "1911年11月14日"),
        ("桥在青林市吗？", "桥在青林市"),
    ],
)
def test_phrases_that_ask_are_no_words_to_be_found(question: str, rest: str) -> None:
    assert " ".join(without_asking(question).split()) == rest


@given(st.text(alphabet="谁什么何时哪里多少几座个是否有没不为了的吗厂？ 一a", max_size=20))
def test_any_question_is_read(question: str) -> None:
    rest = without_asking(question)
    assert len(rest) == len(question)
    assert set(rest) <= set(question) | {" "}
