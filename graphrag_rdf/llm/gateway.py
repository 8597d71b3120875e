"""The one way to a model: litellm, with our own retries, limits, cache, budget and log around it."""

from __future__ import annotations

import base64
import contextlib
import functools
import hashlib
import json
import math
import threading
import time
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import urlsplit

from graphrag_rdf.errors import LlmError
from graphrag_rdf.i18n import later, tr
from graphrag_rdf.llm.budget import Budget, LlmUsage, RateLimiter
from graphrag_rdf.llm.cache import EMBEDDING, ResponseCache
from graphrag_rdf.llm.calls import Asked, Take, Told, marked_messages, raw_output, told_tokens, written_call
from graphrag_rdf.llm.failures import (
    RetryPolicy,
    Target,
    call_with_retries,
    explain,
    failure,
    left,
    retry_after,
)
from graphrag_rdf.llm.library import has_price, litellm_for, price_of
from graphrag_rdf.llm.model import (
    CHARS_PER_TOKEN,
    Completion,
    LlmSettings,
    Message,
    encodable,
    starts_inside,
)
from graphrag_rdf.llm.servers import Servers
from graphrag_rdf.llm.stream import ChatStream, OpenStream

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

T = TypeVar("T")

EMBED_BATCH = 96
"""Texts in one embedding request: the least that a provider of litellm's allows."""
EMBED_BATCH_CHARS = 200_000
"""Characters in one embedding request."""
ASKED_TOGETHER = "[Asked in one call with other prompts. Alone, this one reads:]"
"""First line of a kept prompt whose answer is a part of a longer one."""

_NOT_SET = {
    "model": later("no model is set"),
    "embedding model": later("no embedding model is set"),
    "rerank model": later("no rerank model is set"),
}


class LlmGateway:
    """Chat, streams, embeddings and reranking, for calls from any thread.

    Args:
        settings: models, servers and limits.
        cache: answers of chat calls, and vectors of texts; None to ask each time.
        budget: limit of usage; None for none.
        servers: known properties of servers, shared with other gateways; None to learn them again.
        sleep: how to wait before a retry and for a free place, seconds.
    """

    def __init__(
        self,
        settings: LlmSettings,
        *,
        cache: ResponseCache | None = None,
        budget: Budget | None = None,
        servers: Servers | None = None,
        sleep: Callable[[float], object] = time.sleep,
    ) -> None:
        self.settings = settings
        self.budget = budget or Budget()
        self._cache = cache
        self._servers = servers or Servers(cache)
        self._sleep = sleep
        self._policy = RetryPolicy(settings.max_retries, settings.backoff_base, settings.backoff_cap)
        self._limiter = RateLimiter(settings.requests_per_minute, settings.tokens_per_minute, sleep=sleep)
        self._places: contextlib.AbstractContextManager[Any] = (
            threading.BoundedSemaphore(settings.jobs) if settings.jobs else contextlib.nullcontext()
        )

    @property
    def usage(self) -> LlmUsage:
        """Totals of all calls so far."""
        return self.budget.usage

    def chat(
        self,
        messages: Sequence[Message],
        *,
        purpose: str,
        json_mode: bool = False,
        max_tokens: int | None = None,
        model: str | None = None,
        use_cache: bool = True,
        since: float | None = None,
        shared: int = 0,
        functions: Sequence[Mapping[str, Any]] = (),
        deadline: float = math.inf,
        answers: int = 1,
    ) -> Completion:
        """Ask for a complete answer.

        Args:
            messages: the prompt.
            purpose: such as `extract`; it may have a temperature of its own.
            json_mode: ask for JSON, in the way that the server accepts, if it has one.
            max_tokens, model: None for what the settings say.
            use_cache: False to ask again; the new answer is kept in place of the old.
            since: when the texts were read, by `time.monotonic`; None for now. Nothing is kept if texts were
                erased from the cache later.
            shared: characters at the beginning of the first message that other calls begin with too; a
                provider that caches only marked text gets a mark there.
            functions: that the model may call, in the form of OpenAI's `tools`. A call is in the text of the
                answer, as `calls.written_call` writes it.
            deadline: when to give up, by `time.monotonic`, whatever the settings allow.
            answers: how many the answer contains. It has as many times the time; `keep_part` keeps each, and
                nothing is kept of the whole.

        Raises:
            LlmError: the call failed, for good or too often; the budget is used up, or the deadline is over.
        """
        asked = self._asked(
            messages, purpose, model, json_mode, max_tokens, since, shared, functions, deadline, answers
        )
        return (self._kept(asked) if use_cache else None) or self._ask(asked)

    def kept(
        self,
        messages: Sequence[Message],
        *,
        purpose: str,
        json_mode: bool = False,
        model: str | None = None,
    ) -> Completion | None:
        """The answer that `chat` would take from the cache; None if it would ask."""
        return self._kept(self._asked(messages, purpose, model, json_mode))

    def keep_part(
        self,
        part: Completion,
        messages: Sequence[Message],
        *,
        purpose: str,
        json_mode: bool = False,
        since: float | None = None,
    ) -> Completion:
        """Keep a part of an answer to several prompts as the answer to one of them.

        Args:
            part: its text, model and share of the tokens.
            messages, purpose, json_mode: with which the prompt would have been asked alone.
            since: see `chat`.

        Returns:
            the part, with the hash of its own prompt.
        """
        asked = self._asked(messages, purpose, part.model, json_mode, since=since)
        completion = replace(part, prompt_hash=asked.hash)
        self._keep(asked, completion, f"{ASKED_TOGETHER}\n{asked.prompt}")
        return completion

    def stream(
        self,
        messages: Sequence[Message],
        *,
        purpose: str,
        since: float | None = None,
        deadline: float = math.inf,
    ) -> ChatStream:
        """Ask for an answer piece by piece; arguments and errors are those of `chat`.

        A broken stream is requested again only if no piece of it was returned. An answer from
        the cache comes in one piece.
        """
        asked = self._asked(messages, purpose, since=since, deadline=deadline)
        return ChatStream(lambda finish: self._pieces(asked, finish))

    def embed(self, texts: Sequence[str], model: str | None = None) -> NDArray[np.float32]:
        """Vectors of texts, as the model gives them.

        Args:
            texts: any number; sent in batches.
            model: None for the one in the settings.

        Returns:
            float32, shape [texts, dimension]; [0, 0] without texts.

        Raises:
            LlmError: a call failed, or the answer does not have a vector for each text.
        """
        import numpy as np

        name = self._model(model or self.settings.embedding_model, "embedding model")
        if not texts:
            return np.empty((0, 0), np.float32)
        unique = list(dict.fromkeys(texts))
        rows = self._kept_vectors(unique, name)
        for batch in _batches([text for text in unique if text not in rows]):
            vectors = dict(zip(batch, self._embed_batch(batch, name), strict=True))
            self._keep_vectors(vectors, name)
            rows |= vectors
        if len({len(row) for row in rows.values()}) != 1:
            raise failure("server", tr("vectors differ in length"), self._target(name))
        return np.stack([rows[text] for text in texts])

    def rerank(self, query: str, documents: Sequence[str], model: str | None = None) -> list[float]:
        """Score how well each document answers the query.

        Args:
            query: the question.
            documents: any number of texts.
            model: None for the one in the settings.

        Returns:
            a score for each document, in the order given; the scale is the model's.

        Raises:
            LlmError: the call failed, or the answer does not have a score for each document.
        """
        name = self._model(model or self.settings.rerank_model, "rerank model")
        if not documents:
            return []
        litellm = litellm_for(name)
        connection = self._connection()
        if self.settings.rerank_api_base is not None:  # another server with another key
            connection |= {"api_base": self.settings.rerank_api_base, "api_key": None}

        def send() -> Any:
            return litellm.rerank(
                model=name,
                query=encodable(query),
                documents=[*map(encodable, documents)],
                top_n=len(documents),
                **connection,
            )

        size = (len(query) * len(documents) + sum(map(len, documents))) // CHARS_PER_TOKEN
        target = replace(self._target(name), api_base=connection["api_base"])
        answer = self._counted(send, target, size)
        scores = {int(entry["index"]): float(entry["relevance_score"]) for entry in answer.results or ()}
        if sorted(scores) != list(range(len(documents))):
            raise failure(
                "server",
                tr("{count} scores for {documents} documents").format(
                    count=len(scores), documents=len(documents)
                ),
                target,
            )
        return [scores[index] for index in range(len(documents))]

    def calls_tools(self) -> bool:
        """Whether the model is known to call functions."""
        name = self._model(self.settings.model, "model")
        return bool(litellm_for(name).supports_function_calling(model=name))

    def discard(self, completion: Completion) -> None:
        """Remove a useless answer from the cache."""
        if self._cache is not None:
            self._cache.discard(self._cache_key(completion.prompt_hash))

    def kept_texts(self, prompt_hash: str) -> tuple[str, str] | None:
        """The texts of a prompt and the answer to it, if the cache keeps them.

        Args:
            prompt_hash: see `Completion.prompt_hash`.
        """
        entry = self._cache.entry(self._cache_key(prompt_hash)) if self._cache is not None else None
        return (entry[0], str(json.loads(entry[1])["text"])) if entry else None

    # --- chat -------------------------------------------------------------------------------------------

    def _asked(
        self,
        messages: Sequence[Message],
        purpose: str,
        model: str | None = None,
        json_mode: bool = False,
        max_tokens: int | None = None,
        since: float | None = None,
        shared: int = 0,
        functions: Sequence[Mapping[str, Any]] = (),
        deadline: float = math.inf,
        answers: int = 1,
    ) -> Asked:
        settings = self.settings
        parameters: dict[str, Any] = {
            "temperature": settings.temperatures.get(purpose, settings.temperature),
            "max_tokens": settings.max_tokens if max_tokens is None else max_tokens,
            "seed": settings.seed,
            "response_format": {"type": "json_object"} if json_mode else None,
            "tools": list(functions) or None,
        }
        return Asked(
            self._model(model or settings.model, "model"),
            tuple(messages),
            {name: value for name, value in parameters.items() if value is not None},
            time.monotonic() if since is None else since,
            shared,
            deadline,
            answers,
        )

    def _kept(self, asked: Asked) -> Completion | None:
        kept = self._cache.get(self._cache_key(asked.hash)) if self._cache is not None else None
        if kept is None:
            return None
        answer = json.loads(kept)
        completion = Completion(
            answer["text"],
            asked.model,
            answer["in_tokens"],
            answer["out_tokens"],
            cost_usd=0.0,
            cached=True,
            finish_reason=answer["finish_reason"],
            seconds=time.monotonic() - asked.clock,
            attempts=0,
            prompt_hash=asked.hash,
        )
        self.budget.count_cached()
        return completion

    def _ask(self, asked: Asked) -> Completion:
        litellm = litellm_for(asked.model)
        target = self._target(asked.model)

        def send(attempt: int, options: dict[str, Any]) -> Completion:
            with self._reserved(asked) as take:
                answer = litellm.completion(**self._arguments(asked), **options)
                choice = answer.choices[0] if answer.choices else None
                if choice is None:
                    raise failure("server", tr("an answer without choices"), target)
                message = choice.message
                fields = getattr(message, "provider_specific_fields", None) or {}
                content = message.content if message.content is not None else fields.get("refusal")
                content = written_call(content, getattr(message, "tool_calls", None))
                thinking = getattr(message, "reasoning_content", None)
                raw = raw_output(content, thinking, choice.finish_reason, target)
                tokens = told_tokens(getattr(answer, "usage", None))
                cost = _cost_of(answer, target, tokens)
                take(tokens, cost)
            return asked.completion(raw, choice.finish_reason, tokens, cost, attempt)

        option = "response_format" if "response_format" in asked.parameters else None
        completion = self._with_retries(asked, option, send)
        self._note_thinking(completion)
        if asked.answers == 1:
            self._keep(asked, completion)
        return completion

    def _pieces(self, asked: Asked, finish: Callable[[Completion], None]) -> Generator[str, None, None]:
        kept = self._kept(asked)
        if kept is not None:
            finish(kept)
            if kept.text:
                yield kept.text
            return
        stream = self._with_retries(asked, "stream_options", functools.partial(self._open, asked))
        yield from stream
        completion = asked.completion(
            stream.raw, stream.finish_reason, stream.tokens, stream.cost_usd, stream.attempt
        )
        self._note_thinking(completion)
        self._keep(asked, completion)
        finish(completion)

    def _open(self, asked: Asked, attempt: int, options: dict[str, Any]) -> OpenStream:
        litellm = litellm_for(asked.model)
        target = self._target(asked.model)
        return OpenStream(
            self._reserved(asked),
            lambda: litellm.completion(**self._arguments(asked), **options, stream=True),
            functools.partial(price_of, asked.model),
            target,
            attempt,
            inside=self._servers.get(target, "thinking") == "unopened",
        )

    def _note_thinking(self, completion: Completion) -> None:
        """Some servers put the opening tag of the thinking into the prompt: streams need to know."""
        if starts_inside(completion.raw):
            self._servers.learn(self._target(completion.model), "thinking", "unopened")

    def _arguments(self, asked: Asked) -> dict[str, Any]:
        """Arguments for litellm, without the options that servers may refuse."""
        parameters = {name: value for name, value in asked.parameters.items() if name != "response_format"}
        return {
            "model": asked.model,
            "messages": marked_messages(asked, self._target(asked.model)),
            # a parameter that a model does not take is left out, not an error
            "drop_params": True,
            "no-log": True,
            # else litellm looks for tools of its own MCP gateway, which needs the package mcp
            **({"_skip_mcp_handler": True} if "tools" in parameters else {}),
            **parameters,
            **self._connection(),
            "timeout": min(float(self.settings.timeout) * asked.answers, left(asked.deadline)),
        }

    def _keep(self, asked: Asked, completion: Completion, prompt: str | None = None) -> None:
        if self._cache is None or completion.truncated:
            return
        answer = {
            "text": completion.raw,
            "in_tokens": completion.in_tokens,
            "out_tokens": completion.out_tokens,
            "finish_reason": completion.finish_reason,
        }
        kept = json.dumps(answer, ensure_ascii=False)
        self._cache.put(self._cache_key(asked.hash), prompt or asked.prompt, kept, since=asked.since)

    def _cache_key(self, hashed: str) -> str:
        return hashlib.sha256(f"{hashed}\n{self.settings.api_base or ''}".encode()).hexdigest()

    # --- embeddings -------------------------------------------------------------------------------------

    def _vector_key(self, text: str, model: str) -> str:
        hashed = hashlib.sha256(encodable(f"{model}\n{self.settings.api_base or ''}\n{text}").encode())
        return EMBEDDING + hashed.hexdigest()

    def _kept_vectors(self, texts: Sequence[str], model: str) -> dict[str, NDArray[np.float32]]:
        """The vectors that the cache has, by text."""
        rows: dict[str, NDArray[np.float32]] = {}
        if self._cache is not None:
            for batch in _batches(texts):
                keys = {self._vector_key(text, model): text for text in batch}
                kept = self._cache.get_many(list(keys))
                rows |= {keys[key]: _vector(packed) for key, packed in kept.items()}
        return rows

    def _keep_vectors(self, rows: Mapping[str, NDArray[np.float32]], model: str) -> None:
        if self._cache is not None:
            self._cache.put_many(
                (self._vector_key(text, model), text, base64.b64encode(row.astype("<f4").tobytes()).decode())
                for text, row in rows.items()
            )

    def _embed_batch(self, batch: list[str], model: str) -> NDArray[np.float32]:
        import numpy as np

        litellm = litellm_for(model)

        def send() -> Any:
            return litellm.embedding(
                model=model,
                input=[*map(encodable, batch)],
                encoding_format=encoding,
                drop_params=True,
                **self._connection(),
            )

        target = self._target(model)
        # as the OpenAI client asks by default: reading numbers as text takes many times the CPU
        encoding = "base64" if target.provider == "openai" else "float"
        answer = self._counted(send, target, sum(map(len, batch)) // CHARS_PER_TOKEN)
        data = sorted(answer.data or (), key=lambda entry: entry["index"])
        if len(data) != len(batch):
            raise failure(
                "server",
                tr("{count} vectors for {texts} texts").format(count=len(data), texts=len(batch)),
                target,
            )
        try:
            return np.stack([_vector(vector["embedding"]) for vector in data])
        except ValueError as error:
            raise failure("server", tr("vectors differ in length"), target) from error

    def _counted(self, send: Callable[[], T], target: Target, size: int) -> T:
        """Send an embedding or rerank request, within limits and budget."""

        def attempt(_: int) -> T:
            with self._spending(target, size) as take:
                answer = send()
                tokens = Told(told_tokens(getattr(answer, "usage", None)).read)
                take(tokens, _cost_of(answer, target, tokens))
                return answer

        return self._retried(attempt)

    # --- what all calls share ---------------------------------------------------------------------------

    def _model(self, name: str | None, setting: str) -> str:
        if not name or name == "none":
            raise LlmError(
                tr(_NOT_SET[setting]),
                "model",
                tr("name one, for instance with --{name}").format(name=setting.replace(" ", "-")),
            )
        return name

    def _target(self, model: str) -> Target:
        password = urlsplit(self.settings.api_base or "").password
        return Target(model, self.settings.api_base, tuple(filter(None, (self._key(), password))))

    def _key(self) -> str | None:
        return self.settings.api_key.get_secret_value() if self.settings.api_key is not None else None

    def _connection(self) -> dict[str, Any]:
        return {
            "api_base": self.settings.api_base,
            "api_key": self._key(),
            "timeout": float(self.settings.timeout),
            "max_retries": 0,  # of the provider's own client; num_retries are litellm's
            "num_retries": 0,
        }

    def _reserved(self, asked: Asked) -> contextlib.AbstractContextManager[Take]:
        return self._spending(self._target(asked.model), asked.size, asked.parameters.get("max_tokens", 0))

    @contextlib.contextmanager
    def _spending(self, target: Target, in_tokens: int, out_tokens: int = 0) -> Iterator[Take]:
        """A place, a slot and a share of the budget for an attempt. Exceptions leave as LlmError."""
        cost = self._expected_cost(target.model, in_tokens, out_tokens)
        with self._places:
            reserved = self.budget.reserve(in_tokens + out_tokens, cost)
            taken = Take(self.budget, reserved)
            try:
                taken.slot = self._limiter.acquire(in_tokens + out_tokens)
                yield taken
            except Exception as error:
                raise explain(error, target) from error
            finally:
                taken.close()

    def price(self, in_tokens: int, out_tokens: int) -> float | None:
        """Cost in USD of so many tokens of the model; None if its price is unknown."""
        return price_of(self._model(self.settings.model, "model"), in_tokens, out_tokens)

    def _expected_cost(self, model: str, in_tokens: int, out_tokens: int) -> float:
        if self.budget.max_cost_usd is None:
            return 0.0
        cost = price_of(model, in_tokens, out_tokens)
        if cost is None:
            raise LlmError(
                tr("the price of {model} is not known, so a cost limit cannot be enforced").format(
                    model=model
                ),
                "budget",
                tr("set a limit of tokens instead"),
            )
        return cost

    def _with_retries(self, asked: Asked, option: str | None, send: Callable[[int, dict[str, Any]], T]) -> T:
        def call(options: dict[str, Any]) -> T:
            return self._retried(lambda attempt: send(attempt, options), asked.deadline)

        if option is None:
            return call({})
        return self._servers.accepted(self._target(asked.model), option, call)

    def _retried(self, send: Callable[[int], T], deadline: float = math.inf) -> T:
        def attempt(number: int) -> T:
            try:
                left(deadline)
                return send(number)
            except LlmError:
                left(deadline)
                raise

        def sleep(seconds: float) -> None:
            self._sleep(min(seconds, left(deadline)))

        return call_with_retries(attempt, self._policy, retry_after, sleep=sleep)


def _cost_of(answer: Any, target: Target, tokens: Told) -> float | None:
    """Cost in USD as litellm computed it, None if the price or the tokens are not known."""
    hidden = getattr(answer, "_hidden_params", None) or {}
    return hidden.get("response_cost") if tokens.read is not None and has_price(target.model) else None


def _vector(embedding: str | list[float]) -> NDArray[np.float32]:
    """A vector as numbers, or as base64 of little-endian floats (what the OpenAI API calls base64)."""
    import numpy as np

    if isinstance(embedding, str):
        return np.frombuffer(base64.b64decode(embedding), "<f4")
    return np.array(embedding, np.float32)


def _batches(texts: Sequence[str]) -> Iterator[list[str]]:
    batch: list[str] = []
    size = 0
    for text in texts:
        if batch and (len(batch) == EMBED_BATCH or size + len(text) > EMBED_BATCH_CHARS):
            yield batch
            batch, size = [], 0
        batch.append(text)
        size += len(text)
    if batch:
        yield batch
