"""Take the screenshots of README and tutorial, in headless Chromium over the sample documents.

    python docs/screenshots.py        # writes docs/pictures/{conversation,page,graph}.png

It needs Chromium on the path and playwright, which the tests of pages need too.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from playwright.sync_api import Page, sync_playwright

PROJECT = Path(__file__).resolve().parent.parent
PICTURES = PROJECT / "docs" / "pictures"
PROGRAM = [sys.executable, "-m", "graphrag_rdf"]
QUESTION, FOLLOW_UP = "When did the Petrel sink?", "Who owned it?"
OF_A_PDF = "What caused the accident at Gate 4?"


def main() -> None:
    """Ingest the samples, serve them, ask, and take the pictures."""
    with tempfile.TemporaryDirectory() as place:
        store = ["--store", str(Path(place) / "store")]
        documents = Path(place) / "documents"
        shutil.copytree(PROJECT / "examples" / "documents", documents)
        subprocess.run([*PROGRAM, *store, "--quiet", "ingest", "documents"], check=True, cwd=place)
        server = subprocess.Popen(
            [*PROGRAM, *store, "serve", "--port", "0"], stderr=subprocess.PIPE, text=True, cwd=place
        )
        try:
            link = next(
                found[0]
                for line in server.stderr or ()
                if (found := re.search(r"http://\S+/\?token=\S+", line))
            )
            with sync_playwright() as playwright:
                browser = playwright.chromium.launch(
                    executable_path=shutil.which("chromium"), args=["--no-sandbox"]
                )
                page = browser.new_page(viewport={"width": 1280, "height": 800})
                page.goto(link)
                take_conversation(page)
                take_page(page)
                take_graph(page)
                browser.close()
        finally:
            server.terminate()
            server.wait()


def ask(page: Page, question: str) -> None:
    """Ask on the page, and wait for the answer."""
    page.locator("#question").fill(question)
    page.locator("#ask button").first.click()
    page.locator("h1", has_text=question).wait_for(timeout=60_000)


def take_conversation(page: Page) -> None:
    """Two questions, with the evidence of a sentence of the second."""
    ask(page, QUESTION)
    ask(page, FOLLOW_UP)
    page.locator("#answer [data-cites]").first.hover()
    page.evaluate("scrollTo(0, 0)")
    page.screenshot(path=PICTURES / "conversation.png")


def take_page(page: Page) -> None:
    """The page of a PDF with the cited words marked, from a citation."""
    page.goto(page.url.split("/traces")[0])
    ask(page, OF_A_PDF)
    page.locator(".proof a[href*='.pdf'][href*='#cited']").first.click()
    page.wait_for_url("**#cited")
    page.wait_for_load_state("networkidle")
    page.screenshot(path=PICTURES / "page.png")


def take_graph(page: Page) -> None:
    """The graph around a ship and its owner, with the quotes of a fact."""
    page.goto(f"{page.url.split('/documents')[0]}/graph?entity=Petrel&entity=Walter+Pennock")
    page.locator("#canvas[aria-busy=false]").wait_for()
    page.evaluate("document.getElementById('canvas').graph.edges('[label = \"sank in\"]').emit('tap')")
    page.locator("#chosen blockquote").first.wait_for()
    page.screenshot(path=PICTURES / "graph.png")


if __name__ == "__main__":
    main()
