"""A small graph drawn for narrow screens: things below each other, indented by their distance from the start.

Each thing but the first stands below the one by which it was reached. The relation is written above it, with
an arrow away from (→) or towards (←) that thing. Other edges of a thing are written above it with both ends.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from graphrag_rdf.trace.drawing import Edge, Node, box, data_of, draw, shortened
from graphrag_rdf.trace.lines import one_line

if TYPE_CHECKING:
    from markupsafe import Markup

_WIDTH, _HEIGHT, _LINE, _GAP, _MARGIN, _INDENT, _DEEPEST = 328, 40, 17, 10, 4, 22, 4
_NAME, _RELATION = 7.4, 6.4
"""Width of a letter of a name and of a relation."""


def draw_for_screens(nodes: Sequence[Node], edges: Sequence[Edge], title: str) -> Markup:
    """A drawing for broad screens and one for narrow ones; the style sheet shows one of them.

    Args:
        nodes, edges, title: as of `drawing.draw`.
    """
    return draw(nodes, edges, title) + outline(nodes, edges, title)


def outline(nodes: Sequence[Node], edges: Sequence[Edge], title: str) -> Markup:
    """The drawing for narrow screens, an `svg` element; arguments as of `drawing.draw`."""
    from markupsafe import Markup, escape

    names = {node.key: node.label for node in nodes}
    known = {node.key: node for node in nodes}
    lines, labels, boxes = [], [], []
    places: dict[str, tuple[float, float]] = {}
    waiting, height = list(edges), _MARGIN
    for key, parent, depth in _reached(nodes, edges):
        x = _MARGIN + _INDENT * min(depth, _DEEPEST)
        own = [e for e in waiting if key in (e.source, e.target) and {e.source, e.target} <= {key, *places}]
        waiting = [edge for edge in waiting if edge not in own]
        top = height
        height += _LINE * len(own)
        middle = height + _HEIGHT / 2
        for number, edge in enumerate(own):
            path = ""
            if parent is not None and parent in (edge.source, edge.target):
                left, bottom = places[parent]
                path = f'<path d="M{left + 10:g} {bottom:g}V{middle:g}H{x:g}"/>'
            kind = (" strong" if edge.strong else "") + (" gone" if edge.gone else "")
            lines.append(
                Markup(f'<g class="edge{kind}" {data_of(edge)}>')  # noqa: S704 - its parts are escaped
                + Markup("<title>{}</title>").format(one_line(_told(edge, names)))
                + Markup(path)  # noqa: S704 - numbers
                + Markup("</g>")
            )
            said = shortened(_label(edge, key, parent, names), int((_WIDTH - x - 20) / _RELATION))
            labels.append(
                Markup(f'<g class="label{kind}"><text x="{x + 6:g}" y="{top + _LINE * (number + 1) - 4:g}">')  # noqa: S704 - numbers
                + escape(said)
                + Markup("</text></g>")
            )
        width = _WIDTH - _MARGIN - x
        boxes.append(box(known[key], x, height, width, _HEIGHT, int((width - 16) / _NAME)))
        height += _HEIGHT + _GAP
        places[key] = x, height - _GAP
    shown = Markup("").join([*lines, *labels, *boxes])
    return Markup(  # noqa: S704 - its parts are escaped
        f'<svg class="drawing narrow" role="group" aria-label="{escape(one_line(title))}" '
        f'viewBox="0 0 {_WIDTH} {height}" width="{_WIDTH}" height="{height}">{shown}</svg>'
    )


def _reached(nodes: Sequence[Node], edges: Sequence[Edge]) -> Iterator[tuple[str, str | None, int]]:
    """(key, key of the thing by which it was reached, distance), each thing after that one."""
    near: dict[str, list[str]] = {node.key: [] for node in nodes}
    for edge in edges:
        near[edge.source].append(edge.target)
        near[edge.target].append(edge.source)
    starts = [node.key for node in nodes if node.start] or [node.key for node in nodes[:1]]
    rest = [*starts, *(key for key in near if key not in starts)]
    parents: dict[str, str | None] = {}
    below: dict[str | None, list[str]] = {}
    for start in rest:
        queue: list[tuple[str, str | None]] = [(start, None)]
        for key, parent in queue:  # it grows: breadth first
            if key not in parents:
                parents[key] = parent
                below.setdefault(parent, []).append(key)
                queue += ((other, key) for other in near[key])

    def walk(key: str, depth: int) -> Iterator[tuple[str, str | None, int]]:
        yield key, parents[key], depth
        for child in below.get(key, ()):
            yield from walk(child, depth + 1)

    for key in below.get(None, ()):
        yield from walk(key, 0)


def _label(edge: Edge, key: str, parent: str | None, names: dict[str, str]) -> str:
    mark = "✗ " if edge.gone else ""
    if edge.source == edge.target:
        return f"{mark}↻ {edge.label}"
    other = edge.source if edge.target == key else edge.target
    arrow = "→" if edge.target == key else "←"
    return f"{mark}{arrow} {edge.label}" if other == parent else f"{mark}{arrow} {edge.label}: {names[other]}"


def _told(edge: Edge, names: dict[str, str]) -> str:
    return f"{names[edge.source]} {edge.label} {names[edge.target]}{' (holds no more)' if edge.gone else ''}"
