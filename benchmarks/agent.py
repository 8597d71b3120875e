"""What an iteration of an agent costs beside the model: thinking, a look-up of an entity, and their trace.

The scripted model answers at once, in a process of its own. The CPU time of runs with one and with several
iterations gives that of one; what the client of the model takes is measured apart and taken off.
"""

from __future__ import annotations

import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from benchmarks.common import ROOT, Figure, cpu_seconds, show
from graphrag_rdf.config import LlmSection, Settings
from graphrag_rdf.engine import Engine
from graphrag_rdf.llm.gateway import LlmGateway
from tests.support.scripted_server import Request, ScriptedServer

_FEW, _MANY = 1, 8  # uses of a tool in a run; the limit of the pipeline is ten rounds
_RUNS = 12
_ASKED = re.compile(r"look up (\d+) things")
_LOOK_UP = 'Thought: It has to be looked up.\nAction: entity-lookup\nArgs: {"name": "Petrel"}'


def main() -> int:
    """Measure, or with `serve` be the model."""
    if sys.argv[1:] == ["serve"]:
        return _serve()
    with tempfile.TemporaryDirectory() as place, _model() as address:
        with Engine.open(Path(place), config=Settings(store=place)) as engine:
            engine.ingest([ROOT / "examples" / "documents"])
        llm = LlmSection(model="openai/scripted", api_base=address, api_key="none")  # type: ignore[arg-type]
        with Engine.open(Path(place), config=Settings(store=place, llm=llm)) as engine:
            _measure(engine)
    return 0


def _measure(engine: Engine) -> None:
    client: list[float] = []
    _time_calls(client)
    own: dict[int, list[float]] = {_FEW: [], _MANY: []}
    calls: list[float] = []
    for number in range(-1, _RUNS):
        for uses, spent in own.items():
            client.clear()
            before = cpu_seconds()
            answer = list(engine.ask(f"Run {number}: look up {uses} things", "agent_react"))[-1].answer
            used = cpu_seconds() - before
            if answer is None or len(client) != uses + 1:
                raise SystemExit(f"the agent made {len(client)} calls instead of {uses + 1}")
            seen = [step.values for step in engine.traces["last"].steps if step.kind == "observation"]
            if len(seen) != uses or any(values["error"] for values in seen):
                raise SystemExit(f"the agent saw {seen[-1:]}")
            if number >= 0:  # the one before loads what is loaded once
                spent.append((used - sum(client)) * 1000)
                calls += [each * 1000 for each in client]
    each = (statistics.median(own[_MANY]) - statistics.median(own[_FEW])) / (_MANY - _FEW)
    call = statistics.median(calls)
    beside = f"{each / call:.1f} × the client's part of a call ({call:.1f} ms)"
    show("Agents", [Figure("an iteration without the call, CPU", f"{each:.1f} ms", "≤ 15 ms", beside)])


def _time_calls(spent: list[float]) -> None:
    """Note the CPU seconds of each call to the model, in this thread."""
    chat = LlmGateway.chat

    def timed(gateway: LlmGateway, *messages: Any, **options: Any) -> Any:
        before = time.thread_time()
        try:
            return chat(gateway, *messages, **options)
        finally:
            spent.append(time.thread_time() - before)

    LlmGateway.chat = timed  # type: ignore[method-assign,assignment]


# --- the model ----------------------------------------------------------------------------------------


@contextmanager
def _model() -> Iterator[str]:
    """The address of the scripted model, which runs as long as the block."""
    command = [sys.executable, "-m", "benchmarks.agent", "serve"]
    with subprocess.Popen(
        command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdin is not None and process.stdout is not None  # noqa: PT018 - pipes
        yield process.stdout.readline().strip()
        process.stdin.close()


def _serve() -> int:
    with ScriptedServer() as server:
        server.answer_with(_reply)
        print(server.base_url, flush=True)
        sys.stdin.read()
    return 0


def _reply(request: Request) -> str:
    """A look-up, as often as the question says, then the answer."""
    asked = _ASKED.search(request.prompt)
    seen = request.prompt.count("<observation>")
    return _LOOK_UP if asked and seen < int(asked[1]) else "Thought: Enough.\nFinal Answer: It is a ship."


if __name__ == "__main__":
    sys.exit(main())
