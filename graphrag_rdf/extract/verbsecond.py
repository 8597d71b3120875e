"""German and Dutch verbs brought together: a participle or infinitive at the end joins its auxiliary.

`wurde 1871 in Kelm geboren` becomes `wurde geboren 1871 in Kelm`. Subjects behind their verbs stay there, and
such clauses are not read: without cases it is not plain what they are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from .phrases import Item, VerbGroup

_CLAUSE_ENDS = frozenset({".", ",", "u", "w", "(", ")"})


def verb_second_order(items: Sequence[Item]) -> list[Item]:
    """The items of a sentence, clause by clause in subject-verb-object order.

    Args:
        items: as read from left to right.
    """
    ordered: list[Item] = []
    clause: list[Item] = []
    for item in items:
        if item.kind in _CLAUSE_ENDS:
            ordered += [*_joined(clause), item]
            clause = []
        else:
            clause.append(item)
    return ordered + _joined(clause)


def _joined(clause: list[Item]) -> list[Item]:
    """Joins each auxiliary with the participle, infinitive or particle that ends its part of the clause."""
    result = list(clause)
    position = 0
    while position < len(result):
        item = result[position]
        if item.kind == "v" and item.verb is not None:
            end = _end_of_part(result, position)
            final = result[end - 1] if end - 1 > position else None
            if final is not None and _completes(item.verb, final):
                result[position] = replace(item, verb=_with(item.verb, final))
                del result[end - 1]
        position += 1
    return result


def _end_of_part(items: Sequence[Item], start: int) -> int:
    for index in range(start + 1, len(items)):
        if items[index].kind == "v":
            return index - 1 if items[index - 1].kind == "c" else index
        if items[index].kind == "c" and items[index - 1].unit.kind in "EIL":
            return index
    return len(items)


def _completes(verb: VerbGroup, final: Item) -> bool:
    auxiliary = verb.units[-1].kind in "BHXb"
    return (auxiliary and final.unit.kind in "EI") or (verb.units[-1].kind == "V" and final.unit.kind == "L")


def _with(verb: VerbGroup, final: Item) -> VerbGroup:
    passive = final.unit.kind == "E" and verb.units[-1].kind in "Bb"
    return VerbGroup((*verb.units, final.unit), f"{verb.words} {final.unit.lower}", passive, False, False)
