"""Who speaks: the turns of chats, and texts that are none."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphrag_rdf.documents import chunk_text, read_bytes
from graphrag_rdf.documents.readers.content import CONTRIBUTOR
from graphrag_rdf.documents.tables import sentences_in
from graphrag_rdf.documents.turns import find_turns


def said(text: str) -> list[tuple[str, str]]:
    turns = find_turns(text)
    assert all(text[slice(*turn.name)] == turn.speaker for turn in turns)
    return [(turn.speaker, text[turn.words : turn.end]) for turn in turns]


@pytest.mark.parametrize(
    "text",
    [
        "Ada Venn: I live in Kelm.\nBo: You do?\nAda Venn: Yes.\n",
        "[12/03/2023, 10:15:02] Ada Venn: I live in Kelm.\n[12/03/2023, 10:15:09] Bo: You do?\n"
        "[12/03/2023, 10:16:00] Ada Venn: Yes.",
        "\u200e[12.03.23, 10:15:02] Ada Venn: I live in Kelm.\n[12.03.23, 10:15:09] Bo: You do?\n"
        "[12.03.23, 10:16:00] Ada Venn: Yes.",
        "12.03.23, 10:10 - Messages are encrypted.\n12.03.23, 10:15 - Ada Venn: I live in Kelm.\n"
        "12.03.23, 10:15 - Bo: You do?\n12.03.23, 10:16 - Ada Venn: Yes.",
        "3/12/23, 10:15\u202fPM - Ada Venn: I live in Kelm.\n3/12/23, 10:16\u202fPM - Bo: You do?\n"
        "3/12/23, 10:17\u202fPM - Ada Venn: Yes.",
        "[2023-03-12] Ada Venn: I live in Kelm.\n[2023-03-12] Bo: You do?\n[2023-03-13] Ada Venn: Yes.",
        "Ada Venn (00:01:02): I live in Kelm.\n\nBo (00:01:09): You do?\n\nAda Venn (00:01:11): Yes.",
        "Ada Venn  00:01:02\nI live in Kelm.\n\nBo  00:01:09\nYou do?\n\nAda Venn  00:01:11\nYes.",
        "Ada Venn — Today at 10:15 PM\nI live in Kelm.\nBo — Today at 10:16 PM\nYou do?\n"
        "Ada Venn — 12/03/2023 10:17\nYes.",
        "**Ada Venn:** I live in Kelm.\n\n**Bo:** You do?\n\n**Ada Venn:** Yes.",
    ],
)
def test_lines_of_chats(text: str) -> None:
    assert said(text) == [("Ada Venn", "I live in Kelm."), ("Bo", "You do?"), ("Ada Venn", "Yes.")]
    assert {turn.listener for turn in find_turns(text)} == {"Ada Venn", "Bo"}


def test_nicks_of_irc() -> None:
    text = "[10:15] <ada> I live here\n* cy has joined\n[10:16] <@bo> you do?\n[10:17] <cy> me too\n"
    assert said(text) == [("ada", "I live here"), ("bo", "you do?"), ("cy", "me too")]
    assert {turn.listener for turn in find_turns(text)} == {None}


def test_a_message_goes_on_to_the_next() -> None:
    text = "[12/03/23, 10:15] Ada: I live\nin Kelm.\n\nReally.\n[12/03/23, 10:16] Bo left\nBo\n"
    text += "[12/03/23, 10:17] Cy: you?"
    assert said(text) == [("Ada", "I live\nin Kelm.\n\nReally."), ("Cy", "you?")]


def test_a_full_width_colon_needs_no_blank() -> None:
    text = "Ada: I live in Kelm.\nLiHua：You do?\nAda：Yes, I do.\n李华：我也住在凯尔姆。\n"
    assert said(text) == [
        ("Ada", "I live in Kelm."), ("LiHua", "You do?"), ("Ada", "Yes, I do."), ("李华", "我也住在凯尔姆。"),
    ]  # fmt: skip


def test_a_turn_goes_on_behind_blank_lines() -> None:
    text = "Ada: I made a list:\n\n1. Flour of wheat\n2. Salt\n\nTake it with you.\nBo: I will.\n"
    text += "Ada: Good. I wait.\n\nSee you.\n"
    assert said(text) == [
        ("Ada", "I made a list:\n\n1. Flour of wheat\n2. Salt\n\nTake it with you."),
        ("Bo", "I will."),
        ("Ada", "Good. I wait.\n\nSee you."),
    ]
    parted = (
        "Ada: I live in Kelm.\n\nBo: You do?\n\nIn winter, too?\n\nAda: Yes.\n\nThe keeper wrote this down."
    )
    assert said(parted) == [
        ("Ada", "I live in Kelm."), ("Bo", "You do?\n\nIn winter, too?"), ("Ada", "Yes."),
    ]  # fmt: skip
    assert said("Ada: I do.\nBo: You do?\n\n# Notes\nAda: I did.\n")[1] == ("Bo", "You do?")


def test_in_a_group_each_may_speak_once() -> None:
    text = "Ada: I take the early boat.\nBo: Then I come with you.\nCy: My boat is the late one.\n"
    assert [speaker for speaker, _ in said(text)] == ["Ada", "Bo", "Cy"]


def test_a_single_remark_below_a_time() -> None:
    assert said("Time: 20260408_08:38\nAda: I am Ada. Your bread is here.") == [
        ("Ada", "I am Ada. Your bread is here.")
    ]
    assert said("Ada: I am Ada. Your bread is here.") == []


@pytest.mark.parametrize(
    "text",
    [
        "Name: Ada Venn\nBorn: 1931\n\nName: Bo Yew\nBorn: 1933\n\nName: Cy Orr\nBorn: 1936\n",
        "Warning: you must not open it.\nNote: I said so.\nWarning: you must not.\n",
        "Chapter One: The beginning\n\nI went to the sea. You were there.\n",
        "Ingredients: flour, water\nMethod: mix your flour\nIngredients: salt\n",
        "Kelm Airport (IATA: KLM, ICAO: EKLM) is yours to use.\n",
        "Result: The weir was built.\nThere is more: it was built by us, and you saw it.\nI went away.\n",
        "key: value\nother: value of mine\nkey: you\n",
        "http://example.org: my page\nhttp://example.org: your page\n",
        "10:15 the train leaves\n10:20 your train arrives\n",
        "",
    ],
)
def test_what_is_no_chat(text: str) -> None:
    assert find_turns(text) == ()


def test_each_turn_begins_a_sentence_and_speakers_are_contributors() -> None:
    text = "Ada: I live in Kelm\nBo: you do\nAda: yes and I like it. A lot\n"
    document = read_bytes(text.encode(), "chat.txt")
    (chunk,) = chunk_text(document.text)
    sentences = [chunk.text[s.offset : s.offset + s.length] for s in sentences_in(document, chunk)]
    assert sentences == ["Ada: I live in Kelm", "Bo: you do", "Ada: yes and I like it.", "A lot"]
    assert [value for iri, value in document.metadata if iri == CONTRIBUTOR] == ["Ada", "Bo"]


@given(
    st.lists(
        st.sampled_from(
            ["Ada: I am", "Bo: you", "[12/03/23, 10:15] Ada: my", "<bo> me", "Ada  10:15", "text", "",
             "- item", "Time: 2026", "10:15", "Name: x", "a: b"]
        ),
        max_size=12,
    ),
    st.sampled_from(["\n", "\r\n", "\n\n"]),
)  # fmt: skip
def test_turns_are_in_order_and_hold_their_words(lines: list[str], end: str) -> None:
    text = end.join(lines)
    turns = find_turns(text)
    position = 0
    for turn in turns:
        assert position <= turn.start <= turn.name[0] <= turn.name[1] <= turn.words <= turn.end <= len(text)
        assert text[slice(*turn.name)] == turn.speaker
        position = turn.end


@pytest.mark.parametrize(
    "piece", ["a", "a:", "[12", "A ", "\n", "1:", "<", "Ada Bo ", " ", "12.03.", "Ada: I\n"]
)
def test_long_texts_take_no_more_than_they_are_long(piece: str) -> None:
    turns = find_turns(piece * (200_000 // len(piece)))
    assert len(turns) <= 40_000
