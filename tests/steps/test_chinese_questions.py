"""Questions in Chinese: what they ask for, what shows it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphrag_rdf.steps.chinese_questions import (
    kinds_asked,
    says_of_another,
    shows_no_such_thing,
    without_asking,
)
from graphrag_rdf.steps.words import QuestionWords, answered_words, asks_for_a_kind, said_otherwise


@pytest.mark.parametrize(
    ("question", "rest", "shows", "does_not"),
    [
        ("谁创办了公司？", "创办了公司", "公司由梁伯钧创办。", "公司是两年前创办的。"),
        ("大桥由谁设计？", "大桥 设计", "大桥由省设计院设计。", "大桥设计得很好。"),
        ("灯塔是谁设计的？", "灯塔 设计的", "陈立文设计了灯塔。", "灯塔设计得很好。"),
        ("那位作者叫什么名字？", "那位作者", "作者是玛丽·居里。", "作者没有留下名字。"),
        ("電站何時投產？", "電站 投產", "電站於民國四十七年投產。", "電站投產了。"),
        ("它是什么时候建成的？", "它 建成的", "它建成于一九三一年。", "它有三座大门。"),
        ("他是哪一年毕业的？", "他 毕业的", "他1941年毕业。", "他毕业了。"),
        ("工厂位于哪里？", "工厂", "工厂位于青林市。", "工厂很大。"),
        ("他在哪座城市工作？", "他 城市工作", "他在北京工作。", "他在工厂工作。"),
        ("电站有几座水轮机？", "电站 座水轮机", "电站共有三座水轮机。", "第二名工人看着水轮机。"),
        ("水轮机有几座？", "水轮机", "电站共有三座水轮机。", "第一座水轮机转动了。"),
        ("他有几个孩子？", "他 个孩子", "他有三个孩子。", "他用两个夏天测完了海湾。"),
        ("多少名工程师到了？", "名工程师到了", "十二名工程师到了。", "四十座桥。"),
        ("大坝有多长？", "大坝", "大坝全长六百二十米。", "大坝有八座闸门。"),
        ("修理用了多长时间？", "修理用了", "修理历时四个月。", "修理花了六百元。"),
        ("他得了第几名？", "他得了", "他得了第三名。", "他得了三块金牌。"),
        ("门票多少钱？", "门票", "门票五元。", "运动会于四月十八日举行。"),
        ("闸门为什么脱落？", "闸门 脱落", "疲劳裂纹导致闸门脱落。", "闸门在夜里脱落。"),
    ],
)
def test_the_kind_of_thing_asked_for(question: str, rest: str, shows: str, does_not: str) -> None:
    assert " ".join(without_asking(question).split()) == rest
    assert asks_for_a_kind(question)
    assert answered_words(question, shows) == kinds_asked(question) != []
    assert answered_words(question, does_not) == []


@pytest.mark.parametrize(
    ("question", "rest"),
    [
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
def test_other_phrases_that_ask_are_no_words_to_be_found(question: str, rest: str) -> None:
    assert " ".join(without_asking(question).split()) == rest
    assert not asks_for_a_kind(question)


def test_a_name_of_the_question_is_not_what_it_asks_for() -> None:
    assert answered_words("陈立文在哪里出生？", "陈立文出生了。") == []
    assert answered_words("青林市位于哪里？", "青林市很大。") == []


def test_the_kind_asked_for_counts_as_a_word_that_a_sentence_with_such_a_thing_has() -> None:
    question = "灯塔什么时候建成？"
    words = QuestionWords.of(question, "zh", None)
    dated, undated = "灯塔一九三一年建成。", "灯塔终于建成。"
    assert words.coverage(dated, *answered_words(question, dated)) == pytest.approx(1)
    assert words.coverage(undated, *answered_words(question, undated)) < 0.8


def test_words_with_the_same_meaning_are_said() -> None:
    assert said_otherwise("他何時逝世？", "他1949年去世。") == ["逝世"]
    assert said_otherwise("他何时去世？", "他1949年出生。") == []
    assert said_otherwise("When did he die?", "他1949年去世。") == []


@pytest.mark.parametrize(
    ("question", "does_not", "may"),
    [
        ("吴秀兰的丈夫是谁？", "吴秀兰的侄子吴志强任经理。", "吴秀兰的先生是码头工人。"),
        ("门票多少钱？", "门票共有三种。", "门票五元。"),
        ("他何时去世？", "他去世了。", "他1949年去世。"),
        ("有多少条铁路？", "那里有铁路。", "那里有5条原国有线路。"),
    ],
)
def test_what_is_never_in_other_words(question: str, does_not: str, may: str) -> None:
    assert shows_no_such_thing(question, does_not)
    assert not shows_no_such_thing(question, may)


def test_a_sentence_about_an_owner_says_something_of_another() -> None:
    assert says_of_another("沈若澄出生于哪一年？", "沈若川是沈若澄的弟弟，生于1923年。")
    assert not says_of_another("沈若澄的弟弟生于哪一年？", "沈若川是沈若澄的弟弟，生于1923年。")
    assert not says_of_another("沈若澄出生于哪一年？", "沈若澄生于1919年，沈若澄的弟弟生于1923年。")
    assert not says_of_another("Who founded it?", "沈若澄的弟弟创办了它。")


@given(st.text(alphabet="谁什么何时哪里多少几座个是否有没不为了的吗厂？ 一a", max_size=20))
def test_any_question_is_read(question: str) -> None:
    rest = without_asking(question)
    assert len(rest) == len(question)
    assert set(rest) <= set(question) | {" "}
    answered_words(question, question)
