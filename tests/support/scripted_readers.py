"""Answers of a simple but diligent model to every prompt of the ingest, made from the texts in the prompt.

The same prompt gives the same answer, so that two stores with the same texts hold the same.
"""

from __future__ import annotations

import json
import re

from tests.support.scripted_server import Reply, Request, extract_answers

ENTRY = re.compile(r"^([efcsp]\d+) \| (.*)$", re.MULTILINE)
_TEXT = re.compile(r"<text>\n?(.*?)\n?</text>", re.DOTALL)
_TEXTS = re.compile(r"<texts>\n(.*?)</texts>", re.DOTALL)
_BEFORE = re.compile(r"<before>\n(.*?)\n</before>", re.DOTALL)
_SENTENCE = re.compile(r"[^.!?\n]+[.!?]?")
_NAME = re.compile(r"\b[A-Z][\w'-]*(?: [A-Z][\w'-]*)*")


def kind_of(request: Request) -> str:
    """What is asked for: extract, claims, summary or report."""
    asked = request.prompt
    beginnings = (
        ("You note the claims", "claims"),
        ("You merge what several passages", "summary"),
        ("You write a report about a group", "report"),
    )
    return next((kind for text, kind in beginnings if text in asked), "extract")


def answer_all(request: Request) -> Reply:
    """An answer to any prompt of the ingest."""
    prompt = str(request.messages[0]["content"])
    texts = _TEXT.findall(prompt)
    text = texts[0] if texts else ""
    answers = {
        "extract": lambda: extract_answers(texts or [""]),
        "claims": lambda: claims_answer(text, glean=len(request.messages) > 1),
        "summary": lambda: summary_answer(prompt),
        "report": lambda: report_answer(prompt),
    }
    return Reply(answers[kind_of(request)]())


def claims_answer(text: str, *, glean: bool) -> str:
    """A claim for every sentence with two names; when asked again, for those with one."""
    found = []
    for sentence in _SENTENCE.findall(text):
        names = _NAME.findall(sentence)
        if len(names) == 1 if glean else len(names) > 1:
            quote = sentence.strip()
            one, other = names[0], None if glean else names[1]
            told = {"subject": one, "object": other, "type": "report", "status": "TRUE"}
            found.append({**told, "description": f"It is told: {quote}", "quotes": [quote]})
    return json.dumps({"claims": found})


def summary_answer(prompt: str) -> str:
    """All that the prompt says, in its order."""
    texts, before = _TEXTS.search(prompt), _BEFORE.search(prompt)
    lines = [line.removeprefix("- ") for line in texts[1].splitlines()] if texts else []
    return "Merged: " + " / ".join([*([before[1]] if before else []), *filter(None, lines)])


def report_answer(prompt: str) -> str:
    """A finding for each entry, which cites it."""
    entries = ENTRY.findall(prompt)
    findings = [
        {"summary": text[:60], "explanation": text, "cites": [key]} for key, text in entries if key[0] != "p"
    ]
    return json.dumps(
        {
            "title": " and ".join(text.split(" | ")[0] for key, text in entries if key[0] == "e") or "Parts",
            "summary": f"{len(entries)} entries.",
            "rating": len(entries) % 10,
            "rating_explanation": "So many entries.",
            "findings": findings or [{"summary": "Parts", "explanation": "Parts", "cites": ["p1"]}],
        }
    )
