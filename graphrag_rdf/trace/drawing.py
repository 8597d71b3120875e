"""A small graph drawn as SVG, for broad and for narrow screens.

Layered drawing after Sugiyama, Tagawa and Toda (1981): columns by breadth-first distance from the start,
rows by the mean row of the neighbours before. No script, no style of its own (see `style.css`), everything
in it escaped.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from graphrag_rdf.i18n import tr
from graphrag_rdf.trace.lines import one_line

if TYPE_CHECKING:
    from markupsafe import Markup


_WIDTH, _HEIGHT, _GAP, _ROW, _MARGIN = 190, 34, 160, 54, 14
_NAME, _RELATION = 25, 22
"""Letters of a name and of a relation that fit."""


@dataclass(frozen=True, slots=True)
class Node:
    """A thing.

    Attributes:
        href: where its name leads; None for no link.
        start: whether columns are counted from it.
    """

    key: str
    label: str
    href: str | None = None
    start: bool = False


@dataclass(frozen=True, slots=True)
class Edge:
    """A fact between two nodes, by their keys; `strong` ones stand out, `gone` ones hold no more."""

    source: str
    target: str
    label: str
    strong: bool = False
    gone: bool = False


def draw(nodes: Sequence[Node], edges: Sequence[Edge], title: str) -> Markup:
    """The drawing.

    Args:
        nodes: with different keys.
        edges: between keys of nodes.
        title: what it shows, for those who do not see it.

    Returns:
        an `svg` element.
    """
    from markupsafe import Markup, escape

    columns = _columns(nodes, edges)
    places = _places(columns)
    width = len(columns) * (_WIDTH + _GAP) - _GAP + 2 * _MARGIN
    height = max((len(column) for column in columns), default=0) * _ROW + 2 * _MARGIN
    names = {node.key: node.label for node in nodes}
    lines = [_line(edge, places, names, *turn) for edge, *turn in _turns(edges, places)]
    shown = Markup("").join(
        [
            *(line for line, _ in lines),
            *(label for _, label in lines),  # above all lines, so that none strikes a label out
            *(box(node, *places[node.key], _WIDTH, _HEIGHT, _NAME) for node in nodes),
        ]
    )
    return Markup(  # noqa: S704 - its parts are escaped
        f'<svg class="drawing broad" role="group" aria-label="{escape(one_line(title))}" '
        f'viewBox="0 0 {width} {height}" width="{width}" height="{height}">'
        '<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" '
        f'orient="auto-start-reverse"><path d="M0 0 8 4 0 8z"/></marker></defs>{shown}</svg>'
    )


def _columns(nodes: Sequence[Node], edges: Sequence[Edge]) -> list[list[str]]:
    """Keys by column, in the order of their rows."""
    near: dict[str, list[str]] = {node.key: [] for node in nodes}
    for edge in edges:
        near[edge.source].append(edge.target)
        near[edge.target].append(edge.source)
    columns: list[list[str]] = []
    waiting = [node.key for node in nodes if node.start] or [node.key for node in nodes[:1]]
    remaining = [key for key in near if key not in waiting]
    while waiting:
        if columns:
            rows = {key: row for row, key in enumerate(columns[-1])}
            waiting.sort(
                key=lambda key: _mean(rows[neighbour] for neighbour in near[key] if neighbour in rows)
            )
        columns.append(waiting)
        reached = {neighbour for key in waiting for neighbour in near[key]}
        waiting = [key for key in remaining if key in reached]
        remaining = [key for key in remaining if key not in reached]
    if remaining:  # not connected with the start
        columns.append(remaining)
    return columns


def _mean(values: Iterable[int]) -> float:
    numbers = list(values)
    return sum(numbers) / len(numbers) if numbers else 0.0


def _places(columns: Sequence[Sequence[str]]) -> dict[str, tuple[float, float]]:
    """Left upper corner of each node; columns are centred."""
    most = max((len(column) for column in columns), default=0)
    return {
        key: (
            _MARGIN + number * (_WIDTH + _GAP),
            _MARGIN + (row + (most - len(column)) / 2) * _ROW + (_ROW - _HEIGHT) / 2,
        )
        for number, column in enumerate(columns)
        for row, key in enumerate(column)
    }


def _turns(
    edges: Sequence[Edge], places: Mapping[str, tuple[float, float]]
) -> Iterable[tuple[Edge, int, int]]:
    """Each edge with how many went before between the same two nodes, and how many labels stand at the same
    node, so that neither lines nor labels collide.
    """
    seen: Counter[frozenset[str]] = Counter()
    labels: Counter[tuple[str, bool]] = Counter()
    for edge in edges:
        pair = frozenset((edge.source, edge.target))
        farther = max(edge.source, edge.target, key=lambda key: places[key])
        place = (farther, places[edge.source][0] == places[edge.target][0])
        yield edge, seen[pair], labels[place]
        seen[pair] += 1
        labels[place] += 1


def _line(
    edge: Edge, places: Mapping[str, tuple[float, float]], names: Mapping[str, str], turn: int, above: int
) -> tuple[Markup, Markup]:
    """An edge and its label."""
    from markupsafe import Markup, escape

    (x1, y1), (x2, y2) = places[edge.source], places[edge.target]
    middle = _HEIGHT / 2 + min(turn, 2) * 6 - (6 if turn else 0)
    y1, y2 = y1 + middle, y2 + middle
    if x1 == x2:  # in one column: a bow on its right
        start, end = x1 + _WIDTH, x2 + _WIDTH
        bow = start + 34 + 6 * turn
        path, at = f"M{start:g} {y1:g}C{bow:g} {y1:g} {bow:g} {y2:g} {end:g} {y2:g}", (bow, (y1 + y2) / 2)
        anchor = "start"
    else:
        start, end = (x1 + _WIDTH, x2) if x1 < x2 else (x1, x2 + _WIDTH)
        half = (start + end) / 2
        path = f"M{start:g} {y1:g}C{half:g} {y1:g} {half:g} {y2:g} {end:g} {y2:g}"
        right, level = (end, y2) if x1 < x2 else (start, y1)  # beside the node farther off: each has a row
        at, anchor = (right - 10, level - 4 - 13 * above), "end"
    kind = (" strong" if edge.strong else "") + (" gone" if edge.gone else "")
    label = ("✗ " if edge.gone else "") + shortened(edge.label, _RELATION)
    title = _told(edge, names)
    line = Markup(  # noqa: S704 - its parts are escaped
        f'<g class="edge{kind}"><title>{escape(one_line(title))}</title>'
        f'<path d="{path}" marker-end="url(#tip)"/></g>'
    )
    return line, Markup(  # noqa: S704 - its parts are escaped
        f'<g class="label{kind}">'
        f'<text x="{at[0]:g}" y="{at[1]:g}" text-anchor="{anchor}">{escape(label)}</text></g>'
    )


def box(node: Node, x: float, y: float, width: float, height: float, letters: int) -> Markup:
    """A node.

    Args:
        letters: of its name that fit.
    """
    from markupsafe import Markup, escape

    shape = (
        f'<rect x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" rx="6"/>'
        f'<text x="{x + width / 2:g}" y="{y + height / 2 + 4:g}" text-anchor="middle">'
        f"{escape(shortened(node.label, letters))}</text><title>{escape(one_line(node.label))}</title>"
    )
    inside = f'<a href="{escape(node.href)}">{shape}</a>' if node.href else shape
    kind = "node start" if node.start else "node"
    return Markup(f'<g class="{kind}">{inside}</g>')  # noqa: S704 - its parts are escaped


def shortened(text: str, most: int) -> str:
    """A text on one line, of so many letters at most."""
    line = one_line(text)
    return line if len(line) <= most else f"{line[: most - 1]}…"


# --- narrow screens ------------------------------------------------------------------------------------

_OUTLINE_WIDTH, _OUTLINE_HEIGHT, _LINE, _OUTLINE_GAP, _OUTLINE_MARGIN, _INDENT, _DEEPEST = (
    328,
    40,
    17,
    10,
    4,
    22,
    4,
)
_NAME_LETTER, _RELATION_LETTER = 7.4, 6.4
"""Width of a letter of a name and of a relation."""


def draw_for_screens(nodes: Sequence[Node], edges: Sequence[Edge], title: str) -> Markup:
    """A drawing for broad screens and one for narrow ones; the style sheet shows one of them.

    Args:
        nodes, edges, title: as of `draw`.
    """
    return draw(nodes, edges, title) + outline(nodes, edges, title)


def outline(nodes: Sequence[Node], edges: Sequence[Edge], title: str) -> Markup:
    """The drawing for narrow screens, an `svg` element; arguments as of `draw`.

    Things stand below each other, indented by their distance from the start, each but the first below the
    one by which it was reached. The relation is written above it, with an arrow away from (→) or towards
    (←) that thing. Other edges of a thing are written above it with both ends.
    """
    from markupsafe import Markup, escape

    names = {node.key: node.label for node in nodes}
    by_key = {node.key: node for node in nodes}
    lines, labels, boxes = [], [], []
    places: dict[str, tuple[float, float]] = {}
    waiting, height = list(edges), _OUTLINE_MARGIN
    for key, parent, depth in _reached(nodes, edges):
        x = _OUTLINE_MARGIN + _INDENT * min(depth, _DEEPEST)
        own = [e for e in waiting if key in (e.source, e.target) and {e.source, e.target} <= {key, *places}]
        waiting = [edge for edge in waiting if edge not in own]
        top = height
        height += _LINE * len(own)
        middle = height + _OUTLINE_HEIGHT / 2
        for number, edge in enumerate(own):
            path = ""
            if parent is not None and parent in (edge.source, edge.target):
                x_parent, bottom = places[parent]
                path = f'<path d="M{x_parent + 10:g} {bottom:g}V{middle:g}H{x:g}"/>'
            kind = (" strong" if edge.strong else "") + (" gone" if edge.gone else "")
            lines.append(
                Markup(f'<g class="edge{kind}">')  # noqa: S704 - its parts are escaped
                + Markup("<title>{}</title>").format(one_line(_told(edge, names)))
                + Markup(path)  # noqa: S704 - numbers
                + Markup("</g>")
            )
            text = shortened(
                _label(edge, key, parent, names), int((_OUTLINE_WIDTH - x - 20) / _RELATION_LETTER)
            )
            labels.append(
                Markup(  # noqa: S704 - numbers
                    f'<g class="label{kind}"><text x="{x + 6:g}" y="{top + _LINE * (number + 1) - 4:g}">'
                )
                + escape(text)
                + Markup("</text></g>")
            )
        width = _OUTLINE_WIDTH - _OUTLINE_MARGIN - x
        boxes.append(box(by_key[key], x, height, width, _OUTLINE_HEIGHT, int((width - 16) / _NAME_LETTER)))
        height += _OUTLINE_HEIGHT + _OUTLINE_GAP
        places[key] = x, height - _OUTLINE_GAP
    shown = Markup("").join([*lines, *labels, *boxes])
    return Markup(  # noqa: S704 - its parts are escaped
        f'<svg class="drawing narrow" role="group" aria-label="{escape(one_line(title))}" '
        f'viewBox="0 0 {_OUTLINE_WIDTH} {height}" width="{_OUTLINE_WIDTH}" height="{height}">{shown}</svg>'
    )


def _reached(nodes: Sequence[Node], edges: Sequence[Edge]) -> Iterator[tuple[str, str | None, int]]:
    """(key, key of the thing by which it was reached, distance), each thing after that one."""
    near: dict[str, list[str]] = {node.key: [] for node in nodes}
    for edge in edges:
        near[edge.source].append(edge.target)
        near[edge.target].append(edge.source)
    starts = [node.key for node in nodes if node.start] or [node.key for node in nodes[:1]]
    unvisited = [*starts, *(key for key in near if key not in starts)]
    parents: dict[str, str | None] = {}
    below: dict[str | None, list[str]] = {}
    for start in unvisited:
        queue: list[tuple[str, str | None]] = [(start, None)]
        for key, parent in queue:  # it grows: breadth first
            if key not in parents:
                parents[key] = parent
                below.setdefault(parent, []).append(key)
                queue += ((neighbour, key) for neighbour in near[key])

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
    neighbour = edge.source if edge.target == key else edge.target
    arrow = "→" if edge.target == key else "←"
    return (
        f"{mark}{arrow} {edge.label}"
        if neighbour == parent
        else f"{mark}{arrow} {edge.label}: {names[neighbour]}"
    )


def _told(edge: Edge, names: Mapping[str, str]) -> str:
    gone = tr(" (holds no more)") if edge.gone else ""
    return f"{names[edge.source]} {edge.label} {names[edge.target]}{gone}"
