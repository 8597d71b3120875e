"""Pages of PDFs as pictures: each is drawn in a process of its own, as the file may come from a stranger."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from collections import OrderedDict

from pyoxigraph import NamedNode

from graphrag_rdf.documents.page_image import DrawnPage
from graphrag_rdf.i18n import tr
from graphrag_rdf.reader_process.process import bare_environment
from graphrag_rdf.server.http.problems import Problem
from graphrag_rdf.store.blobs import BlobStore

WIDTHS = (600, 1200, 1800)
"""Of pictures, in pixels: others are rounded up, so that the cache is of use."""

_SECONDS = 10.0
_MEGABYTES = 512
"""Of a process that draws a page."""
_AT_ONCE = 2
_PATIENCE = 5.0
"""Processes at once, and seconds to wait for a free place."""
_NOT_AGAIN = 60.0
"""Seconds until a page that could not be drawn is tried again."""
_CACHED = 64 << 20
"""Bytes of pages in memory. None is written to disk, where `forget` would have to erase it."""


class PageImages:
    """Draws pages, and keeps the newest.

    Args:
        blobs: holds the PDFs.
    """

    def __init__(self, blobs: BlobStore) -> None:
        self._blobs = blobs
        self._places = threading.BoundedSemaphore(_AT_ONCE)
        self._lock = threading.Lock()
        self._pages: OrderedDict[tuple[str, int, int], DrawnPage] = OrderedDict()
        self._size = 0
        self._failed: dict[tuple[str, int, int], float] = {}

    def page(self, original: NamedNode, number: int, width: int = WIDTHS[1]) -> DrawnPage | None:
        """A page; None if it cannot be drawn: its bytes are gone or damaged, or it takes too long or too much
        memory.

        Args:
            original: the PDF in the blob store, whose IRI is its hash: a file that changed is never drawn.
            number: from 1.
            width: pixels, at most the largest of `WIDTHS`.

        Raises:
            Problem: 503 when too many pages are being drawn.
        """
        wanted = next((each for each in WIDTHS if each >= width), WIDTHS[-1])
        key = (original.value, number, wanted)
        with self._lock:
            if key in self._pages:
                self._pages.move_to_end(key)
                return self._pages[key]
            if time.monotonic() < self._failed.get(key, 0):
                return None
        if not self._places.acquire(timeout=_PATIENCE):
            raise Problem(503, tr("too many pages are being drawn"), headers={"Retry-After": "5"})
        try:
            data = self._blobs.get(original)
            page = None if data is None else _drawn(data, number, wanted)
        finally:
            self._places.release()
        with self._lock:
            if page is None:
                self._failed[key] = time.monotonic() + _NOT_AGAIN
            elif key not in self._pages:
                self._pages[key] = page
                self._size += page.size
            while self._size > _CACHED:
                self._size -= self._pages.popitem(last=False)[1].size
        return page

    def clear(self) -> None:
        """Drop all pages."""
        with self._lock:
            self._pages.clear()
            self._failed.clear()
            self._size = 0


def _drawn(data: bytes, number: int, width: int) -> DrawnPage | None:
    module = "graphrag_rdf.server.page_process"
    try:
        process = subprocess.run(  # noqa: S603 - our own interpreter, our own words
            [sys.executable, "-P", "-m", module, str(number), str(width), str(_MEGABYTES)],
            input=data,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=bare_environment(),
            cwd="/",
            timeout=_SECONDS,
            check=True,
        )
        return DrawnPage.from_bytes(process.stdout)
    except (OSError, subprocess.SubprocessError, ValueError):
        return None
