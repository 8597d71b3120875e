"""What a model writes is read: notes, the answer, what is missing, in all usual forms."""
# ruff: noqa: E501 - a row a reply

from __future__ import annotations

from collections.abc import Iterator

import pytest

from graphrag_rdf.steps.asking import Reply


def read(text: str, size: int = 7) -> Reply:
    """A reply that came in pieces of so many characters, read to its end."""
    reply = Reply(iter([text[at : at + size] for at in range(0, len(text), size)]))
    told = "".join(reply.answer)
    assert told == (reply.text if reply.answers else "")
    return reply


@pytest.mark.parametrize("size", [1, 7, 1000])
@pytest.mark.parametrize(
    ("text", "notes", "answer", "missing"),
    [
        ("[3] names Ada\n[7] says when\nANSWER: Ada. [3][7]", {3: "names Ada", 7: "says when"}, "Ada. [3][7]", []),
        ("1. [3]: names Ada\n- **[7]** – when\n\n**Answer:** Ada. [3]", {3: "names Ada", 7: "when"}, "Ada. [3]", []),
        ("Part 1:\nSentence [3] names Ada\n【7】 when\nFINAL ANSWER:\nAda. [3]", {3: "names Ada", 7: "when"}, "Ada. [3]", []),
        ("1. [3] names Ada\n2. ANSWER: Ada. [3]", {3: "names Ada"}, "Ada. [3]", []),
        ("3. names Ada\n7) when\nAnswer: Ada. [3]", {3: "names Ada", 7: "when"}, "Ada. [3]", []),
        ("[3][7] both say it\nANSWER: Ada. [3]", {3: "both say it", 7: "both say it"}, "Ada. [3]", []),
        ("[3, 7] both say it\nANTWORT: Ada. [3]", {3: "both say it", 7: "both say it"}, "Ada. [3]", []),
        ("[3] names Ada\nMISSING: Ada Moor wife; Ada Moor born", {3: "names Ada"}, "", ["Ada Moor wife", "Ada Moor born"]),
        ("**MISSING:**\n- Ada Moor wife\n- “Ada Moor born”\n", {}, "", ["Ada Moor wife", "Ada Moor born"]),
        ("MISSING: none\nANSWER: Ada. [3]", {}, "Ada. [3]", []),
        ("[3] names Ada\nANSWER: NO ANSWER\nMISSING: Ada Moor wife", {3: "names Ada"}, "NO ANSWER", ["Ada Moor wife"]),
        ("ANSWER: NO ANSWER", {}, "NO ANSWER", []),
        ("Ada built the bridge. [3]\nShe was born in Varn. [7]", {}, "Ada built the bridge. [3]\nShe was born in Varn. [7]", []),
        ("[3] names Ada\n\nAda built it. [3]", {3: "names Ada"}, "Ada built it. [3]", []),
        ("ANSWER: Ada. [3]\nMore follows.\nMISSING: her wife", {}, "Ada. [3]\nMore follows.", ["her wife"]),
        ("```\n[3] names Ada\nANSWER: Ada. [3]", {3: "names Ada"}, "Ada. [3]", []),
        ("[3] 说明建造者\n答案：艾达建造了桥。[3]", {3: "说明建造者"}, "艾达建造了桥。[3]", []),
        ("[3] names Ada", {3: "names Ada"}, "", []),
        ("", {}, "", []),
    ],
)  # fmt: skip
def test_replies_are_read_in_all_usual_forms(
    text: str, notes: dict[int, str], answer: str, missing: list[str], size: int
) -> None:
    reply = read(text, size)
    assert reply.notes == notes
    assert reply.text.strip() == answer
    assert reply.missing == missing
    assert reply.answers is bool(answer and not (missing and answer == "NO ANSWER"))


@pytest.mark.parametrize(
    "text", ["[3] names Ada\nANSWER: Ada built the bridge of Ostby, ", "Ada built the bridge of Ostby, "]
)
def test_an_answer_is_given_out_as_it_comes(text: str) -> None:
    def pieces() -> Iterator[str]:
        yield from text
        raise AssertionError("nothing was given out")

    assert next(Reply(pieces()).answer).startswith("Ada"[:1])
