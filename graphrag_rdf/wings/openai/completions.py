"""Answers as objects of Chat Completions: a whole one, or the chunks of a stream."""

from __future__ import annotations

import json
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from graphrag_rdf.errors import GraphRagError
from graphrag_rdf.i18n import bracketed, tr
from graphrag_rdf.rdf import iris
from graphrag_rdf.server.http.events import ALIVE
from graphrag_rdf.server.http.problems import Problem, problem_of
from graphrag_rdf.server.pages.lists import links_of
from graphrag_rdf.server.routes.ask import failed
from graphrag_rdf.server.routes.conversation import quotes_of
from graphrag_rdf.server.service import Service
from graphrag_rdf.trace.citations import MARKER
from graphrag_rdf.trace.lines import one_line
from graphrag_rdf.trace.messages import GraphRagResponse, doubts

_TYPES = {
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    429: "rate_limit_error",
}
"""Status → type of an error; other ones are the client's or the server's fault."""


def error_object(problem: Problem) -> dict[str, Any]:
    """A problem as an error of OpenAI's API."""
    usual = "server_error" if problem.status >= 500 else "invalid_request_error"
    hint = problem.more.get("hint") or problem.more.get("error", {}).get("hint")
    return {
        "error": {
            "message": problem.detail + (bracketed(hint) if hint else ""),
            "type": _TYPES.get(problem.status, usual),
            "param": None,
            "code": problem.more.get("code"),
        }
    }


@dataclass(frozen=True, slots=True)
class Link:
    """A source of a citation.

    Attributes:
        title: of the document, with the page.
        url: of the cited characters.
    """

    title: str
    url: str

    def __str__(self) -> str:
        title = one_line(self.title).replace("\\", "\\\\").replace("[", "\\[").replace("]", "\\]")
        return f"[{title}]({self.url})"


@dataclass
class Completion:
    """An answer on its way to a client.

    Attributes:
        site: the address of this server's pages.
        model: the pipeline.
        trace: the UUID of the trace.
        sent: the text so far, of a stream.
    """

    service: Service
    site: str
    model: str
    trace: str = ""
    sent: str = ""
    created: int = field(default_factory=lambda: int(time.time()))

    def whole(self, answer: dict[str, Any]) -> dict[str, Any]:
        """The answer as one object.

        Args:
            answer: as `ask --format json`.
        """
        self.trace = iris.uuid_in(answer["question_iri"]) or ""
        links = self._links(answer)
        message = {
            "role": "assistant",
            "content": answer["answer"] + self._list_of_links(answer, links),
            "refusal": None,
            "annotations": citations_in(answer["answer"], links),
        }
        choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": _reason(answer)}
        return {**self._head("chat.completion"), "choices": [choice], **_usage(answer)}

    async def chunks(
        self, messages: AsyncIterator[GraphRagResponse | None], *, with_usage: bool
    ) -> AsyncIterator[str]:
        """The messages of a run as events.

        Args:
            with_usage: end with a chunk that counts tokens.
        """
        try:
            async for message in messages:
                if message is None:
                    yield ALIVE
                elif not self.trace:
                    self.trace = iris.uuid_in(message.explain_id or "") or ""
                    yield self._chunk({"role": "assistant", "content": ""})
                elif message.kind == "answer" and message.response:
                    self.sent += message.response
                    yield self._chunk({"content": message.response})
                elif message.end_of_session:
                    if message.answer is None:
                        raise failed(message, self.service)
                    for chunk in self._last(message.answer, with_usage=with_usage):
                        yield chunk
        except Problem as problem:
            yield _event(error_object(problem))
        except GraphRagError as error:
            yield _event(error_object(problem_of(error)))

    def _last(self, answer: dict[str, Any], *, with_usage: bool) -> list[str]:
        links = self._links(answer)
        text = self.sent or answer["answer"]
        rest = (answer["answer"] if not self.sent else "") + self._list_of_links(answer, links)
        chunks = [
            self._chunk({"content": rest, "annotations": citations_in(text, links)}),
            self._chunk({}, _reason(answer)),
        ]
        if with_usage and (usage := _usage(answer)):
            chunks.append(_event({**self._head("chat.completion.chunk"), "choices": [], **usage}))
        return [*chunks, "data: [DONE]\n\n"]

    def _head(self, kind: str) -> dict[str, Any]:
        return {
            "id": f"chatcmpl-{self.trace}",
            "object": kind,
            "created": self.created,
            "model": self.model,
        }

    def _chunk(self, delta: Mapping[str, Any], finish_reason: str | None = None) -> str:
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish_reason}
        return _event({**self._head("chat.completion.chunk"), "choices": [choice]})

    def _links(self, answer: dict[str, Any]) -> dict[str, list[Link]]:
        """Marker → links to the first of its sources."""
        links: dict[str, list[Link]] = {}
        for quoted in quotes_of(links_of(self.service), answer):
            for source in quoted["shown"]:
                title, page = source["name"], source["page_number"]
                if page:
                    title = tr("{title}, page {page}").format(title=title, page=page)
                if source["address"]:
                    links.setdefault(quoted["marker"], []).append(Link(title, self.site + source["address"]))
        return links

    def _list_of_links(self, answer: Mapping[str, Any], links: Mapping[str, Sequence[Link]]) -> str:
        """What follows the text of an answer: doubts, its sources, and its trace if that is stored."""
        lines = [f"- {marker} {', '.join(dict.fromkeys(map(str, own)))}" for marker, own in links.items()]
        parts = doubts(answer) + (["\n".join([tr("Sources:"), "", *lines])] if lines else [])
        if not any(warning["type"] == "trace_not_stored" for warning in answer["warnings"]):
            parts.append(str(Link(tr("How this answer was found"), f"{self.site}/traces/{self.trace}")))
        return "".join(f"\n\n{part}" for part in parts)


def citations_in(text: str, links: Mapping[str, Sequence[Link]]) -> list[dict[str, Any]]:
    """The citations in a text, each with its first source.

    Args:
        links: marker → its sources.
    """
    return [
        {
            "type": "url_citation",
            "url_citation": {
                "start_index": match.start(),
                "end_index": match.end(),
                "title": links[match[0]][0].title,
                "url": links[match[0]][0].url,
            },
        }
        for match in MARKER.finditer(text)
        if match[0] in links
    ]


def _reason(answer: Mapping[str, Any]) -> str:
    truncated = any(warning["type"] == "answer_truncated" for warning in answer["warnings"])
    return "length" if truncated else "stop"


def _usage(answer: Mapping[str, Any]) -> dict[str, Any]:
    """The tokens of all calls of models, if known; without a call there are none."""
    usage = answer["usage"]
    sent, received = usage["in_tokens"], usage["out_tokens"]
    if usage["llm_calls"] and (sent is None or received is None):
        return {}
    sent, received = sent or 0, received or 0
    counts = {"prompt_tokens": sent, "completion_tokens": received, "total_tokens": sent + received}
    return {"usage": counts}


def _event(data: Mapping[str, Any]) -> str:
    return f"data: {json.dumps(data, ensure_ascii=False)}\n\n"
