"""Pages as tests read them."""

from __future__ import annotations

import json
import re
from collections import Counter
from html.parser import HTMLParser
from urllib.parse import unquote, urldefrag

import httpx

from tests.support.endpoint import Endpoint

BROWSER = {"Accept": "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"}
_PICTURE = re.compile(r"/documents/[^?#]+/pages/\d+\.png")
_ADDRESSES = ("href", "src", "action", "formaction", "poster", "data")
SCRIPTS = [
    {"src": f"/static/{name}.js", "defer": ""}
    for name in (
        *("citations", "conversation", "graph", "sparql-editor", "upload"),
        *("codemirror", "codemirror-sparql", "codemirror-show-hint"),
    )
]
"""Attributes of script elements, without the texts that our own scripts show."""


class Page(HTMLParser):
    """The elements and words of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str]]] = []
        self.words: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """See HTMLParser."""
        self.tags.append((tag, {name: value or "" for name, value in attrs}))

    def handle_data(self, data: str) -> None:
        """See HTMLParser."""
        self.words.append(data)

    @property
    def text(self) -> str:
        """All words."""
        return "".join(self.words)

    @property
    def ids(self) -> list[str]:
        """All ids."""
        return [attributes["id"] for _, attributes in self.tags if "id" in attributes]

    def addresses(self, *tags: str) -> list[str]:
        """What these elements (all, if none is named) lead to or load."""
        return [
            attributes[name]
            for tag, attributes in self.tags
            for name in _ADDRESSES
            if name in attributes and (not tags or tag in tags)
        ]

    def check(self) -> None:
        """Nothing runs but our scripts, nothing comes from elsewhere, everything has a name."""
        for tag, attributes in self.tags:
            assert tag not in ("iframe", "object", "embed", "style", "base"), tag
            if tag == "img":
                assert _PICTURE.fullmatch(attributes["src"])
                assert attributes["alt"]
            if tag == "script":
                assert all(json.loads(attributes.get("data-messages", "{}")).values())
                assert {
                    name: value for name, value in attributes.items() if name != "data-messages"
                } in SCRIPTS
            assert not any(name.startswith("on") or name == "style" for name in attributes), attributes
        for address in self.addresses():
            assert address[0] in "/#", address
            assert not address.startswith("//"), address
        fragments = {a[1:] for a in self.addresses() if a.startswith("#")}
        assert fragments <= set(self.ids), fragments - set(self.ids)
        assert len(self.ids) == len(set(self.ids))
        tags = [tag for tag, _ in self.tags]
        assert tags.count("main") == tags.count("h1") == 1
        assert "nav" in tags
        labelled = {attributes["for"] for tag, attributes in self.tags if tag == "label"}
        for tag, attributes in self.tags:
            if tag in ("input", "textarea", "select") and attributes.get("type") != "hidden":
                assert attributes["id"] in labelled


def browser(endpoint: Endpoint) -> httpx.Client:
    """A client that asks for pages, as browsers do."""
    client = endpoint.client()
    client.headers.update(BROWSER)
    return client


def get(client: httpx.Client, path: str) -> Page:
    """A page that is there and in order."""
    response = client.get(path, headers=BROWSER, follow_redirects=True)
    assert response.status_code == 200, (path, response.text[:500])
    assert response.headers["content-type"] == "text/html; charset=utf-8"
    page = Page(response.text)
    page.check()
    return page


def crawl(client: httpx.Client, start: str, most: int = 2000, alike: int = 40) -> dict[str, Page]:
    """Pages that links lead to from a page on, by address.

    Args:
        alike: pages whose addresses differ only after their last separator: terms of a vocabulary, queries.
    """
    found: dict[str, Page] = {}
    kinds: Counter[str] = Counter()
    waiting = [start]
    while waiting and len(found) < most:
        path = waiting.pop()
        kind = _LAST.sub("", unquote(path))
        if path in found or kinds[kind] >= alike:
            continue
        kinds[kind] += 1
        found[path] = get(client, path)
        links = [
            attributes for tag, attributes in found[path].tags if tag == "a" and "download" not in attributes
        ]
        addresses = {urldefrag(link["href"]).url for link in links if not link["href"].startswith("#")}
        waiting += sorted(addresses - set(found))
    return found


_LAST = re.compile(r"[^/#:]*\Z")
