"""Questions, documents and decisions for a server over HTTP; answers are those of a local store."""

from __future__ import annotations

import math
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, urlencode

from graphrag_rdf.client.connection import Connection, ServerError, encoded
from graphrag_rdf.client.formats import events, form_of, read_token
from graphrag_rdf.i18n import tr
from graphrag_rdf.trace.messages import GraphRagResponse

PARAMETERS: Mapping[str, str] = {
    "exploration.entity_limit": "entity_limit",
    "exploration.triple_limit": "triple_limit",
    "exploration.max_path_length": "max_path_length",
    "exploration.edge_limit": "edge_limit",
    "exploration.since": "from",
    "exploration.until": "to",
    "exploration.valid": "valid",
    "exploration.dates": "dates",
    "synthesis.max_sentences": "max_sentences",
    "synthesis.suggestions": "suggestions",
    "synthesis.allow_general_knowledge": "allow_general_knowledge",
    "synthesis.citation_style": "citation_style",
}
"""Parameter of a step, or setting, → its name in a question over HTTP. Clients may set no others."""

_TERMS = ("subject", "predicate", "object")
_AT_ONCE = 1000
"""Items of one request; a server returns no more."""
_PATIENCE = 1800.0
"""Seconds to wait for questions that are asked again: the server is silent meanwhile."""


@dataclass(frozen=True, slots=True)
class Question:
    """A question over HTTP.

    Attributes:
        session: the earlier session that this question continues.
        parameters: see `PARAMETERS`, by their names over HTTP.
    """

    question: str
    pipeline: str = "graph_rag"
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    session: str | None = None
    parameters: Mapping[str, int | str] | None = None

    def as_json(self) -> dict[str, Any]:
        """The body of `POST /ask`."""
        out: dict[str, Any] = {
            "question": self.question,
            "pipeline": self.pipeline,
            **(self.parameters or {}),
        }
        optional = {"include": list(self.include), "exclude": list(self.exclude), "session": self.session}
        return out | {name: value for name, value in optional.items() if value}


class Client(Connection):
    """A server by its address; see `Connection`."""

    def ask(self, question: Question) -> Generator[GraphRagResponse, None, None]:
        """The messages of a run. Closing the iterator disconnects, which cancels the run.

        Raises:
            ServerError: the server cannot be reached, is not a graphrag-rdf server, refuses, or breaks off.
        """
        ended, seen = False, 0
        with self._answer("POST", "/ask", "text/event-stream", encoded(question.as_json())) as response:
            for data in self._events(response):
                message = self._message(data)
                seen, ended = seen + 1, message.end_of_session
                yield message
            if not ended:
                raise self._cut(seen)

    def retrieve(self, question: Question, k: int = 10, *, trace: bool = False) -> dict[str, Any]:
        """Rank chunks and facts for a question, as `retrieve --format json`.

        Args:
            k: number of chunks, and of facts.
            trace: store a trace.

        Raises:
            UsageError: the server rejects the request.
            ServerError: as `ask`.
        """
        traced = {"trace": True} if trace else {}  # earlier servers reject it
        return self._json("POST", "/retrieve", {**question.as_json(), "k": k, **traced}, holds="results")

    def session_named(self, name: str) -> str:
        """The session of a trace by the name, or a part of it, or `last`.

        Raises:
            ServerError: as `ask`.
            UsageError: there is no such trace.
        """
        iri: str = self._json("GET", f"/traces/{quote(name, safe='')}", holds="iri")["iri"]
        return iri

    def ingest(
        self,
        documents: Sequence[tuple[str, bytes]],
        progress: Callable[[int, int, str], None],
        *,
        refresh: bool = False,
    ) -> dict[str, Any]:
        """Send documents; the report of the run, as `ingest --format json`. Disconnecting stops the run.

        Args:
            documents: (identity, content).
            progress: called after each chunk.
            refresh: read unchanged documents, too.

        Raises:
            ServerError: as `ask`.
        """
        kind, body = form_of(documents)
        path = "/documents?refresh=true" if refresh else "/documents"
        with self._answer("POST", path, "text/event-stream", body, kind) as response:
            for data in self._events(response):
                message = self._object(data)
                if "done" not in message:
                    return message
                progress(message["done"], message["total"], message["path"])
        raise ServerError(
            tr("{url} broke off: the ingest may not be complete").format(url=self.url),
            hint=tr("send the same documents again to continue"),
        )

    def items(self, path: str, values: Mapping[str, Any], limit: int | None) -> dict[str, Any]:
        """A list of the server, as its command prints it in JSON with `items`, and what else the page has.

        Args:
            path: of the page.
            values: filter → its value.
            limit: items, at most; None for all.

        Raises:
            UsageError: the server rejects a value.
            ServerError: as `ask`.
        """
        texts = {name: str(value).lower() if value is True else value for name, value in values.items()}
        items: list[dict[str, Any]] = []
        while True:
            part = _AT_ONCE if limit is None else min(_AT_ONCE, limit - len(items))
            query = urlencode({**texts, "limit": part, "offset": len(items)})
            answer = self._json("GET", f"{path}?{query}", holds="items")
            items += answer["items"]
            if len(answer["items"]) < part or len(items) >= (limit or math.inf):
                return {**answer, "items": items}

    # --- manual corrections ------------------------------------------------------------------------

    def decide(
        self, fact: tuple[str, str, str], instead: Mapping[str, str | None] | None = None, **how: Any
    ) -> dict[str, Any]:
        """Remove a fact or correct it, as `facts remove|correct --format json`.

        Args:
            fact: three terms or labels.
            instead: the corrected subject, predicate or object.
            how: by, reason, with_sentences, dry_run.

        Raises:
            UsageError: (these methods) the server rejects the request.
            ServerError: (these methods) as `ask`.
        """
        body = {**dict(zip(_TERMS, fact, strict=True)), "instead": instead, **how}
        return self._json("POST", "/facts", body, holds="decisions")

    def undo(self, decisions: Sequence[str], *, dry_run: bool = False) -> dict[str, Any]:
        """Undo decisions, as `facts undo --format json`."""
        return self._undo([("decision", name) for name in decisions], dry_run=dry_run)

    def undo_about(self, fact: tuple[str, str, str], *, dry_run: bool = False) -> dict[str, Any]:
        """Undo the decisions about a fact."""
        return self._undo(zip(_TERMS, fact, strict=True), dry_run=dry_run)

    def _undo(self, named: Iterable[tuple[str, str]], *, dry_run: bool) -> dict[str, Any]:
        parameters = urlencode([*named, ("dry_run", _truth(dry_run))])
        return self._json("DELETE", f"/facts?{parameters}", holds="decisions")

    # --- traces ------------------------------------------------------------------------------------

    def ask_again(self, trace: str, how: str, body: dict[str, Any]) -> dict[str, Any]:
        """Ask the question of a trace again, as `trace replay --format json` or `ask-without`.

        Args:
            how: replay or ask-without.
            body: facts, documents, sources, with_sentences.
        """
        path = f"/traces/{quote(trace, safe='')}/{how}"
        return self._json("POST", path, body, holds="differences", patience=_PATIENCE)

    def freeze(self, key: str) -> tuple[str, int]:
        """Have the server make a frozen copy of its store, for this computer; its name, and its commit.

        Args:
            key: of the store's folder.

        Raises:
            ServerError: as `ask`.
        """
        reply = self._json("POST", "/frozen", {"key": key}, holds="copy")
        return str(reply["copy"]), int(reply["commit"])

    def mark(self, trace: str, mark: Mapping[str, Any]) -> dict[str, Any]:
        """Mark an answer or its evidence; the result, as `feedback --format json`. Raises as `ask`."""
        holds = "taken_back" if mark["rating"] == "none" else "rating"
        return self._json("POST", f"/traces/{quote(trace, safe='')}/feedback", dict(mark), holds=holds)

    def trace_text(self, trace: str) -> str:
        """A trace as text, as `trace show`.

        Raises:
            ServerError: as `ask`.
        """
        return self._text(f"/traces/{quote(trace, safe='')}")


def _truth(value: bool) -> str:
    return "true" if value else "false"


__all__ = ["PARAMETERS", "Client", "Question", "ServerError", "events", "form_of", "read_token"]
