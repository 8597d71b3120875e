"""A model that answers the prompts of Microsoft GraphRAG's searches, known by their words."""

from __future__ import annotations

import json
import re
from collections.abc import Callable

from tests.support.scripted_server import Request

_TABLE = re.compile(r"-----(\w+)-----\n(.*?)(?:\n\n|\Z)", re.DOTALL)
_ROW = re.compile(r"^\s*(\d+)[|,]", re.MULTILINE)


def cited(prompt: str) -> str:
    """A citation of the first rows of each table of a prompt; a table without a name has sources."""
    parts = []
    for name, rows in _TABLE.findall(prompt) or [("Sources", prompt)]:
        if numbers := _ROW.findall(rows)[:3]:
            parts.append(f"{name} ({', '.join(numbers)})")
    return f"[Data: {'; '.join(parts)}]"


def _points(prompt: str) -> str:
    numbers = _ROW.findall(prompt)[:3]
    points = [{"description": f"A point [Data: Reports ({number})]", "score": 80} for number in numbers]
    return json.dumps({"points": points})


def _reduced(prompt: str) -> str:
    points = re.findall(r"\[Data:[^]]*]", prompt)
    return f"Reduced. {' '.join(points[-3:])}"


def _primer(prompt: str) -> str:
    del prompt
    follow = ["Who owned the mill?", "Who designed the station?"]
    return json.dumps({"intermediate_answer": "First. " * 400, "score": 50, "follow_up_queries": follow})


def _step(prompt: str) -> str:
    return json.dumps({"response": f"Then. {cited(prompt)}", "score": 40, "follow_up_queries": []})


ANSWERS: tuple[tuple[str, Callable[[str], str]], ...] = (
    ("Importance Score: An integer score between 0-100", _points),
    ("synthesizing perspectives from multiple analysts", _reduced),
    ("hypothetical answer to the following query", lambda _: "A mill near a harbour."),
    ("reason over a knowledge graph", _primer),
    ("overall research question", _step),
    ("data in the reports provided", lambda prompt: f"Drifted. {cited(prompt)}"),
    ("data in the tables provided", lambda prompt: f"Answered. {cited(prompt)}"),
)
"""Words of a prompt → its answer."""


def answer(request: Request) -> str:
    """The answer to a prompt; "ok" to others."""
    prompt = request.prompt
    return next((make(prompt) for words, make in ANSWERS if words in prompt), "ok")
