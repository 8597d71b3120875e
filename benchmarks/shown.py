"""What a model is shown first of all: how often all gold passages, how often the answer, in how many tokens.

    python -m benchmarks.shown                     every evaluation set with gold passages
    python -m benchmarks.shown --only hotpot --stores /tmp/sets      keeps the ingested sets

A scripted model answers nothing; its first prompt with evidence is read. Names of the question are taken by
rules. Any `step.parameter=value` is a setting of graph_rag.
"""

from __future__ import annotations

import argparse
import re
import shutil
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from benchmarks.common import data_folder, no_data, table
from graphrag_rdf.config import load_settings
from graphrag_rdf.documents.text import count_tokens
from graphrag_rdf.engine import Engine
from graphrag_rdf.wings.evaluation.corpus import ingest_corpus
from graphrag_rdf.wings.evaluation.evalset import EvalSet, Question, load_evalset
from graphrag_rdf.wings.evaluation.metrics import contained, mean, yes_or_no
from tests.support.scripted_server import ScriptedServer

_LINE = re.compile(r"^(?:\[\d+\]\*?|\d+\.) (.+)$")
_SPEAKER = re.compile(r"^[^:]{1,40}: ")
_EVIDENCE = re.compile(r"<evidence>\n(.*?)</evidence>", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Shown:
    """Of one question: whether all gold passages and the answer were shown, and the tokens of the prompt."""

    gold: float
    answer: float | None
    tokens: int


def main() -> int:
    """Measure, and print a row for each set."""
    parser = argparse.ArgumentParser(prog="benchmarks.shown", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--only", default="", help="sets whose name has this")
    parser.add_argument("--limit", type=int, help="questions of each set")
    parser.add_argument("--stores", type=Path, help="keep the ingested sets here")
    parser.add_argument("settings", nargs="*", help="step.parameter=value")
    asked = parser.parse_args()
    data = data_folder()
    if data is None:
        return no_data("shown")
    given = dict(each.split("=", 1) for each in asked.settings)
    rows = []
    for path in sorted(data.glob(f"evalsets/*{asked.only}*.json")):
        evalset = load_evalset(path)
        if not any(question.answers and question.gold for question in evalset.questions):
            continue
        with ScriptedServer() as server, _opened(asked.stores, evalset, path.stem, server) as engine:
            found = [
                _shown(engine, server, evalset, question, given)
                for question in evalset.questions[: asked.limit]
            ]
        answers = [one.answer for one in found if one.answer is not None]
        rows.append(
            [
                path.stem,
                str(len(found)),
                f"{mean([one.gold for one in found]):.3f}",
                f"{mean(answers):.3f}",
                f"{mean([one.tokens for one in found]):,.0f}",
            ]
        )
        print(rows[-1], flush=True)
    print("\n## What the model is shown first\n")
    table(("set", "questions", "all gold passages", "the answer", "tokens of the prompt"), rows)
    return 0


@contextmanager
def _opened(folder: Path | None, evalset: EvalSet, name: str, server: ScriptedServer) -> Iterator[Engine]:
    place = Path(tempfile.mkdtemp()) if folder is None else folder
    model = {"llm.model": "openai/scripted", "llm.api_base": server.base_url, "llm.api_key": "scripted"}
    config = load_settings(overrides={**model, "extract.use": "rules", "trace.detail": "summary"}).settings
    try:
        known = (place / name).exists()
        with Engine.open(place / name, config=config) as engine:
            if not known:
                ingest_corpus(engine, evalset)
            yield engine
    finally:
        if folder is None:
            shutil.rmtree(place)


def _shown(
    engine: Engine, server: ScriptedServer, evalset: EvalSet, question: Question, settings: Mapping[str, str]
) -> Shown:
    server.reset()
    server.answer_with(lambda _: "NO ANSWER")
    for _ in engine.ask(
        question.q, settings={"grounding.use": "rules", **settings}, cache=False, stored=False
    ):
        pass
    prompts = [one.prompt for one in server.requests if _EVIDENCE.search(one.prompt)]
    if not prompts:
        return Shown(0.0, 0.0, 0)
    found = _EVIDENCE.search(prompts[0])
    assert found is not None
    lines = [match[1] for line in found[1].splitlines() if (match := _LINE.match(line))]
    texts = [" ".join(evalset.corpus[index].text.split()) for index in question.gold]
    bare = {one for line in lines for one in (line, _SPEAKER.sub("", line))}
    gold = all(any(len(line) > 15 and line in text for line in bare) for text in texts)
    known = bool(question.answers) and not yes_or_no(question.answers)
    answer = contained(lines, question.answers, words=True) if known else None
    return Shown(float(gold), answer, count_tokens(prompts[0]))


if __name__ == "__main__":
    sys.exit(main())
