"""Yes or no to questions in Chinese."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphrag_rdf.steps.chinese_verdicts import decides

_WRECK = "船上共有五十一人，其中三十七人遇难，十四人被渔民救起。"
_TURBINES = "机器厂制造了三座水轮机，每座水轮机的功率是1250千瓦。"
_FITTERS = "十二名工程师和四十名技工负责安装。"


@pytest.mark.parametrize(
    ("question", "sentence", "answer"),
    [
        ("机器厂是否制造了水轮机？", "机器厂制造了三座水轮机。", "是。"),
        ("機器廠是否製造了水輪機？", "机器厂制造了三座水轮机。", "是。"),
        ("水轮机是机器厂制造的吗？", "机器厂制造了三座水轮机。", "是。"),
        ("水轮机是由机器厂制造的，对吗？", "水轮机由机器厂制造。", "是。"),
        ("白鹤号有没有安装无线电报机？", "白鹤号没有安装无线电报机。", "没有。"),
        ("白鹤号有没有安装无线电报机？", "白鹤号安装了无线电报机。", "有。"),
        ("博物馆开馆了没有？", "博物馆1990年开馆。", "是。"),
        ("沈若澄是不是沈阿福的孙女？", "沈若澄出生于渔村，是渔民沈阿福的孙女。", "是。"),
        ("沈若澄的弟弟是沈若川吗？", "沈若川是沈若澄的弟弟。", "是。"),
        ("林淑贞是沈若川的妻子吗？", "沈若川的妻子林淑贞是台湾人。", "是。"),
        ("石川大桥位于青林市吗？", "石川大桥不位于青林市。", "否。"),
        ("高效滤网可以水洗吗？", "初效滤网可以冲洗，高效滤网不可水洗。", "不可以。"),
        ("下游能不能通航？", "下游能够通航。", "能。"),
        # dates and numbers in any form
        ("王大海是１９１１年去世的吗？", "王大海于一九一一年十一月十四日去世。", "是。"),
        ("王大海是1912年去世的吗？", "王大海于民国元年去世。", "是。"),
        ("大坝全长620米吗？", "大坝全长六百二十米。", "是。"),
        # another date, agent, place or number, where only one can be true
        ("王大海是1912年创办机器厂的吗？", "1911年，王大海创办了机器厂。", "否。"),
        ("机器厂是李文秀创办的吗？", "1911年，王大海创办了机器厂。", "否。"),
        ("机器厂是不是李文秀创办的？", "1911年，王大海创办了机器厂。", "否。"),
        ("李文秀是1951年去世的吗？", "李文秀毕业于北京大学，1950年去世。", "否。"),
        ("李文秀出生于青林市吗？", "李文秀出生于石川市。", "否。"),
        ("电站有四座水轮机吗？", "电站共有三座水轮机。", "否。"),
        # a number counts only as a whole, beside what it counts, in the clause of the verb
        ("十四人遇难吗？", _WRECK, "否。"),
        ("三十七人遇难吗？", _WRECK, "是。"),
        ("三十七人被渔民救起吗？", _WRECK, "否。"),
        ("十四人被渔民救起吗？", _WRECK, "是。"),
        ("船上共有一人吗？", _WRECK, "否。"),
        ("船上是不是共有五十一人？", _WRECK, "是。"),
        ("机器厂制造了三座水轮机吗？", _TURBINES, "是。"),
        ("机器厂制造了五座水轮机吗？", _TURBINES, "否。"),
        ("机器厂是否制造了五座水轮机？", _TURBINES, "否。"),
        ("機器廠製造了五座水輪機嗎？", _TURBINES, "否。"),
        ("机器厂制造的水轮机有五座吗？", _TURBINES, "否。"),
        ("机器厂制造的水轮机有三座吗？", _TURBINES, "是。"),
        ("四十名工程师负责安装吗？", _FITTERS, "否。"),
        ("是不是有四十名工程师负责安装？", _FITTERS, "否。"),
        ("四十名技工负责安装吗？", _FITTERS, "是。"),
        ("机器厂制造了五座水轮机吗？", "机器厂制造了三座水轮机和五座闸门。", "否。"),
        ("机器厂制造了三座水轮机吗？", "机器厂先制造了一座水轮机，又制造了两座水轮机。", ""),
        ("机器厂制造了三十座水轮机吗？", "机器厂制造了三十多座水轮机。", ""),
        ("机器厂制造了三十座水轮机吗？", "机器厂制造了超过三十座水轮机。", ""),
        ("工地上有十二名工程师吗？", "工地上有一千八百名工人和十二名工程师。", "是。"),
        ("公司投资了三万元吗？", "公司投资了13万元。", "否。"),
        ("公司投资了1.3万元吗？", "公司投资了一万三千元。", "是。"),
        ("产量增长了5%吗？", "去年产量增长了15%。", "否。"),
        ("产量增长了5%吗？", "去年产量增长了5%。", "是。"),
        ("白鹤号是1月沉没的吗？", "1911年11月14日夜，白鹤号沉没。", ""),
        # of others, more than one can be true, or the text is less exact
        ("王大海是1912年访问北京的吗？", "1911年，王大海访问了北京。", ""),
        ("李文秀出生于浙江吗？", "李文秀出生于绍兴。", ""),
        ("机器厂是瑞典制造的吗？", "王大海创办了机器厂。", ""),
        ("王大海是1911年5月去世的吗？", "王大海于1911年去世。", ""),
        ("李文秀毕业于北京大学吗？", "李文秀毕业于潮东水利学院。", ""),
        # the other way round, somebody else, something else, not all of it
        ("沈阿福是不是沈若澄的孙女？", "沈若澄是沈阿福的孙女。", ""),
        ("沈若澄生于1923年吗？", "沈若川是沈若澄的弟弟，生于1923年。", ""),
        ("水轮机是否制造了机器厂？", "机器厂制造了三座水轮机。", ""),
        ("机器厂是否制造了闸门？", "机器厂制造了三座水轮机。", ""),
        # guessed, reported, supposed, denied twice
        ("机器厂是否制造了水轮机？", "机器厂可能制造了水轮机。", ""),
        ("机器厂是否制造了水轮机？", "据说机器厂制造了水轮机。", ""),
        ("机器厂是否制造了水轮机？", "如果机器厂制造了水轮机，就好了。", ""),
        ("机器厂是否制造了水轮机？", "机器厂不能不制造水轮机。", ""),
        ("机器厂是否没有制造水轮机？", "机器厂没有制造水轮机。", ""),
        ("谁制造了水轮机？", "机器厂制造了水轮机。", ""),
        ("Is it open?", "It is open.", ""),
    ],
)
def test_what_a_sentence_says_to_a_question_for_yes_or_no(question: str, sentence: str, answer: str) -> None:
    assert decides(question, sentence) == answer


def test_a_title_may_name_what_a_sentence_is_about() -> None:
    question, sentence = "洛溪河的上游能通航吗？", "上游水流湍急，不能通航。"
    assert decides(question, sentence) == ""
    assert decides(question, sentence, "洛溪河概况") == "不能。"


def test_a_clause_may_begin_with_the_short_form_of_a_name_in_the_text_before() -> None:
    question, before = "临江大桥收费吗？", "昨天，临江大桥通车。"
    assert decides(question, "大桥不收费。", "", before) == "否。"
    assert decides(question, "大桥不收费。") == decides(question, "东山大桥不收费。", "", before) == ""


@given(st.text(alphabet="王大海1年月日生于创办了的吗是否由被不能可以没有厂三座？，。 ", max_size=25))
def test_any_question_is_read(question: str) -> None:
    assert decides(question, question) == decides(question, question, "")
