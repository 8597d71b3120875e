"""Offers to go over to another protocol (RFC 9110 §7.8): WebSocket is taken, others are passed over.

Java's HTTP client offers HTTP/2 (`Upgrade: h2c`) with the first request of every connection. The parser takes
each offer for accepted: it ends the request behind its head, and what follows, the body, is no HTTP to it. So
a request with an offer that is not taken is read anew, without the offer.
"""

from __future__ import annotations

import httptools
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

_OF_AN_OFFER = (b"upgrade", b"http2-settings")


class UnmovedProtocol(HttpToolsProtocol):
    """See the module."""

    def data_received(self, data: bytes) -> None:
        """Part of a request."""
        self._unset_keepalive_if_required()
        while True:
            try:
                self.parser.feed_data(data)
            except httptools.HttpParserError:
                self.send_400_response("Invalid HTTP request received.")
            except httptools.HttpParserUpgrade as offer:
                if self._should_upgrade():
                    self.handle_websocket_upgrade()
                elif self.parser.get_method() == b"CONNECT":
                    self.send_400_response("CONNECT is for proxies, and this is none.")
                else:
                    data = self._head_without_offer() + data[offer.args[0] :]
                    self.parser = httptools.HttpRequestParser(self)
                    self.parser.set_dangerous_leniencies(lenient_data_after_close=True)  # as uvicorn does
                    continue
            return

    def _head_without_offer(self) -> bytes:
        version = self.parser.get_http_version().encode("ascii")
        lines = [b"%b %b HTTP/%b" % (self.parser.get_method(), self.url, version)]
        for name, value in self.headers:
            if name == b"connection":
                kept = [word for word in value.split(b",") if word.strip().lower() not in _OF_AN_OFFER]
                lines += [b"connection: " + b",".join(kept)] if kept else []
            elif name not in _OF_AN_OFFER:
                lines.append(b"%b: %b" % (name, value))
        return b"\r\n".join([*lines, b"", b""])

    def on_headers_complete(self) -> None:
        """The head of a request is whole."""
        if not self._is_passed_over():
            super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        """Part of a body."""
        if not self._is_passed_over():
            super().on_body(body)

    def on_message_complete(self) -> None:
        """A request is whole."""
        if not self._is_passed_over():
            super().on_message_complete()

    def _is_passed_over(self) -> bool:
        return bool(self.parser.should_upgrade()) and not self._should_upgrade()
