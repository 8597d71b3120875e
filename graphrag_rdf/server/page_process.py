"""A process that draws one page of a PDF, and may be killed at any time.

Started as `python -m graphrag_rdf.server.page_process NUMBER WIDTH MEGABYTES` by `page_images`. The PDF comes
from standard input, perhaps packed by gzip; the page goes to standard output. It ends when the server does.
"""

from __future__ import annotations

import gzip
import os
import sys
import threading

from graphrag_rdf.documents.page_image import draw_page
from graphrag_rdf.reader_process.memory import Memory, limit_address_space, watch


def main() -> None:
    """Run."""
    number, width, limit_mb = map(int, sys.argv[1:])
    limit_address_space(limit_mb)
    if os.name == "posix":
        threading.Thread(target=watch, args=(limit_mb, os.getppid(), Memory()), daemon=True).start()
    data = sys.stdin.buffer.read()
    page = draw_page(gzip.decompress(data) if data.startswith(b"\x1f\x8b") else data, number, width)
    sys.stdout.buffer.write(page.to_bytes())


if __name__ == "__main__":
    main()
