"""A small graph drawn as SVG: things in columns by their distance from where one starts.

Layered drawing after Sugiyama, Tagawa and Toda (1981): columns by breadth-first distance, rows by the mean
row of the neighbours before. No script, no style of its own (see `style.css`), everything in it escaped.
Nodes and edges carry what they are as `data-` attributes, from which a page may make a drawing that moves.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

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
    rest = [key for key in near if key not in waiting]
    while waiting:
        if columns:
            rows = {key: row for row, key in enumerate(columns[-1])}
            waiting.sort(key=lambda key: _mean(rows[other] for other in near[key] if other in rows))
        columns.append(waiting)
        reached = {other for key in waiting for other in near[key]}
        waiting = [key for key in rest if key in reached]
        rest = [key for key in rest if key not in reached]
    if rest:  # not connected with the start
        columns.append(rest)
    return columns


def _mean(values: Iterable[int]) -> float:
    found = list(values)
    return sum(found) / len(found) if found else 0.0


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
    told = f"{names[edge.source]} {edge.label} {names[edge.target]}{' (holds no more)' if edge.gone else ''}"
    line = Markup(  # noqa: S704 - its parts are escaped
        f'<g class="edge{kind}" {data_of(edge)}><title>{escape(one_line(told))}</title>'
        f'<path d="{path}" marker-end="url(#tip)"/></g>'
    )
    return line, Markup(  # noqa: S704 - its parts are escaped
        f'<g class="label{kind}">'
        f'<text x="{at[0]:g}" y="{at[1]:g}" text-anchor="{anchor}">{escape(label)}</text></g>'
    )


def data_of(edge: Edge) -> str:
    """What an edge is, as attributes."""
    from markupsafe import escape

    return (
        f'data-source="{escape(one_line(edge.source))}" data-target="{escape(one_line(edge.target))}" '
        f'data-label="{escape(one_line(edge.label))}"'
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
    what = f'data-key="{escape(one_line(node.key))}" data-label="{escape(one_line(node.label))}"'
    return Markup(f'<g class="{kind}" {what}>{inside}</g>')  # noqa: S704 - its parts are escaped


def shortened(text: str, most: int) -> str:
    """A text on one line, of so many letters at most."""
    line = one_line(text)
    return line if len(line) <= most else f"{line[: most - 1]}…"
