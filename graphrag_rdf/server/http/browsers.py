"""Browsers of the user who runs the server: a link with a token, which is exchanged once for a cookie."""

from __future__ import annotations

import hmac
import secrets
from collections.abc import Callable
from hashlib import sha256
from http.cookies import CookieError, SimpleCookie
from threading import Lock


class Browsers:
    """The browsers that may write, by their cookies. They are forgotten when the server stops.

    Args:
        announce: called with the next token once one was used.

    Attributes:
        token: of the link that is valid now.
        cookie: name of the cookie; servers on other ports of the same host have another one.
    """

    def __init__(self, announce: Callable[[str], None]) -> None:
        self.token = secrets.token_urlsafe(24)
        self.cookie = f"graphrag-rdf-{secrets.token_hex(4)}"
        self._announce = announce
        self._digests: set[bytes] = set()
        self._lock = Lock()

    def exchange(self, token: str) -> str | None:
        """The value of a new cookie for the token of the link; None for any other token."""
        with self._lock:
            if not hmac.compare_digest(_digest(token), _digest(self.token)):
                return None
            value = secrets.token_urlsafe(24)
            self._digests.add(_digest(value))
            self.token = secrets.token_urlsafe(24)
        self._announce(self.token)
        return value

    def knows(self, header: bytes) -> bool:
        """Whether the header Cookie has the cookie of one of them."""
        try:
            cookies = SimpleCookie(header.decode("latin-1"))
        except CookieError:
            return False
        return self.cookie in cookies and _digest(cookies[self.cookie].value) in self._digests


def _digest(secret: str) -> bytes:
    return sha256(secret.encode("utf-8", "surrogatepass")).digest()
