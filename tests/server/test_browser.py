"""The pages in headless Chromium, as Debian has it: layout, keyboard, live steps, nothing from elsewhere."""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from graphrag_rdf.config import Settings
from graphrag_rdf.engine import Engine
from graphrag_rdf.server.http.events import message_event
from graphrag_rdf.trace.messages import GraphRagResponse
from tests.pipeline import test_any_shape as any_shape
from tests.support.commands import documents_in
from tests.support.endpoint import TOKENS, WRITE, Endpoint
from tests.support.pdf import lines, make_pdf
from tests.support.scripted_server import Reply, ScriptedServer

if TYPE_CHECKING:
    from playwright.sync_api import Browser, BrowserContext, Page

pytest.importorskip(
    "playwright", reason="the pages were not looked at in a browser: playwright is not installed"
)
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        CHROMIUM is None, reason="the pages were not looked at in a browser: there is no chromium on the path"
    ),
]
shapes, own_kinds = any_shape.engine, any_shape.own_kinds
"""Fixtures: a pipeline whose kinds of steps only that test knows."""
QUESTION = "Who founded the Tarnay Electric Light Company?"
PAGES = (
    "/",
    "/traces",
    "/traces/last",
    "/documents",
    "/documents/documents/company.txt",
    "/entities",
    "/entities/walter-pennock",
    "/graph?entity=Walter+Pennock",
    "/resource?iri=http%3A%2F%2Ftrustgraph.ai%2Fr%2Ffounded",
    "/sparql-editor?query=SELECT%20*%20%7B%20%3Fs%20rdfs%3Alabel%20%3Fo%20%7D%20LIMIT%2030",
    "/ontology",
    "/facts",
    "/facts?match=Pennock",
    "/facts/decisions",
    "/facts?subject=Walter+Pennock&predicate=founded&object=Tarnay+Electric+Light+Company",
    "/dataset",
    "/queries",
    "/queries/entities/list",
    "/entities",
)


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Chromium."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        found = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield found
        found.close()


class Watched:
    """A tab, and what went wrong in it."""

    def __init__(self, context: BrowserContext, url: str) -> None:
        self.page: Page = context.new_page()
        self.url = url
        self.faults: list[str] = []
        self.page.on("console", lambda message: self.faults.append(message.text))
        self.page.on("pageerror", lambda error: self.faults.append(str(error)))
        self.page.on("request", lambda request: self._look_at(request.url))

    def _look_at(self, url: str) -> None:
        if not url.startswith(self.url):
            self.faults.append(f"asks {url}")

    def open(self, path: str) -> Page:
        """Go there."""
        self.page.goto(self.url + path)
        return self.page


@pytest.fixture
def tab(browser: Browser, answering: Endpoint, request: pytest.FixtureRequest) -> Iterator[Watched]:
    """A tab of the width that a test is given (1280 px without); it must not complain."""
    width, script = getattr(request, "param", (1280, True))
    with answering.client() as client:
        client.post("/ask", json={"question": QUESTION}, timeout=60).raise_for_status()
    context = browser.new_context(
        viewport={"width": width, "height": 800},
        color_scheme="dark" if width < 500 else "light",
        java_script_enabled=script,
    )
    watched = Watched(context, answering.url)
    yield watched
    context.close()
    assert watched.faults == []


@pytest.mark.parametrize("tab", [(360, True), (768, True), (1280, True)], indirect=True, ids=str)
def test_every_page_fits_its_window(tab: Watched) -> None:
    for path in PAGES:
        page = tab.open(path)
        width = page.evaluate("innerWidth")
        assert page.evaluate("document.documentElement.scrollWidth") <= width, path
        assert page.evaluate("document.styleSheets.length") == 2 + path.startswith("/sparql-editor")
        assert page.evaluate(_BROKEN_WORDS) == [], path
        sizes = page.eval_on_selector_all(
            "main a:visible, main p", "all => all.map(e => parseFloat(getComputedStyle(e).fontSize))"
        )
        assert min(sizes, default=16) >= 11, path


@pytest.mark.parametrize("tab", [(360, True), (1280, True)], indirect=True, ids=["dark", "light"])
def test_words_stand_out_from_their_ground(tab: Watched) -> None:
    """A contrast of 4.5 or more (WCAG 2.2, 1.4.3)."""
    for path in ("/traces/last", "/documents/documents/company.txt", "/"):
        found = tab.open(path).evaluate(_CONTRASTS)
        assert found
        assert min(found) >= 4.5, (path, min(found))


@pytest.mark.parametrize("tab", [(1280, False)], indirect=True, ids=["no script"])
def test_asking_without_a_script(tab: Watched) -> None:
    page = tab.open("/")
    page.get_by_label("Question").fill(QUESTION)
    page.get_by_role("button", name="Ask").click()
    page.wait_for_url("**/traces/*")
    assert page.get_by_role("heading", level=1).inner_text() == QUESTION


def test_asking_by_keyboard_shows_each_step(tab: Watched) -> None:
    page = tab.open("/")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Skip to content"
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.id") == "question"
    page.keyboard.type(QUESTION)
    page.keyboard.press("Enter")
    page.wait_for_url("**/traces/*", timeout=60_000)
    assert "Walter Pennock" in page.locator("#answer").inner_text()
    assert page.locator("#answer a").first.get_attribute("href") == "#cite-1"
    page.locator("#answer a").first.focus()
    assert page.locator(".proof .pointed").count() == 1
    assert not page.locator(".steps").is_visible()
    page.get_by_role("link", name="How it came about").focus()
    page.keyboard.press("Enter")
    page.locator(".steps").wait_for()
    steps = page.locator(".steps tbody th").all_inner_texts()
    assert steps == ["Grounding", "Exploration", "Focus", "Synthesis"]


def test_a_run_can_be_stopped(tab: Watched) -> None:
    page = tab.open("/")
    page.route("**/ask", lambda route: None)  # never answered
    page.get_by_label("Question").fill(QUESTION)
    page.get_by_role("button", name="Ask").click()
    page.get_by_role("button", name="Stop").click()
    page.get_by_text("Stopped.").wait_for()
    assert page.get_by_role("button", name="Ask").is_enabled()


def test_a_question_is_edited_and_asked_again(tab: Watched) -> None:
    page = tab.open("/traces/last")
    page.get_by_role("link", name="Edit and ask again").click()
    assert page.get_by_label("Question").input_value() == QUESTION


def test_steps_of_kinds_that_no_script_knows_are_shown_live(
    tab: Watched,
    shapes: Engine,
) -> None:
    """What a message says of its step is all that the page needs."""
    messages = shapes.ask("Who owned what?", "shapes")
    events = "".join(message_event(message) for message in messages if message.answer is None)
    page = tab.open("/")
    page.route(
        "**/ask", lambda route: route.fulfill(status=200, content_type="text/event-stream", body=events)
    )
    page.get_by_label("Question").fill("Who owned what?")
    page.get_by_role("button", name="Ask").click()
    page.locator("#live-steps").get_by_text("Join").first.wait_for(timeout=60_000)
    steps = page.locator("#live-steps li").all_inner_texts()
    assert steps[:3] == [
        "Test session",
        "Test Question – query: Who owned what?",
        f"Plan – notes: 2 ({', '.join(any_shape.QUESTIONS)})",
    ]
    looks = [step for step in steps if step.startswith("Look – notes: 1 (")]
    assert len(looks) == 8
    assert any("seen: " in look for look in looks)
    assert steps[-1].startswith("Join – notes: ")


def test_what_an_agent_says_on_the_way_is_shown_live(tab: Watched) -> None:
    """As steps, and not as part of the answer."""
    said = [
        ("thought", "Who is <b>unknown</b>."),
        ("action", "ask"),
        ("observation", "o" * 400),
        ("answer", "Orr."),
    ]
    messages = [
        GraphRagResponse("chunk", kind, str(number), response=text)
        for number, (kind, text) in enumerate(said)
    ]
    page = tab.open("/")
    events = "".join(map(message_event, messages))
    page.route(
        "**/ask", lambda route: route.fulfill(status=200, content_type="text/event-stream", body=events)
    )
    page.get_by_label("Question").fill("Who owned what?")
    page.get_by_role("button", name="Ask").click()
    page.get_by_text("Orr.").wait_for(timeout=60_000)
    steps = page.locator("#live-steps li").all_inner_texts()
    assert steps == ["Thought: Who is <b>unknown</b>.", "Action: ask", f"Observation: {'o' * 300}"]
    assert page.locator("#live-answer").inner_text() == "Orr."


def test_where_nothing_is_kept_the_live_answer_says_what_it_rests_on(
    browser: Browser, documents_store: Path, tmp_path: Path
) -> None:
    shutil.copytree(documents_store, tmp_path / "store")
    with Endpoint.start(tmp_path / "store", "--read-only") as endpoint:
        page = browser.new_page()
        page.goto(f"{endpoint.url}/")
        page.get_by_label("Question").fill(QUESTION)
        page.get_by_role("button", name="Ask").click()
        page.locator(".proof mark").wait_for(timeout=60_000)
        told = page.locator(".proof").inner_text()
        page.close()
    assert "Walter Pennock founded" in told


@pytest.mark.parametrize("tab", [(390, True), (1280, True)], indirect=True, ids=str)
def test_the_answer_and_its_quotes_stand_before_the_steps(tab: Watched) -> None:
    page = tab.open("/traces/last")
    parts = ("#answer", ".evidence blockquote >> nth=0", "#how")
    answer, quote, steps = (page.locator(part).bounding_box() for part in parts)
    assert answer
    assert quote
    assert steps
    assert answer["y"] < steps["y"]
    assert quote["y"] < min(steps["y"], 1000)
    if page.evaluate("innerWidth") > 1000:
        assert abs(quote["y"] - answer["y"]) < 200, "beside it"


def test_a_citation_leads_to_the_marked_sentence(tab: Watched) -> None:
    page = tab.open("/traces/last")
    page.locator(".answer a").first.focus()
    assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") == "solid"
    page.keyboard.press("Enter")
    assert page.evaluate("location.hash").startswith("#cite-")
    page.locator(":target a[href^='#chunk-']").first.click()
    assert "Walter Pennock founded" in page.locator(":target mark").first.inner_text()
    page.get_by_role("link", name="back to the answer").first.focus()
    page.keyboard.press("Enter")
    assert page.evaluate("location.hash") == "#answer"
    page.locator(".evidence a[href$='#cited']").first.click()
    page.wait_for_url("**/documents/**#cited")
    assert "Walter Pennock founded" in page.locator("#cited").inner_text()
    box = page.locator("#cited").bounding_box()
    assert box is not None
    assert 0 <= box["y"] < 700


@pytest.mark.parametrize("tab", [(390, True)], indirect=True, ids=["phone"])
def test_a_drawing_on_a_phone_shows_its_nodes(tab: Watched) -> None:
    for path in ("/entities/walter-pennock", "/traces/last"):
        page = tab.open(path)
        if (steps := page.locator("#how > summary")).count():
            steps.click()
        assert not page.locator("svg.broad").is_visible()
        assert page.locator("svg.narrow .node").count() == page.locator("svg.broad .node").count()
        for part in page.locator("svg.narrow .node, svg.narrow .label text").all():
            box = part.bounding_box()
            assert box is not None
            assert box["x"] >= 0
            assert box["x"] + box["width"] <= 390
        for text in page.locator("svg.narrow .node text").all():
            box = text.bounding_box()
            assert box is not None
            assert box["height"] >= 12
        for link in page.locator("svg.narrow a").all():
            box = link.bounding_box()
            assert box is not None
            assert box["height"] >= 40
    page.locator("svg.narrow a").first.click()
    page.wait_for_url("**/entities/**")


def drawn(page: Page, path: str) -> Page:
    """The page when its drawing has come to rest."""
    page.goto(path)
    page.locator("#canvas[aria-busy=false]").wait_for(timeout=60_000)
    return page


def nodes_of(page: Page) -> list[str]:
    """The labels of what is drawn."""
    labels: list[str] = page.evaluate(f"{_GRAPH}.nodes(':visible').map(n => n.data('label'))")
    return labels


_GRAPH = "document.getElementById('canvas').graph"


def test_the_graph_grows_by_a_double_click(tab: Watched) -> None:
    page = tab.open("/entities/walter-pennock")
    page.get_by_role("link", name="Explore the graph around it").click()
    page.wait_for_url("**/graph?entity=**")
    drawn(page, page.url)
    before = nodes_of(page)
    assert "Walter Pennock" in before
    harbour = "n => n.data('label') === 'Port Merrin'"
    page.evaluate(f"{_GRAPH}.nodes().filter({harbour}).emit('dbltap')")
    page.wait_for_url("**entity=**&entity=**")
    assert set(before) < set(nodes_of(page))
    again = drawn(page, page.url)
    assert set(before) < set(nodes_of(again)), "the address has the whole view"


def test_the_list_expands_the_graph_by_keyboard(tab: Watched) -> None:
    page = drawn(tab.page, f"{tab.url}/graph?entity=Walter+Pennock")
    before = len(nodes_of(page))
    page.locator("#twin [data-node]", has_text="Port Merrin").first.focus()
    page.keyboard.press("Enter")
    page.wait_for_url("**entity=**&entity=**")
    assert len(nodes_of(page)) > before
    assert page.locator("#chosen h2").inner_text() == "Port Merrin"


def test_a_line_of_the_graph_shows_its_quotes(tab: Watched) -> None:
    page = drawn(tab.page, f"{tab.url}/graph?entity=Walter+Pennock")
    page.evaluate(f"{_GRAPH}.edges().filter(e => e.data('label') === 'founded')[0].emit('tap')")
    page.locator("#chosen blockquote").first.wait_for()
    assert "Walter Pennock founded" in page.locator("#chosen blockquote").first.inner_text()
    page.locator("#chosen .evidence a").first.click()
    page.wait_for_url("**/documents/**#cited")


def test_the_graph_is_filtered_and_saved(tab: Watched) -> None:
    page = drawn(tab.page, f"{tab.url}/graph?entity=Port+Merrin")
    before = nodes_of(page)
    page.locator("#types label", has_text="value").get_by_role("checkbox").uncheck()
    assert set(nodes_of(page)) < set(before)
    for button, beginning in (("PNG", b"\x89PNG"), ("GraphML", b"<graphml")):
        with page.expect_download() as started:
            page.get_by_role("button", name=button).click()
        assert Path(started.value.path()).read_bytes().startswith(beginning)
    page.locator("#twin form button").first.click()
    page.get_by_role("heading", name="Rows: ").wait_for()


@pytest.mark.parametrize("tab", [(390, True)], indirect=True, ids=["phone"])
def test_on_a_phone_the_graph_is_a_list(tab: Watched) -> None:
    page = tab.open("/graph?entity=Walter+Pennock")
    assert not page.locator("#canvas").is_visible()
    page.locator("#twin .facts").get_by_text("founded").first.wait_for()
    page.locator("#twin [data-node]", has_text="Port Merrin").first.click()
    page.wait_for_url("**/graph?entity=**port-merrin")


def test_what_is_folded_is_printed(tab: Watched) -> None:
    page = tab.open("/traces/last")
    folded = page.locator("details table").first
    assert not folded.is_visible()
    page.emulate_media(media="print")
    assert folded.is_visible()
    page.emulate_media(media="print", color_scheme="dark")
    assert page.evaluate("getComputedStyle(document.body).color") == "rgb(28, 28, 28)"


def test_evidence_is_marked_on_paper_too(tab: Watched) -> None:
    """Browsers leave grounds out when they print, unless they are told that one says something."""
    for path in ("/traces/last", "/documents/documents/company.txt"):
        page = tab.open(path)
        page.emulate_media(media="print")
        assert page.evaluate("getComputedStyle(document.querySelector('mark')).printColorAdjust") == "exact"


def test_the_answer_of_a_query_is_where_the_page_begins(tab: Watched) -> None:
    page = tab.open("/sparql-editor")
    write_query(page, "SELECT *\nWHERE { ?s ?p")
    with expected_failure(tab):
        page.get_by_role("button", name="Run").click()
        page.get_by_role("heading", name="This cannot be run").wait_for()
    assert page.evaluate("location.hash") == "#result"
    assert "line 2" in page.locator("#problem").inner_text()
    assert page.get_by_label("Query").get_attribute("aria-invalid") == "true"
    assert page.locator(".CodeMirror-gutter-wrapper", has_text="✗").inner_text().split() == ["2", "✗"]
    assert page.locator("pre:has(.problem-here)").inner_text() == "WHERE { ?s ?p"


def write_query(page: Page, text: str) -> None:
    """In place of what is in the editor."""
    page.get_by_label("Query").focus()
    page.keyboard.press("Control+A")
    page.keyboard.insert_text(text)


@contextlib.contextmanager
def expected_failure(tab: Watched) -> Iterator[None]:
    """The console tells of a status of 400, which is right here."""
    yield
    tab.faults[:] = [fault for fault in tab.faults if "status of 400" not in fault]


def test_a_query_by_keyboard(tab: Watched) -> None:
    page = tab.open("/sparql-editor")
    write_query(page, "SELECT * { GRAPH <urn:graph:source> { ?s tg:contains ?t } } LIMIT 2")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.id") == "union", "Tab leaves the editor"
    page.keyboard.press("Shift+Tab")
    page.keyboard.press("Control+Enter")
    page.get_by_role("heading", name="Rows: 2").wait_for()
    assert page.locator("td .triple").count() == 2
    with page.expect_download() as started:
        page.get_by_role("button", name="CSV").click()
    assert started.value.suggested_filename == "results.csv"


def test_a_query_is_completed_with_terms_of_the_store(tab: Watched) -> None:
    page = tab.open("/sparql-editor")
    write_query(page, "SELECT * { ?person found")
    page.keyboard.press("Control+Space")
    page.locator(".CodeMirror-hint", has_text="founded relation").first.wait_for()
    page.keyboard.press("Enter")
    page.keyboard.insert_text(" ?o . GRAPH <urn:graph:source> { ?e rdf:reifies <<( ?person ?p ?o )>> ; rag")
    page.keyboard.type(":conf")
    page.locator(".CodeMirror-hint", has_text="rag:confidence relation").wait_for()
    page.keyboard.press("Enter")
    page.keyboard.insert_text(" ?sure } }")
    assert "<http://trustgraph.ai/r/founded>" in page.locator(".CodeMirror").inner_text()
    assert page.locator(".cm-bracket", has_text="<<(").count() == 1
    page.keyboard.press("Control+Enter")
    page.get_by_role("heading", name="Rows: ").wait_for()
    assert page.locator(".CodeMirror .problem").count() == 0


@pytest.fixture
def uploading(tmp_path: Path) -> Iterator[Endpoint]:
    """A server that anybody may write to, empty."""
    with Endpoint.start(tmp_path / "store", "--anonymous", "write") as endpoint:
        yield endpoint


def folder_to_upload(place: Path) -> Path:
    """Two documents, a broken one, and what is no document."""
    documents = documents_in(place)
    (documents / "more").mkdir()
    (documents / "more" / "broken.pdf").write_bytes(b"%PDF-1.4 of a kind")
    (documents / "more" / ".hidden.txt").write_text("Nobody means this file.")
    return documents


def test_a_folder_is_uploaded_with_the_fate_of_each_file(
    browser: Browser, uploading: Endpoint, tmp_path: Path
) -> None:
    page = browser.new_page(viewport={"width": 360, "height": 800})
    faults: list[str] = []
    page.on("pageerror", lambda error: faults.append(str(error)))
    page.on("console", lambda message: faults.append(message.text))
    page.goto(f"{uploading.url}/")
    page.get_by_label("Folder").set_input_files(folder_to_upload(tmp_path))
    page.get_by_role("link", name="Show them").wait_for(timeout=60_000)
    told = {
        line.split("\n")[0]: line.split("\n")[-1] for line in page.locator("#uploads li").all_inner_texts()
    }
    assert told.keys() == {"documents/company.txt", "documents/harbour.md", "documents/more/broken.pdf"}
    assert told["documents/company.txt"] == told["documents/harbour.md"] == "done"
    assert told["documents/more/broken.pdf"].startswith("failed: damaged")
    assert page.get_by_role("status").inner_text().startswith("2 done, 1 failed")
    assert not page.get_by_role("button", name="Cancel").is_visible()
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    page.locator("#uploads a").first.click()
    page.wait_for_url("**/documents/documents/company.txt")
    page.close()
    assert faults == []


def test_files_are_dropped(browser: Browser, uploading: Endpoint) -> None:
    page = browser.new_page()
    page.goto(f"{uploading.url}/documents")
    transfer = page.evaluate_handle(
        """() => {
          const transfer = new DataTransfer();
          transfer.items.add(new File(["Mona Kell wrote the Almanac."], "almanac.txt"));
          transfer.items.add(new File(["Ada Orr sold the boat."], "boat.txt"));
          return transfer;
        }"""
    )
    page.dispatch_event(".drop", "drop", {"dataTransfer": transfer})
    page.get_by_role("link", name="Show them").click(timeout=60_000)
    page.wait_for_url("**/documents?sort=added")
    listed = page.locator(".listing th .soft").all_inner_texts()
    page.close()
    assert sorted(listed) == ["almanac.txt", "boat.txt"]


def test_an_upload_is_cancelled_and_goes_on(
    browser: Browser, tmp_path: Path, scripted_server: ScriptedServer
) -> None:
    scripted_server.answer_with(lambda request: Reply(delay=0.5, text='{"entities": [], "relations": []}'))
    env = {"GRAPHRAG_RDF_LLM__API_BASE": scripted_server.base_url, "GRAPHRAG_RDF_LLM__API_KEY": "sk-scripted"}
    options = ("--model", "openai/scripted", "--anonymous", "write")
    files = []
    for number in range(24):
        (tmp_path / f"n{number}.txt").write_text(f"Mona Kell wrote Almanac {number} in Tarnay.")
        files.append(tmp_path / f"n{number}.txt")
    with Endpoint.start(tmp_path / "store", *options, **env) as endpoint:
        page = browser.new_page()
        page.goto(f"{endpoint.url}/documents")
        page.get_by_label("Files").set_input_files(files)
        page.locator("#uploads li", has_text="reading").first.wait_for(timeout=60_000)
        page.get_by_role("button", name="Cancel").click()
        page.locator("#uploads li", has_text="cancelled").first.wait_for()
        assert len(scripted_server.requests) < 24
        scripted_server.answer_with(None)
        page.get_by_role("button", name="Upload").click()
        page.get_by_text("24 done").wait_for(timeout=60_000)
        page.close()


def test_a_token_is_asked_for_and_a_wrong_one_is_told(browser: Browser, tmp_path: Path) -> None:
    with Endpoint.start(tmp_path / "store", **TOKENS) as endpoint:
        page = browser.new_page()
        page.goto(f"{endpoint.url}/documents")
        document = documents_in(tmp_path) / "company.txt"
        page.get_by_label("Files").set_input_files(document)
        page.get_by_text("Enter a token").wait_for()
        assert page.evaluate("document.activeElement.id") == "upload-token"
        page.get_by_label("Token of role write").fill("not-the-token-of-this-server")
        page.keyboard.press("Enter")
        page.get_by_text("failed: the token is not known").wait_for()
        page.get_by_label("Token of role write").fill(WRITE)
        page.keyboard.press("Enter")
        page.get_by_text("1 done").wait_for(timeout=60_000)
        page.close()


def test_a_form_without_a_script_is_answered_with_a_page(
    browser: Browser, uploading: Endpoint, tmp_path: Path
) -> None:
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(f"{uploading.url}/documents")
    folder = folder_to_upload(tmp_path)
    page.get_by_label("Files").set_input_files([folder / "company.txt", folder / "more" / "broken.pdf"])
    page.get_by_role("button", name="Upload").click()
    page.get_by_role("heading", name="Failures").wait_for(timeout=60_000)
    assert "broken.pdf: damaged" in page.locator("main").inner_text()
    assert "Documents added" in page.locator("dl").inner_text()
    context.close()


# words of letters alone, in cells of tables of words, that take more than one line
_BROKEN_WORDS = """() => [...document.querySelectorAll(".steps td, .words td")].flatMap((cell) => {
  const walker = document.createTreeWalker(cell, NodeFilter.SHOW_TEXT), found = [];
  while (walker.nextNode()) {
    const text = walker.currentNode;
    for (const word of text.data.matchAll(/(?<=^|\\s)[a-z]+(?=$|\\s)/gi)) {
      const range = document.createRange();
      range.setStart(text, word.index);
      range.setEnd(text, word.index + word[0].length);
      if (new Set([...range.getClientRects()].map((box) => box.top)).size > 1) found.push(word[0]);
    }
  }
  return found;
})"""

_CONTRASTS = """() => {
  const parse = (text) => text.match(/[\\d.]+/g).map(Number);
  const ground = (e) => {
    for (; e; e = e.parentElement) {
      const colour = parse(getComputedStyle(e).backgroundColor);
      if (colour.length < 4 || colour[3] > 0) return colour;
    }
    return [255, 255, 255];
  };
  const light = (colour) => {
    const linear = (c) => c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4;
    const [r, g, b] = colour.slice(0, 3).map((c) => linear(c / 255));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const words = [...document.querySelectorAll("body *")].filter((e) => !e.closest("svg, details:not([open])")
    && [...e.childNodes].some((n) => n.nodeType === 3 && n.textContent.trim()) && e.checkVisibility());
  return words.map((e) => {
    const [a, b] = [light(parse(getComputedStyle(e).color)), light(ground(e))];
    return (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
  });
}"""


@pytest.fixture(scope="module")
def printed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Endpoint]:
    """A server over two PDFs that state the same fact."""
    place = tmp_path_factory.mktemp("printed")
    (place / "in").mkdir()
    fact = "Ada Orr founded the Skell Boat Company in 1911."
    for name, height, text in (
        ("ledger", 700, "The ledger says so."),
        ("letter", 200, "She wrote a letter."),
    ):
        data = make_pdf([lines(50, height, [fact, text])])
        (place / "in" / f"{name}.pdf").write_bytes(data)
    with Engine.open(config=Settings(store=str(place / "store"))) as engine:
        engine.ingest([place / "in"])
    with Endpoint.start(place / "store") as endpoint:
        yield endpoint


@pytest.mark.parametrize("width", [390, 1280])
def test_citations_of_pdfs_are_marked_on_their_pages(browser: Browser, printed: Endpoint, width: int) -> None:
    with printed.client() as client:
        question = {"question": "Who founded the Skell Boat Company?"}
        client.post("/ask", json=question, timeout=60).raise_for_status()
    page = browser.new_page(viewport={"width": width, "height": 800})
    faults: list[str] = []
    page.on("pageerror", lambda error: faults.append(str(error)))
    page.on("console", lambda message: faults.append(message.text))
    page.goto(f"{printed.url}/traces/last")
    page.locator(".evidence a[href$='#cited']").first.click()
    page.wait_for_url("**/documents/**#cited")
    first = page.url
    picture, text = page.locator(".paper img"), page.locator(".beside .chunk")
    assert picture.get_attribute("alt") == page.locator("mark.cited").inner_text().rstrip("1 ")
    page.wait_for_function("document.querySelector('.paper img').naturalWidth === 1200")
    box, seen, beside = (each.bounding_box() for each in (page.locator("rect#cited"), picture, text))
    assert box
    assert seen
    assert beside
    assert 0 <= box["y"] < 800
    assert seen["x"] <= box["x"] < box["x"] + box["width"] <= seen["x"] + seen["width"]
    assert (beside["x"] > seen["x"] + seen["width"]) == (width > 1000)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert "Citation 1 of 2" in page.locator("nav.citations").inner_text()
    page.keyboard.press("ArrowRight")
    page.get_by_text("Citation 2 of 2").wait_for()
    assert page.url.partition("?")[0] != first.partition("?")[0]
    page.keyboard.press("ArrowRight")
    page.get_by_role("link", name="Previous citation").focus()
    assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") == "solid"
    page.keyboard.press("Enter")
    page.get_by_text("Citation 1 of 2").wait_for()
    page.close()
    assert faults == []
