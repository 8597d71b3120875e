"""Requests of Chat Completions: the question in a conversation, and the session that it continues.

A client sends the whole conversation each time, so the server keeps none. Our answers end with a link to
their trace.
"""

from __future__ import annotations

import re
from contextlib import suppress
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from graphrag_rdf.engine import Engine
from graphrag_rdf.errors import UsageError
from graphrag_rdf.i18n import tr
from graphrag_rdf.rdf import iris
from graphrag_rdf.server.http.problems import Problem
from graphrag_rdf.server.http.questions import Name
from graphrag_rdf.trace.catalogue import find_trace

_TRACE = re.compile(r"/traces/([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})")
_COMPARED = 20
"""Answers to the same question that are compared with the client's."""


class _Lenient(BaseModel):
    model_config = ConfigDict(extra="ignore", frozen=True)


class Part(_Lenient):
    """A part of a message."""

    type: str
    text: str = ""


class Message(_Lenient):
    """A message of a conversation."""

    role: str
    content: str | list[Part] | None = Field(default=None, description="a text, or parts of type text")

    @property
    def text(self) -> str:
        """Its text; parts that are not text are left out."""
        if isinstance(self.content, str):
            return self.content.strip()
        return "\n".join(part.text for part in self.content or () if part.type == "text").strip()


class StreamOptions(_Lenient):
    """What a stream holds."""

    include_usage: bool = Field(default=False, description="end with a chunk that counts tokens")


class ChatRequest(_Lenient):
    """The body of `/v1/chat/completions`; other fields of OpenAI's are ignored."""

    model: Name = Field(default="graph_rag", description="a pipeline")
    messages: Annotated[list[Message], Field(min_length=1)]
    stream: bool = False
    stream_options: StreamOptions | None = None

    def question(self) -> str:
        """The text of the user's last message.

        Raises:
            Problem: 400 if there is none, or it has an image or another part that is not text.
        """
        asked = next((message for message in reversed(self.messages) if message.role == "user"), None)
        if asked is None:
            raise Problem(400, tr("there is no message of the role user"))
        if isinstance(asked.content, list):
            for part in asked.content:
                if part.type != "text":
                    message = tr("the message has a part of type {type}: only text can be asked")
                    raise Problem(400, message.format(type=part.type))
        return asked.text

    def session(self, engine: Engine) -> str | None:
        """The UUID of the trace of the last answer before the question; None if there is none.

        The answer links to it. If the client dropped the link, the answer and its question are looked up.
        """
        roles = [message.role for message in self.messages]
        before = self.messages[: len(roles) - 1 - roles[::-1].index("user")]
        spoken = [message for message in before if message.role in ("user", "assistant")]
        if not spoken or spoken[-1].role != "assistant":
            return None
        answer = spoken[-1].text
        if linked := _TRACE.findall(answer):
            with suppress(UsageError):  # deleted meanwhile, or of another server
                return iris.uuid_in(find_trace(engine.store, linked[-1]).value)
        questions = [message.text for message in spoken if message.role == "user"]
        if not questions:
            return None
        for row in engine.store.select("openai/answers-to", question=questions[-1], limit=_COMPARED):
            given = engine.blobs.text(row["stored"])
            if given and answer.startswith(given.strip()):
                return iris.uuid_in(row["session"].value)
        return None
