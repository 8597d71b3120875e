"""Graphs drawn as SVG."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from xml.etree import ElementTree

from hypothesis import given
from hypothesis import strategies as st

from graphrag_rdf.trace.drawing import Edge, Node, draw, draw_for_screens, outline

SVG = "{http://www.w3.org/2000/svg}"


def drawn(nodes: list[Node], edges: list[Edge], how: Callable[..., object] = draw) -> ElementTree.Element:
    """The elements of a drawing."""
    text = str(how(nodes, edges, "A <title>")).replace("<svg ", '<svg xmlns="http://www.w3.org/2000/svg" ', 1)
    return ElementTree.fromstring(text)


@given(
    st.lists(st.text(max_size=40), min_size=1, max_size=8),
    st.lists(st.tuples(st.integers(0, 7), st.integers(0, 7), st.text(max_size=30)), max_size=12),
)
def test_everything_is_drawn_apart_and_inside(labels: list[str], pairs: list[tuple[int, int, str]]) -> None:
    nodes = [Node(str(n), label, f"/e?x=\"{n}'", start=n == 0) for n, label in enumerate(labels)]
    edges = [Edge(str(a), str(b), label) for a, b, label in pairs if a < len(nodes) and b < len(nodes)]
    svg = drawn(nodes, edges)
    boxes = [(float(r.attrib["x"]), float(r.attrib["y"])) for r in svg.iter(f"{SVG}rect")]
    assert len(set(boxes)) == len(nodes)
    assert all(x >= 0 and x + 190 <= float(svg.attrib["width"]) for x, _ in boxes)
    assert all(y >= 0 and y + 34 <= float(svg.attrib["height"]) for _, y in boxes)
    assert len(svg.findall(f"{SVG}g[@class='edge']")) == len(edges)
    order = [group.attrib["class"].split()[0] for group in svg.findall(f"{SVG}g")]
    assert order == sorted(order), "edges, then labels, then nodes: no line strikes a label out"


@given(
    st.lists(st.text(max_size=40), min_size=1, max_size=8),
    st.lists(st.tuples(st.integers(0, 7), st.integers(0, 7), st.text(max_size=30)), max_size=12),
)
def test_a_narrow_drawing_has_all_of_it_below_each_other(
    labels: list[str], pairs: list[tuple[int, int, str]]
) -> None:
    nodes = [Node(str(n), label, f"/e?x={n}", start=n == 0) for n, label in enumerate(labels)]
    edges = [Edge(str(a), str(b), label) for a, b, label in pairs if a < len(nodes) and b < len(nodes)]
    svg = drawn(nodes, edges, outline)
    boxes = [{name: float(r.attrib[name]) for name in ("x", "y", "width")} for r in svg.iter(f"{SVG}rect")]
    assert len(boxes) == len(nodes)
    assert all(b["x"] >= 0 and b["x"] + b["width"] <= float(svg.attrib["width"]) for b in boxes)
    tops = [b["y"] for b in boxes]
    assert all(below - above >= 44 for above, below in pairwise(tops))
    assert len(svg.findall(f"{SVG}g[@class='edge']")) == len(edges)
    assert len(svg.findall(f"{SVG}g[@class='label']")) == len(edges)


def test_a_narrow_drawing_tells_directions() -> None:
    nodes = [Node("a", "Ada", start=True), Node("m", "Mill"), Node("b", "Ben")]
    svg = drawn(nodes, [Edge("a", "m", "built"), Edge("b", "a", "knows"), Edge("m", "b", "fed")], outline)
    assert [text.text for text in svg.findall(f"{SVG}g[@class='label']/{SVG}text")] == [
        "→ built",
        "← knows",
        "→ fed: Mill",
    ]


def test_columns_go_by_distance() -> None:
    nodes = [Node("far", "far"), Node("start", "start", start=True), Node("near", "near"), Node("off", "off")]
    svg = drawn(nodes, [Edge("near", "start", "a"), Edge("near", "far", "b", strong=True)])
    across = {
        group.findtext(f"{SVG}title"): float(group.find(f"{SVG}rect").attrib["x"])  # type: ignore[union-attr]
        for group in svg.findall(f"{SVG}g")
        if group.attrib["class"].startswith("node")
    }
    assert across["start"] < across["near"] < across["far"] < across["off"]
    assert len(svg.findall(f"{SVG}g[@class='edge strong']")) == 1


def test_words_of_documents_are_escaped() -> None:
    hostile = "</text><script>alert(1)</script>\x1b\u202e"
    text = str(draw_for_screens([Node("a", hostile, '"><b>')], [Edge("a", "a", hostile)], hostile))
    assert "<script" not in text
    assert "\x1b" not in text
    assert '"<' not in text
