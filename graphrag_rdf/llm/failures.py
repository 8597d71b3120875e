"""From exceptions of litellm to messages for people, and when to try a failed call again.

litellm maps several failures to one class (a refused connection and a missing key are both its
InternalServerError), so the kind is read from the whole chain of causes and from the HTTP status. Retries
wait with exponential backoff and full jitter (M. Brooker, "Exponential Backoff and Jitter", AWS Architecture
Blog, 2015), or as long as the server asks for.
"""

from __future__ import annotations

import ast
import email.utils
import json
import os
import random
import re
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import TypeVar

from graphrag_rdf.errors import LlmError, LlmErrorKind, without_credentials
from graphrag_rdf.i18n import later, tr

_STATUS: dict[int, LlmErrorKind] = {
    401: "auth",
    402: "auth",
    403: "auth",
    404: "model",
    408: "timeout",
    429: "rate_limit",
    504: "timeout",
}

_WHAT: dict[LlmErrorKind, str] = {
    "auth": later("{where} does not accept the key for {model}"),
    "model": later("{where} does not have the model {model}"),
    "rate_limit": later("{where} limits how often {model} may be asked"),
    "timeout": later("{model} did not answer in time"),
    "connection": later("the connection to {where} failed for {model}"),
    "server": later("{where} failed on a request for {model}"),
    "bad_request": later("{where} refused the request for {model}"),
}

_HINT: dict[LlmErrorKind, str] = {
    "auth": later("set {key} to a valid key"),
    "model": later("check the name, provider and model, such as openai/gpt-4o-mini or ollama_chat/qwen3"),
    "rate_limit": later(
        "lower the number of jobs, set a limit per minute, or check the quota of the account"
    ),
    "timeout": later("raise the timeout, or use a faster model"),
    "connection": later("check that {server} is running at {where}"),
    "server": later("try again later; if it goes on, check that {where} is the address of a model's API"),
    "bad_request": later(
        "the model may not take prompts as long as this, or of this kind: use another model"
    ),
}

_SECRET_NAME = re.compile(r"(KEY|TOKEN|SECRET|PASSWORD|CREDENTIALS)S?$")
_SECRET_FORM = re.compile(r"\b(?:sk|pk|rk|gsk|xai|hf|AIza)[-_][\w*.\-]{4,}|(?<=Bearer )\S+", re.ASCII)
_LITELLM_PREFIX = re.compile(r"^(?:(?:litellm\.)?\w+(?:Error|Exception|Timeout)\b(?: Error)?\s*[:-]\s*)+")
_LITELLM_ADDS = re.compile(r"\.? Handle with `litellm|\.? Original exception: ")
_ERROR = re.compile(r"\{.*\}", re.DOTALL)
_LONGEST_CAUSE = 300


@dataclass(frozen=True, slots=True)
class Target:
    """The server and model of a call.

    Attributes:
        model: litellm's name.
        api_base: URL of the server, None for the provider's own.
        secrets: texts that no message may contain.
    """

    model: str
    api_base: str | None
    secrets: tuple[str, ...] = ()

    @property
    def provider(self) -> str:
        """The part of the name before the slash; openai without one, as in litellm's list of models."""
        return self.model.partition("/")[0] if "/" in self.model else "openai"

    @property
    def where(self) -> str:
        """The server, for people."""
        if self.api_base:
            return self.api_base
        if self.provider.startswith("ollama"):
            return os.environ.get("OLLAMA_API_BASE", "http://localhost:11434")
        return self.provider

    @property
    def server(self) -> str:
        """What should be running there."""
        return "Ollama" if self.provider.startswith("ollama") else tr("a server")


def redact(text: str, secrets: tuple[str, ...] = ()) -> str:
    """Remove every key from a text: given ones, those of the environment and of addresses, and lookalikes."""
    values = [*secrets, *(value for name, value in os.environ.items() if _SECRET_NAME.search(name.upper()))]
    for secret in sorted({value for value in values if len(value) >= 4}, key=len, reverse=True):
        text = text.replace(secret, "[key]")
    return without_credentials(_SECRET_FORM.sub("[key]", text))


def explain(error: BaseException, target: Target) -> LlmError:
    """The error to raise for an exception of a call.

    Args:
        error: any exception of litellm.
        target: what was called.
    """
    if isinstance(error, LlmError):
        return error
    if "LLM Provider NOT provided" in str(error):
        return LlmError(
            tr("no provider is known for the model {model}").format(model=target.model),
            "model",
            tr(_HINT["model"]),
        )
    return failure(_kind(error, target), _cause(error), target)


def failure(kind: LlmErrorKind, cause: str, target: Target) -> LlmError:
    """An error of a kind, in words.

    Args:
        kind: not `budget` or `unparsable`, which are no failures of a server.
        cause: the message of the server or network.
        target: what was called.
    """
    key = _missing_key(target.model) or f"{target.provider.upper()}_API_KEY"
    words = {"model": target.model, "where": target.where, "server": target.server, "key": key}
    what = tr(_WHAT[kind]).format(**words)
    message = tr("{what}: {cause}").format(what=what, cause=cause) if cause else what
    hint = tr(_HINT[kind]).format(**words)
    if kind == "connection" and target.where == target.provider:  # that of the provider's own address
        hint = tr("check the network connection and HTTPS_PROXY")
    if kind == "auth" and target.api_base:
        hint += tr(" (any text if the server needs none)")
    return LlmError(redact(message, target.secrets), kind, redact(hint, target.secrets))


def retry_after(error: BaseException) -> float | None:
    """Seconds to wait, as the server asked; None if it did not."""
    for cause in _chain(error):
        for headers in (
            getattr(getattr(cause, "response", None), "headers", None),
            getattr(cause, "litellm_response_headers", None),
        ):
            value = headers.get("retry-after") if headers is not None else None
            seconds = parse_retry_after(value, time.time())
            if seconds is not None:
                return seconds
    return None


def _kind(error: BaseException, target: Target) -> LlmErrorKind:
    import httpx

    chain = list(_chain(error))
    classes = {type(cause).__name__ for cause in chain}
    # litellm invents a response where none came, without headers
    answered = any(getattr(getattr(cause, "response", None), "headers", None) for cause in chain)
    status = getattr(error, "status_code", None)
    untold = not answered and status not in _STATUS
    signs: tuple[tuple[bool, LlmErrorKind], ...] = (
        ("LiteLLMUnknownProvider" in classes, "model"),
        (_unwritable(chain) is not None, "auth"),
        (any(isinstance(cause, httpx.TimeoutException) for cause in chain), "timeout"),
        (any(isinstance(cause, httpx.TransportError | OSError) for cause in chain), "connection"),
        (bool(classes & {"Timeout", "APITimeoutError"}), "timeout"),
        (untold and not target.secrets and _missing_key(target.model) is not None, "auth"),
        (untold and "APIConnectionError" in classes, "connection"),
    )
    for seen, kind in signs:
        if seen:
            return kind
    refused = isinstance(status, int) and 400 <= status < 500
    return _STATUS.get(status or 0, "bad_request" if refused else "server")


def _cause(error: BaseException) -> str:
    """The innermost useful words, on one line."""
    import httpx

    if (character := _unwritable(_chain(error))) is not None:
        return tr("the key has the character {character}, which no key has").format(character=character)
    network = [
        cause for cause in _chain(error) if isinstance(cause, httpx.TransportError | OSError) and str(cause)
    ]
    text = str(network[-1]) if network else _said(_LITELLM_PREFIX.sub("", str(error)))
    text = " ".join(re.sub(r"<[^<>]{1,200}>", " ", text).split())
    return text if len(text) <= _LONGEST_CAUSE else text[: _LONGEST_CAUSE - 1] + "…"


def _said(text: str) -> str:
    """A server's message: that of an error in JSON, without additions of litellm."""
    text = _LITELLM_ADDS.split(text)[0]
    body = _ERROR.search(text)
    if body is None:
        return text
    try:
        body_value = ast.literal_eval(body[0])  # the OpenAI client prints JSON as Python
    except (ValueError, SyntaxError):
        try:
            body_value = json.loads(body[0])
        except ValueError:
            return text
    error = body_value.get("error", body_value) if isinstance(body_value, dict) else None
    message = error.get("message") if isinstance(error, dict) else error
    if not isinstance(message, str) or not message:
        return text
    option = error.get("param") if isinstance(error, dict) else None
    return message if not option or str(option) in message else f"{message} ({option})"


def _unwritable(chain: Iterable[BaseException]) -> str | None:
    """The first character of a key that a header cannot have, such as the … of an example, or None."""
    for cause in chain:
        if isinstance(cause, UnicodeEncodeError) and cause.encoding == "ascii":
            return cause.object[cause.start]
    return None


def _chain(error: BaseException) -> Iterator[BaseException]:
    seen: set[int] = set()
    queue: list[BaseException | None] = [error]
    while queue:
        cause = queue.pop(0)
        if cause is None or id(cause) in seen:
            continue
        seen.add(id(cause))
        yield cause
        queue += [cause.__cause__, cause.__context__, getattr(cause, "original_exception", None)]


def _missing_key(model: str) -> str | None:
    """The environment variable that litellm would read the key from, if it is not set."""
    import litellm

    try:
        missing = litellm.validate_environment(model)["missing_keys"]
    except Exception:  # noqa: BLE001  # an unknown provider is reported elsewhere
        return None
    # of Azure also address and version: the key is what is asked for
    return str(next((name for name in missing if name.endswith("KEY")), missing[0])) if missing else None


T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """How often and how long.

    Attributes:
        max_retries: tries after the first.
        base: seconds; the first wait is between 0 and this, the next between 0 and twice this, …
        cap: no drawn wait is longer, seconds.
        patience: the call fails if the server asks for a longer wait.
    """

    max_retries: int = 5
    base: float = 0.5
    cap: float = 30.0
    patience: float = 300.0

    def wait(self, retry: int, retry_after: float | None, draw: Callable[[], float]) -> float | None:
        """Seconds to wait before a retry.

        Args:
            retry: 0 for the first retry.
            retry_after: seconds that the server asked for; None if it did not.
            draw: a random number, 0 to 1.

        Returns:
            the wait, or None to give up.
        """
        if retry >= self.max_retries or (retry_after is not None and retry_after > self.patience):
            return None
        drawn = draw() * min(self.cap, self.base * 2.0 ** min(retry, 63))
        # calls that were refused together got the same moment: the draw spreads them
        return drawn if retry_after is None else retry_after + min(drawn, self.base)


def parse_retry_after(value: str | None, start: float) -> float | None:
    """Seconds that a Retry-After header asks for (RFC 9110 §10.2.3: seconds, or an HTTP date).

    Args:
        value: the header's value, None without one.
        start: POSIX time.

    Returns:
        seconds, not negative; None without a valid header.
    """
    if value is None:
        return None
    text = value.strip()
    if text.replace(".", "", 1).isdecimal():
        return float(text)
    try:
        moment = email.utils.parsedate_to_datetime(text).timestamp()
    except (ValueError, OverflowError):
        return None
    return max(0.0, moment - start)


_OVER = 0.05  # seconds before a deadline in which nothing comes any more


def left(deadline: float) -> float:
    """Seconds until a deadline, by `time.monotonic`.

    Raises:
        LlmError: when it is over.
    """
    seconds = deadline - time.monotonic()
    if seconds < _OVER:
        raise LlmError(
            tr("the time limit of the run is over"), "deadline", tr("raise limits: in pipeline.yaml")
        )
    return seconds


def call_with_retries(
    attempt: Callable[[int], T],
    policy: RetryPolicy,
    retry_after: Callable[[LlmError], float | None],
    *,
    sleep: Callable[[float], object] = time.sleep,
    draw: Callable[[], float] = random.random,
) -> T:
    """Call until it works, or retries are pointless.

    Args:
        attempt: the call, given its number from 1; raises LlmError.
        policy: how often and how long.
        retry_after: seconds that the server asked for when it failed so.
        sleep: waits so many seconds.
        draw: a random number, 0 to 1.

    Raises:
        LlmError: the last failure.
    """
    number = 0
    while True:
        number += 1
        try:
            return attempt(number)
        except LlmError as error:
            wait = policy.wait(number - 1, retry_after(error), draw) if error.retryable else None
            if wait is None:
                raise
        sleep(wait)
