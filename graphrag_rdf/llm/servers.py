"""Options that servers accept: learned from their answers, and remembered.

Servers refuse different options of the OpenAI interface with HTTP 400: LM Studio knows `json_schema` but not
`json_object`, older servers neither. A refused call is sent again with the next form of the option. The form
that worked is kept in the process and in the cache's file.
"""

from __future__ import annotations

import hashlib
import re
import threading
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from graphrag_rdf.errors import LlmError
from graphrag_rdf.llm.cache import ResponseCache
from graphrag_rdf.llm.failures import Target

T = TypeVar("T")

_FORMS: Mapping[str, Mapping[str, Any]] = {
    "response_format": {
        "json_object": {"type": "json_object"},
        "json_schema": {
            "type": "json_schema",
            "json_schema": {"name": "answer", "schema": {"type": "object"}},
        },
        "none": None,
    },
    "stream_options": {"include_usage": {"include_usage": True}, "none": None},
}
"""The forms of each option, in the order in which they are tried."""
_ABOUT = {
    "response_format": re.compile(r"response.?format|json_object|json_schema|grammar", re.IGNORECASE),
    "stream_options": re.compile(r"stream.?options|include_usage", re.IGNORECASE),
}


class Servers:
    """Known properties of servers and models. Safe with several threads.

    Args:
        cache: where it is kept between runs; None for this process only.
    """

    def __init__(self, cache: ResponseCache | None = None) -> None:
        self._cache = cache
        self._lock = threading.Lock()
        self._known: dict[str, str | None] = {}

    def get(self, target: Target, topic: str) -> str | None:
        """The known value of a topic, or None."""
        key = _key(target, topic)
        with self._lock:
            if key not in self._known:
                self._known[key] = self._cache.learnt(key) if self._cache is not None else None
            return self._known[key]

    def learn(self, target: Target, topic: str, value: str) -> None:
        """Remember it."""
        key = _key(target, topic)
        with self._lock:
            if self._known.get(key) == value:
                return
            self._known[key] = value
        if self._cache is not None:
            self._cache.learn(key, value)

    def accepted(self, target: Target, option: str, call: Callable[[dict[str, Any]], T]) -> T:
        """Call with the form of an option that the server accepts.

        Args:
            option: a key of `_FORMS`.
            call: makes the call, given the option as keyword arguments.

        Raises:
            LlmError: the call failed, or the server refuses it in every form.
        """
        forms = _FORMS[option]
        learned_form = self.get(target, option)
        first = learned_form if learned_form is not None and learned_form in forms else next(iter(forms))

        def attempt(name: str) -> T:
            return call({} if forms[name] is None else {option: forms[name]})

        try:
            result = attempt(first)
        except LlmError as refused:
            named = _ABOUT[option].search(refused.message) is not None
            if not named and (learned_form is not None or refused.kind != "bad_request"):
                raise
            for name in forms:
                if name == first:
                    continue
                try:
                    result = attempt(name)
                except LlmError as error:
                    if error.kind != "bad_request" and not _ABOUT[option].search(error.message):
                        raise
                    continue
                self.learn(target, option, name)
                return result
            raise  # in every form: the server refuses something else
        if learned_form is None:
            self.learn(target, option, first)
        return result


def _key(target: Target, topic: str) -> str:
    return hashlib.sha256(f"{topic}\n{target.model}\n{target.api_base or ''}".encode()).hexdigest()
