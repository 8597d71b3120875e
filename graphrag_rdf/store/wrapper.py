"""SPARQLWrapper, as we need it: one request by POST, answered with bytes.

Two things it does not do by itself. A redirection is not followed: it would turn an update into a GET, and
take the credentials along to wherever it points. And a refusal keeps its status, headers and text.
"""

from __future__ import annotations

import urllib.request
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.error import HTTPError
from urllib.parse import parse_qsl, urlsplit, urlunsplit

from SPARQLWrapper import (
    BASIC,
    CONSTRUCT,
    DESCRIBE,
    INSERT,
    POST,
    POSTDIRECTLY,
    SELECT,
    URLENCODED,
    SPARQLWrapper,
)

from graphrag_rdf import __version__

_EXCERPT = 500


@dataclass(frozen=True, slots=True)
class Credentials:
    """Who asks: user and password (basic), or a token (bearer), or nobody."""

    user: str | None = None
    password: str | None = None
    token: str | None = None

    def __repr__(self) -> str:
        return "Credentials(…)"


@dataclass(frozen=True, slots=True)
class Reply:
    """What an endpoint said.

    Attributes:
        headers: by name in lower case.
    """

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def media_type(self) -> str:
        """Of the body, without parameters."""
        return self.headers.get("content-type", "").partition(";")[0].strip().lower()

    @property
    def excerpt(self) -> str:
        """The beginning of the body, for messages."""
        return " ".join(self.body[: _EXCERPT * 4].decode(errors="replace").split())[:_EXCERPT]


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_: Any, **__: Any) -> None:
        return None


class Request(SPARQLWrapper):
    """One query or update.

    Args:
        url: where to; parameters in it are kept.
        text: the query or update.
        update: which of the two it is.
        accept: media types, as in HTTP.
        timeout: seconds.
        headers: more of them.
    """

    _opener = urllib.request.build_opener(_NoRedirect)

    def __init__(
        self,
        url: str,
        text: str,
        *,
        update: bool,
        accept: str,
        credentials: Credentials,
        timeout: float,
        headers: Mapping[str, str],
    ) -> None:
        parts = urlsplit(url)
        super().__init__(urlunsplit(parts._replace(query="")), agent=f"graphrag-rdf/{__version__}")
        for name, value in parse_qsl(parts.query):
            self.addParameter(name, value)
        self.setMethod(POST)
        self.setRequestMethod(POSTDIRECTLY if update else URLENCODED)  # Virtuoso 7 hangs on direct queries
        self.setOnlyConneg(onlyConneg=True)
        self.queryString, self.queryType = text, INSERT if update else SELECT  # known: nothing to guess
        self._seconds = timeout
        if credentials.user is not None:
            self.setHTTPAuth(BASIC)
            self.setCredentials(credentials.user, credentials.password)
        elif credentials.token is not None:
            self.addCustomHttpHeader("Authorization", f"Bearer {credentials.token}")
        for name, value in {"Accept": accept, **headers}.items():
            self.addCustomHttpHeader(name, value)

    def _query(self) -> tuple[Any, str]:
        return self._opener.open(self._createRequest(), timeout=self._seconds), self.returnFormat

    def send(self) -> Reply:
        """Send it, and read the answer to its end, whatever its status.

        Raises:
            OSError, http.client.HTTPException: when there is no answer, or not all of it.
        """
        response: Any
        try:
            response = self.query().response
        except HTTPError as refusal:
            response = refusal
        with response:
            headers = {name.lower(): value for name, value in response.headers.items()}
            return Reply(response.status, headers, response.read())


def asks_for_graph(sparql: str) -> bool:
    """Whether a query is a CONSTRUCT or DESCRIBE."""
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what is no query at all is the endpoint's to refuse
        return SPARQLWrapper("", agent="")._parseQueryType(sparql) in (CONSTRUCT, DESCRIBE)
