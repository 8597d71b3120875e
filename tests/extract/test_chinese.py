"""Chinese: words, names, and what sentences state."""

import subprocess
import sys
from itertools import pairwise

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from graphrag_rdf.documents.sentences import split_sentences
from graphrag_rdf.extract.chinese import names_in, tokens_of
from graphrag_rdf.extract.mentions import find_mentions
from graphrag_rdf.extract.model import Extraction
from graphrag_rdf.han import simplified
from graphrag_rdf.wings.rules.extractor import RuleExtractor


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
        ("格但斯克 (Gdańsk)和海绵 (sponges)。", ["格但斯克", "Gdańsk"]),
        ("冰岛医院从法国购买机器。", ["冰岛", "法国"]),
        ("船长赵永年和父亲沈守信访问了北京。", ["赵永年", "沈守信", "北京"]),
        ("省委书记陈家忠到场。", ["陈家忠"]),
        ("总经理梁静宜到场。第二天，梁静宜按下电钮。", ["梁静宜", "梁静宜"]),
        ("测量船海燕号比白鹤号小。", ["海燕号", "白鹤号"]),
        ("二号闸门和信号都坏了。", []),
        ("他住在东屿省潮东市石塘镇。", ["东屿省", "潮东市", "石塘镇"]),
        ("该省会城市的居民和社区都有市场。", []),
        ("马家骏在临港机器厂和临港市工作。", ["马家骏", "临港机器厂", "临港市"]),
        ("许文辉到潮东参观潮汐电站。", ["许文辉"]),
        ("他任教于查尔姆斯理工学院。", ["查尔姆斯理工学院"]),
        ("它是潮东水利学院第一座图书馆。", ["潮东水利学院"]),
        ("沈阿福有一个孙女在海关。", ["沈阿福"]),
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
@example("李\ud800华住在\udc00港")
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


def read(text: str) -> Extraction:
    sentences = split_sentences(text, "zh")
    return RuleExtractor().extract(text, sentences, language="zh", title=None, topic=None)


def facts(text: str) -> list[tuple[str, str, str]]:
    return [(one.subject, one.predicate, one.object) for one in read(text).relations]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("青林市是一座城市。", [("青林市", "是", "城市")]),
        ("陈立文是青林市的市长。", [("陈立文", "是…的市长", "青林市")]),
        ("青林市的人口是20万。", [("青林市", "人口", "20万")]),
        ("《海峡的潮流》的作者是埃尔斯佩思·马威克。", [("海峡的潮流", "作者", "埃尔斯佩思·马威克")]),
        ("1931年，陈立文是青林市的市长。", [("陈立文", "曾是…的市长", "青林市")]),
        ("青林市曾是法国的首都。", [("青林市", "曾是…的首都", "法国")]),
        ("石川大桥由工程师陈立文设计。", [("陈立文", "设计", "石川大桥")]),
        ("马威克公司被清华大学收购。", [("清华大学", "收购", "马威克公司")]),
        (
            "石川大桥位于青林市北部，建成于1958年。",
            [("石川大桥", "位于", "青林市"), ("石川大桥", "建成于", "1958")],
        ),
        ("石川大桥于1958年9月3日建成。", [("石川大桥", "建成于", "1958-09-03")]),
        (
            "1949年，陈立文创办了青林日报。",
            [("陈立文", "创办", "青林日报"), ("青林日报", "创办于", "1949")],
        ),
        ("法国和日本签署了合作协议。", [("法国", "签署", "合作协议"), ("日本", "签署", "合作协议")]),
        ("波兰物理学家玛丽·居里访问了日本。", [("玛丽·居里", "访问", "日本")]),
        ("石川大橋位於臺北市。", [("石川大橋", "位于", "臺北市")]),
        ("石川大桥于一九五八年九月三日建成。", [("石川大桥", "建成于", "1958-09-03")]),
        ("石川大橋於民國四十七年九月建成。", [("石川大橋", "建成于", "1958-09")]),
        (
            "1983年11月2日，陈立文在青林市逝世。",
            [("陈立文", "逝世于", "青林市"), ("陈立文", "逝世于", "1983-11-02")],
        ),
        (
            "王大海于1911年创办了红星机械厂。",
            [("王大海", "创办", "红星机械厂"), ("红星机械厂", "创办于", "1911")],
        ),
        (
            "红星机械厂是由王大海于1911年创办的。",
            [("王大海", "创办", "红星机械厂"), ("红星机械厂", "创办于", "1911")],
        ),
        ("《山河》是王大海写的。", [("王大海", "写", "山河")]),
        ("《山河》由李文秀所著。", [("李文秀", "著", "山河")]),
        ("陈立文著有《山河》一书。", [("陈立文", "著有", "山河")]),
        ("林玉华是1919年在北京出生的。", [("林玉华", "出生于", "北京"), ("林玉华", "出生于", "1919")]),
        ("陈立文从清华大学毕业。", [("陈立文", "毕业于", "清华大学")]),
        ("红星机械厂的总部设在青林市。", [("红星机械厂", "总部设在", "青林市")]),
        (
            "钱三强，原名钱秉穹，1913年出生于浙江绍兴，毕业于清华大学。",
            [("钱三强", "出生于", "绍兴"), ("钱三强", "出生于", "1913"), ("钱三强", "毕业于", "清华大学")],
        ),
        ("叶剑英1897年生于广东。", [("叶剑英", "生于", "广东"), ("叶剑英", "生于", "1897")]),
        ("陈立文于1949年去世。", [("陈立文", "去世于", "1949")]),
        (
            "陈立文1919年6月8日出生于青林市。",
            [("陈立文", "出生于", "青林市"), ("陈立文", "出生于", "1919-06-08")],
        ),
        ("林玉华是渔民陈立文的孙女。", [("林玉华", "是…的孙女", "陈立文")]),
        ("林玉华是陈立文的弟弟的妻子。", [("林玉华", "是…的弟弟的妻子", "陈立文")]),
        ("陈立文的弟弟的妻子是林玉华。", [("陈立文", "弟弟的妻子", "林玉华")]),
        (
            "陈立文的妻子林玉华是青林市的市长。",
            [("陈立文", "妻子", "林玉华"), ("林玉华", "是…的市长", "青林市")],
        ),
        ("该站的总工程师的弟弟陈立文是测量船海燕号的船长。", [("陈立文", "是…的船长", "海燕号")]),
        ("清华大学的校长陈立文宣布，石川大桥位于青林市。", [("清华大学", "校长", "陈立文")]),
        ("林玉华发明了换向齿轮。", [("林玉华", "发明", "换向齿轮")]),
        ("马威克公司制造了三座水轮机。", [("马威克公司", "制造", "三座水轮机")]),
        ("拦潮坝由陈立文设计。", [("陈立文", "设计", "拦潮坝")]),
        ("石川大桥位于东屿省青林市的白鹤湾。", [("石川大桥", "位于", "白鹤湾")]),
        ("一、轮船白鹤号隶属于马威克公司。", [("白鹤号", "隶属于", "马威克公司")]),
        (
            "石川大桥由陈立文设计，1931年建成。",
            [("陈立文", "设计", "石川大桥"), ("石川大桥", "建成于", "1931")],
        ),
    ],
)
def test_plain_clauses_give_facts(text: str, expected: list[tuple[str, str, str]]) -> None:
    assert facts(text) == expected


@pytest.mark.parametrize(
    ("text", "dates"),
    [
        ("王伟自2018年起担任潮东船舶公司的董事长。", "from 2018"),
        ("李明从2012年到2018年5月担任潮东船舶公司的董事长。", "from 2012 to 2018-05"),
        ("2012年至2018年，李明担任潮东船舶公司董事长。", "from 2012 to 2018"),
        ("李明2018年出任潮东船舶公司董事长。", "at 2018"),
        ("李明是潮东船舶公司的董事长。", ""),
    ],
)
def test_who_holds_an_office_and_when(text: str, dates: str) -> None:
    (fact,) = read(text).relations
    assert (fact.predicate, fact.object, fact.object_is_entity) == ("是…的董事长", "潮东船舶公司", True)
    assert " ".join(f"{name} {lexical}" for name, lexical, _ in fact.qualifiers) == dates


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("石川大桥不是青林市的大桥。", "negated"),
        ("林玉华没有访问法国。", "negated"),
        ("林玉华从未访问法国。", "negated"),
        ("林玉华可能是青林市的市长。", "hedged"),
        ("林玉华将访问法国。", "hedged"),
        ("如果下雨，石川大桥由陈立文管理。", "conditional"),
        ("據說石川大橋位於臺北市。", "reported"),
        ("陈立文认为，石川大桥位于青林市。", "reported"),
        ("石川大桥位于青林市，林玉华说。", "reported"),
        ("石川大桥位于青林市吗？", "question"),
        ("林玉华访问了谁", "question"),
    ],
)
def test_what_a_sentence_does_not_vouch_for_is_rejected_with_the_reason(text: str, reason: str) -> None:
    extraction = read(text)
    assert extraction.relations == ()
    assert reason in {one.reason for one in extraction.rejected}


@pytest.mark.parametrize(
    "text",
    [
        "当石川大桥由陈立文设计时。",
        "石川大桥的设计由陈立文负责过很久。",
        "他访问了法国。",
        "林玉华帮助陈立文建造了石川大桥。",
        "林玉华设计并建造了石川大桥。",
        "工厂创办于1911年。",
        "石川大桥，青林市，陈立文。",
        "林玉华和陈立文是老朋友介绍的。",
        "石川大桥是青林市的\n大桥。",
        "陈立文的妻子说过很多话。",
        "林玉华负责制造水轮机。",
        "法国总统访问了日本。",
    ],
)
def test_what_fits_no_pattern_gives_nothing(text: str) -> None:
    assert facts(text) == []


def test_sentences_that_no_pattern_reads_are_counted() -> None:
    assert read("林玉华设计并建造了石川大桥。林玉华访问了法国。石川大桥，青林市。").unread == 1


def test_the_evidence_is_the_sentence_and_values_have_datatypes() -> None:
    text = "林玉华访问了法国。石川大桥建成于1958年。"
    last = read(text).relations[-1]
    assert last.span is not None
    assert text[last.span[0] : sum(last.span)] == last.quote == "石川大桥建成于1958年。"
    assert last.datatype == "http://www.w3.org/2001/XMLSchema#gYear"


def test_a_latin_name_in_brackets_is_an_alias_and_there_is_no_warning() -> None:
    extraction = read("林玉华（Lin Yuhua）访问了法国。")
    assert extraction.language_warning is None
    assert ("Person", ("Lin Yuhua",)) in [(one.type, one.aliases) for one in extraction.entities]


@given(st.text(alphabet="林玉华在邓马罗学院·的《》（）,。1998年Ab臺是由不与位于法国\n", max_size=60))
@example("王明\ud800在1986年创办了潮东电厂\udc00。")
def test_any_text_is_read(text: str) -> None:
    for relation in read(text).relations:
        assert relation.span is not None
        assert text[relation.span[0] : sum(relation.span)] == relation.quote
