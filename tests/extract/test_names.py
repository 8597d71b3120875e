"""Keys and slugs of names, and names that are left out."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyoxigraph import NamedNode

from graphrag_rdf.extract.names import fold, match_key, reject_reason, slug

PAIRS = [
    ("Ada Venn", "ada-venn"),
    ("ADA VENN", "ada-venn"),
    ("  Ada\t Venn\n", "ada-venn"),
    ("Ada\u00a0Venn", "ada-venn"),
    ("Ada\u3000Venn", "ada-venn"),
    ("Ａｄａ", "ada"),
    ("ﬁsh", "fish"),
    ("Straße", "strasse"),
    ("Kelm", "kelm"),
    ("ferry", "ferry"),
    ("ferries", "ferries"),
    ("ships", "ships"),
    ("ship", "ship"),
    ("Émile", "émile"),
    ("E\u0301mile", "émile"),
    ("Emile", "emile"),
    ("İstanbul", "i̇stanbul"),
    ("ΣΊΣΥΦΟΣ", "σίσυφοσ"),
    ("Москва", "москва"),
    ("東京", "東京"),
    ("東京 タワー", "東京-タワー"),
    ("ｶﾀｶﾅ", "カタカナ"),
    ("서울", "서울"),
    ("القاهرة", "القاهرة"),
    ("नई दिल्ली", "नई-दिल्ली"),
    ("⅔", "2⁄3"),
    ("Ⅳ", "iv"),
    ("x²", "x2"),
    ("℃", "°c"),
    ("C++", "c++"),
    ("C#", "c%23"),
    ("AT&T", "at&t"),
    ("Acme Corp.", "acme-corp."),
    ("Acme Corp", "acme-corp"),
    ("O'Brien", "o'brien"),
    ("O’Brien", "o’brien"),
    ("Spring-heeled Jack", "spring-heeled-jack"),
    ("TCP/IP", "tcp%2Fip"),
    ("What?", "what%3F"),
    ("100%", "100%25"),
    ("a%20b", "a%2520b"),
    ("<tag>", "%3Ctag%3E"),
    ('say "no"', "say-%22no%22"),
    ("{x|y}", "%7Bx%7Cy%7D"),
    ("a\\b^c`d", "a%5Cb%5Ec%60d"),
    ("[1]", "%5B1%5D"),
    ("soft\u00adhyphen", "softhyphen"),
    ("\ufeffname\u200b", "name"),
    ("bell\u0007", "bell%07"),
    ("lone\ud800", "lone%ED%A0%80"),
    ("private\ue000", "private%EE%80%80"),
    ("left\u200eright", "left%E2%80%8Eright"),
    (".", "%2E"),
    ("..", "%2E%2E"),
    ("...", "..."),
    ("😀", "😀"),
]


@pytest.mark.parametrize(("name", "expected"), PAIRS)
def test_slug(name: str, expected: str) -> None:
    assert slug(name) == expected


@pytest.mark.parametrize("name", ["", " ", "\n\t", "\u200b\ufeff"])
def test_nothing_has_no_slug(name: str) -> None:
    with pytest.raises(ValueError, match="no IRI"):
        slug(name)


@given(st.text())
def test_every_slug_is_a_valid_last_segment(name: str) -> None:
    """An IRI parser takes it, it adds no path, query or fragment, and folding first changes nothing."""
    if not fold(name):
        return
    made = slug(name)
    assert NamedNode(f"http://trustgraph.ai/e/{made}").value.endswith(made)
    assert not set(made) & set('/?#<>"{}|\\^` ')
    assert slug(fold(name)) == made


@pytest.mark.parametrize(
    ("surface", "key"),
    [
        ("“Ada Venn,”", "ada venn"),
        ("(ESA)", "esa"),
        ("  Acme  Corp. ", "acme corp"),
        ("...", "..."),
        ("", ""),
    ],
)
def test_match_key(surface: str, key: str) -> None:
    assert match_key(surface) == key


@pytest.mark.parametrize(
    "name",
    [
        "Ada Venn",
        "C",
        "R",
        "水",
        "IT",
        "US",
        "WHO",
        "B83",
        "3M",
        "AT&T",
        "Å s",
        "東京",
        "O'Brien",
        "1984 film",
        "My Fair Lady",
        "Seine Valley",
    ],
)
def test_names_pass(name: str) -> None:
    assert reject_reason(name) is None


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("", "empty"),
        ("her brother", "possessive"),
        ("Their father", "possessive"),
        ("seine Tochter", "possessive"),
        (" \u200b", "empty"),
        ("x", "too_short"),
        ("N" * 121, "too_long"),
        ("1871", "only_digits"),
        ("12.5 %", "only_digits"),
        ("--", "mostly_symbols"),
        ("a --- * / +", "mostly_symbols"),
        ("he", "stop_word"),
        ("It", "stop_word"),
        ("der", "stop_word"),
        ("NONE", "placeholder"),
        ("n/a", "placeholder"),
    ],
)
def test_noise_is_named(name: str, reason: str) -> None:
    assert reject_reason(name) == reason


def test_limits_are_the_callers() -> None:
    assert reject_reason("D", min_length=1) is None
    assert [reject_reason("港", min_length=least) for least in (1, 2, 3)] == [None, None, "too_short"]
    assert [reject_reason("李华", min_length=least) for least in (3, 4)] == [None, "too_short"]
    assert reject_reason("D", allowed={"D"}) is None
    assert reject_reason("C", allowed=()) == "too_short"
    assert reject_reason("Ada Venn", max_length=5) == "too_long"


@given(st.text())
def test_never_fails(name: str) -> None:
    reject_reason(name)
