"""A model that gives two products the same answers, so that what is measured is the products.

    python -m benchmarks.scripted_model REPLAY.json     serve; a line of input prints and resets the counts

It answers for each text unit of a book what another model once extracted (`replay.json` of the data folder),
in the form that the prompt asks for: that of this program, or that of Microsoft GraphRAG. Reports and answers
are made from what the prompt shows. A prompt that no row of `_KINDS` knows is counted as `unknown`.
"""

from __future__ import annotations

import hashlib
import json
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.common import ROOT
from tests.support.scripted_server import Request, ScriptedServer

DIMENSIONS = 3072
"""Of vectors: as many as text-embedding-3-large has."""
EDIT = " Scrooge travelled to Ulverston with Bob Cratchit."
"""A sentence that is added to a text unit: the answer about it has one entity and one relation more."""
_ADDED: dict[str, list[list[Any]]] = {
    "entities": [["ULVERSTON", "GEO", "Ulverston is a town that Scrooge travelled to with Bob Cratchit."]],
    "relationships": [["SCROOGE", "ULVERSTON", "Scrooge travelled to Ulverston with Bob Cratchit.", 6.0]],
    "claims": [],
}
_MICROSOFT_END = "\n<|COMPLETE|>"
_FINDINGS, _FINDING_CHARS = 5, 900


class Book:
    """The recorded answers about a book."""

    def __init__(self, replay: Path) -> None:
        recorded = json.loads(replay.read_text(encoding="utf-8"))
        self._chunks, self._summaries = recorded["chunks"], recorded["summaries"]
        self.counts: Counter[str] = Counter()

    def answer(self, request: Request) -> str:
        """The answer to a request, counted by its kind."""
        for kind, marks, answer in _KINDS:
            if all(mark in request.prompt for mark in marks):
                self.counts[kind] += 1
                return str(answer(self, request))
        self.counts["unknown"] += 1
        print(f"the scripted model does not know: {request.prompt[:100]!r}", file=sys.stderr)
        return "ok"

    def about(self, text: str) -> dict[str, list[list[Any]]]:
        """What was extracted from a text unit; a text that is not recorded is counted."""
        plain, edit, _ = text.partition(EDIT)
        found: dict[str, list[list[Any]]] | None = self._chunks.get(_key(plain))
        if found is None:
            self.counts["not recorded"] += 1
            found = {kind: [] for kind in _ADDED}
        return {kind: found[kind] + (_ADDED[kind] if edit else []) for kind in _ADDED}

    def summary(self, names: str, descriptions: list[str]) -> str:
        """The recorded summary of descriptions."""
        return str(self._summaries.get(names) or " ".join(descriptions)[:1500])


def _key(text: str) -> str:
    return hashlib.sha1(" ".join(text.replace("\ufeff", "").split()).encode()).hexdigest()


def _between(text: str, start: str, end: str) -> str:
    return text.rpartition(start)[2].partition(end)[0]


def _split(items: list[Any]) -> tuple[list[Any], list[Any]]:
    """What a first answer says, and what is left for the next round."""
    cut = max(1, len(items) * 9 // 10)
    return items[:cut], items[cut:]


# --- this program -----------------------------------------------------------------------------------


def _extraction(book: Book, request: Request, *, again: bool = False) -> str:
    text = _between(request.messages[0]["content"], "<text>\n", "\n</text>")
    found = book.about(text)
    relations = _split([_relation(each, text) for each in found["relationships"]])[again]
    entities = [dict(zip(("name", "type", "definition"), each, strict=True)) for each in found["entities"]]
    for entity in entities:
        entity["definition_evidence"] = _quote(text, entity["name"])
    return json.dumps({"entities": [] if again else entities, "relations": relations}, ensure_ascii=False)


def _relation(recorded: list[Any], text: str) -> dict[str, Any]:
    """A recorded relation as a typed one: the predicate stands in the description, between the two names."""
    subject, object_, description, strength = recorded
    words = re.escape(subject) + r"\W+(.+?)\W+" + re.escape(object_)
    between = re.search(words, description, re.IGNORECASE)
    return {
        "subject": subject,
        "predicate": " ".join(between[1].split()[:5]).lower() if between else "is related to",
        "object": object_,
        "object_is_entity": True,
        "evidence": _quote(text, subject, object_) or _quote(text, subject),
        "confidence": min(1.0, float(strength) / 10),
    }


def _quote(text: str, *names: str) -> str:
    """The first sentence with these names, empty without one."""
    sentences = re.split(r"(?<=[.!?])\s+", text)
    return next((each.strip() for each in sentences if all(n.lower() in each.lower() for n in names)), "")


def _claims(book: Book, request: Request) -> str:
    found = book.about(_between(request.messages[0]["content"], "<text>\n", "\n</text>"))["claims"]
    names = ("subject", "object", "type", "status", "start", "end", "description", "quotes")
    return json.dumps({"claims": [dict(zip(names, map(_value, each), strict=False)) for each in found]})


def _value(recorded: Any) -> Any:
    return None if recorded == "NONE" else recorded


def _report(_: Book, request: Request) -> str:
    lines = re.findall(r"^([a-z]+\d+) \| (.*)$", request.prompt, re.MULTILINE)
    return json.dumps(
        _written([(key, text) for key, text in lines], lambda keys: {"cites": keys}), ensure_ascii=False
    )


def _written(lines: list[tuple[str, str]], cited: Callable[[list[str]], dict[str, Any]]) -> dict[str, Any]:
    """A report made from what the prompt shows: a few findings, each of several lines."""
    title = " and ".join(text.split(" | ")[0].split(",")[0][:60] for _, text in lines[:2]) or "Community"
    step = max(1, len(lines) // _FINDINGS)
    findings = []
    for start in range(0, min(len(lines), step * _FINDINGS), step):
        shown = lines[start : start + 3]
        explanation = " ".join(text for _, text in shown)[:_FINDING_CHARS]
        summary = f"{shown[0][1][:60]} in this community"
        findings.append({"summary": summary, "explanation": explanation, **cited([key for key, _ in shown])})
    return {
        "title": title,
        "summary": f"A community around {title}, with {len(lines)} entries.",
        "rating": 3 + len(lines) % 6 + 0.5,
        "rating_explanation": "Rated by the number of entries.",
        "findings": findings,
    }


def _points(_: Book, request: Request) -> str:
    """A point for each of the first findings of a batch of reports."""
    numbers = re.findall(r"^\[(\d+)\]", request.prompt, re.MULTILINE)[:5]
    points = [
        {"description": f"Point {place} of the story.", "score": 100 - 7 * place, "findings": [int(number)]}
        for place, number in enumerate(numbers)
    ]
    return json.dumps({"points": points})


def _primer(_: Book, request: Request) -> str:
    asked = hashlib.sha256(request.prompt.encode()).hexdigest()[:6]
    further = [{"question": f"What about Scrooge and {asked} {n}?", "score": 50 - n} for n in range(3)]
    return json.dumps({"answer": "So it is told [1].", "score": 60, "follow_ups": further})


# --- Microsoft GraphRAG -----------------------------------------------------------------------------


def _microsoft_extraction(book: Book, request: Request, *, again: bool = False) -> str:
    text = _between(request.messages[0]["content"], "\nText: ", "\n######################\nOutput:")
    found = book.about(text)
    records = [["entity", *each] for each in found["entities"]]
    records += [["relationship", *each] for each in found["relationships"]]
    shown = ["(" + "<|>".join([f'"{head}"', *map(str, rest)]) + ")" for head, *rest in _split(records)[again]]
    # the delimiter before a further round: without it the product loses the first record
    return ("\n##\n" if again else "") + "\n##\n".join(shown) + _MICROSOFT_END


def _microsoft_claims(book: Book, request: Request) -> str:
    found = book.about(_between(request.messages[0]["content"], "\nText: ", "\nOutput:"))["claims"]
    return "\n##\n".join("(" + "<|>".join(map(str, each)) + ")" for each in found) + _MICROSOFT_END


def _microsoft_summary(book: Book, request: Request) -> str:
    names = json.loads(_between(request.prompt, "\nEntities: ", "\n"))
    descriptions = json.loads(_between(request.prompt, "\nDescription List: ", "\n#######"))
    return book.summary(names if isinstance(names, str) else "\u241f".join(names), descriptions)


def _microsoft_report(_: Book, request: Request) -> str:
    lines = [
        (f"{table} ({number})", text)
        for table in ("Entities", "Relationships")
        for number, text in re.findall(
            r"^(\d+),(.*)$", _between(request.prompt, f"-----{table}-----\n", "\n\n"), re.MULTILINE
        )
    ]
    report = _written(lines, lambda keys: {"cites": keys})
    for finding in report["findings"]:
        finding["explanation"] += f" [Data: {'; '.join(finding.pop('cites'))}]"
    return json.dumps(report, ensure_ascii=False)


def _microsoft_points(_: Book, request: Request) -> str:
    numbers = re.findall(r"^(\d+)\|", request.prompt, re.MULTILINE)[:5]
    points = [
        {"description": f"Point {place} [Data: Reports ({number})]", "score": 100 - 7 * place}
        for place, number in enumerate(numbers)
    ]
    return json.dumps({"points": points})


def _follow_up(kind: str, key: str, questions: int, request: Request) -> str:
    """An answer of DRIFT: it asks on, differently for each question."""
    asked = hashlib.sha256(request.prompt.encode()).hexdigest()[:6]
    further = [f"What about {asked} and {number}?" for number in range(questions)]
    return json.dumps({key: f"{kind}. " * 100, "score": 60, "follow_up_queries": further})


def _same(text: str) -> Callable[[Book, Request], str]:
    return lambda *_: text


@dataclass(frozen=True, slots=True)
class _Kind:
    """A kind of prompt: all `marks` are in it."""

    name: str
    marks: tuple[str, ...]
    answer: Callable[[Book, Request], str]

    def __iter__(self) -> Iterator[Any]:
        return iter((self.name, self.marks, self.answer))


_KINDS = (
    # this program; what is asked last in a conversation comes first here
    _Kind("extract again", ('answer {"entities": [], "relations": []}', "Read the passage once more"),
          partial(_extraction, again=True)),
    _Kind("claims again", ('answer {"claims": []}', "Read the passage once more"), _same('{"claims": []}')),
    _Kind("extract", ('{"entities": [], "relations": []}', "<text>"), _extraction),
    _Kind("claims", ('answer {"claims": []}', "<text>"), _claims),
    _Kind("report", ('"rating_explanation"', "<entries>"), _report),
    _Kind("summary", ("merge what several passages say of one thing",), _same("What they say. " * 20)),
    _Kind("concepts", ("List what to search for, as documents would",), _same("Scrooge\nChristmas")),
    _Kind("drift hyde", ("Reports about groups of people, things and places",), _same("People.")),
    _Kind("map", ("Below are reports on parts of a collection",), _points),
    _Kind("drift primer", ("Answer a question about a collection of documents",), _primer),
    _Kind("drift rate", ("Judge how much a finding helps",), _primer),
    _Kind("answer", ("Answer the question from the",), _same("So it is told [1]. And so on [2].")),
    _Kind("select", ("Below are a question and",), _same('{"id": "1", "score": 0.9}')),
    # Microsoft GraphRAG
    _Kind("extract again", ("MANY entities and relationships were missed",),
          partial(_microsoft_extraction, again=True)),
    _Kind("claims again", ("MANY entities were missed",), _same(_MICROSOFT_END)),
    _Kind("extract", ("identify all entities of those types",), _microsoft_extraction),
    _Kind("claims", ("analyze claims against certain entities",), _microsoft_claims),
    _Kind("summary", ("comprehensive summary of the data provided below",), _microsoft_summary),
    _Kind("report", ("comprehensive report of a community",), _microsoft_report),
    _Kind("map", ("Importance Score: An integer score between 0-100",), _microsoft_points),
    _Kind("reduce", ("synthesizing perspectives from multiple analysts",), _same("An answer. " * 50)),
    _Kind("drift hyde", ("Create a hypothetical answer",), _same("People and places of the story.")),
    _Kind("drift primer", ("reason over a knowledge graph",),
          lambda _, request: _follow_up("Primer", "intermediate_answer", 5, request)),
    _Kind("drift local", ("overall research question",),
          lambda _, request: _follow_up("Found", "response", 3, request)),
    _Kind("drift reduce", ("data in the reports provided",), _same("An answer. " * 50)),
    _Kind("local", ("data in the tables provided",), _same("An answer. " * 50)),
    _Kind("ping", ("LLM connectivity test",), _same("ok")),
)  # fmt: skip


# --- the process ------------------------------------------------------------------------------------


class ScriptedModel:
    """The model in a process of its own, so that its CPU time is not that of a product.

    Attributes:
        address: the `api_base` of clients.
    """

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process
        self.address = self._line()

    def counts(self) -> dict[str, int]:
        """Requests since the last look, by kind.

        Raises:
            SystemExit: a prompt or a text unit was not known, so the products did not get the same answers.
        """
        assert self._process.stdin is not None
        print(file=self._process.stdin, flush=True)
        found: dict[str, int] = json.loads(self._line())
        if unknown := {kind: found[kind] for kind in ("unknown", "not recorded") if kind in found}:
            raise SystemExit(f"the scripted model had no answer: {unknown}")
        return found

    def _line(self) -> str:
        assert self._process.stdout is not None
        return self._process.stdout.readline().strip()


@contextmanager
def scripted_model(data: Path) -> Iterator[ScriptedModel]:
    """The model, as long as the block runs."""
    command = [sys.executable, "-m", "benchmarks.scripted_model", str(data / "carol" / "replay.json")]
    with subprocess.Popen(
        command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        yield ScriptedModel(process)
        process.terminate()


def main() -> int:
    """Serve until standard input ends."""
    book = Book(Path(sys.argv[1]))
    with ScriptedServer(DIMENSIONS) as server:
        server.answer_with(book.answer)
        print(server.base_url, flush=True)
        for _ in sys.stdin:
            embedded = sum(request.path.endswith("/embeddings") for request in server.requests)
            print(json.dumps({**book.counts, "embed": embedded}), flush=True)
            book.counts.clear()
            server.requests.clear()
    return 0


if __name__ == "__main__":
    sys.exit(main())
