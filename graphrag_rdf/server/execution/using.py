"""The dataset of an update, written into its text.

SPARQL 1.1 Protocol §2.2.3: `using-graph-uri` and `using-named-graph-uri` are the dataset of every WHERE of
the request, as if each operation had USING clauses; with an update that has USING, USING NAMED or WITH of its
own they are an error. The engine takes no dataset for updates, so the clauses are put in, by tokens.

Where nobody names a dataset, `GRAPH ?g` ranges over all named graphs but the store's own bookkeeping, as it
does in queries.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from graphrag_rdf.rdf.namespaces import Graphs
from graphrag_rdf.server.execution.operations import changed, operations, outermost
from graphrag_rdf.server.http.problems import Problem
from graphrag_rdf.sparql.tokens import Token, tokens


def with_dataset(update: str, default: Sequence[str], named: Sequence[str]) -> str:
    """The update with USING clauses in each of its operations that has a WHERE.

    Args:
        default: IRIs of `using-graph-uri`; `named` those of `using-named-graph-uri`.

    Raises:
        Problem: 400 when the update names a dataset of its own.
    """
    if not default and not named:
        return update
    found = list(tokens(update))
    clauses = "".join([f"USING <{iri}> " for iri in default] + [f"USING NAMED <{iri}> " for iri in named])
    insertions: list[tuple[int, str]] = []
    depth = 0
    for index, token in enumerate(found):
        if token.text == "{":
            depth += 1
        elif token.text == "}":
            depth -= 1
        elif depth == 0 and token.kind == "word":
            word = token.text.upper()
            if word in ("USING", "WITH"):
                raise Problem(
                    400, f"the update has {word} of its own, so the request may not name a dataset beside it"
                )
            if word == "WHERE":
                insertions.append(_clauses_before(update, found, index, clauses))
    return _with(update, insertions)


def outside_bookkeeping(update: str) -> str:
    """The update with `FILTER(?g != <urn:graph:system>)` after each `GRAPH ?g { … }` of its patterns.

    An operation that names its dataset by USING, and a graph that is named by its IRI, are left as they are.
    """
    found = list(tokens(update))
    insertions: list[tuple[int, str]] = []
    for start, end in operations(found):
        operation = found[start:end]
        where = next((i for i in outermost(operation, "WHERE")), None)
        if where is None or next(outermost(operation, "USING"), None) is not None:
            continue
        filters = list(_filters(operation, where))
        if filters and where and operation[where - 1].text.upper() == "DELETE":
            opened, last = operation[where + 1], operation[_closing(operation, where + 1)]
            insertions.append((operation[where].offset, f"{update[opened.offset : last.offset + 1]} "))
        insertions += filters
    return _with(update, insertions)


def query_outside_bookkeeping(query: str) -> str:
    """The same for a query, which names no dataset of its own."""
    return _with(query, list(_filters(list(tokens(query)), -1)))


def _filters(found: Sequence[Token], where: int) -> Iterator[tuple[int, str]]:
    """What to put behind each `GRAPH ?g { … }` after a WHERE, and where."""
    for index in range(where + 1, len(found) - 2):
        word, variable, opened = found[index : index + 3]
        if (
            word.kind == "word"
            and word.text.upper() == "GRAPH"
            and variable.kind == "variable"
            and opened.text == "{"
        ):
            end = found[_closing(found, index + 2)]
            yield end.offset + 1, f" FILTER({variable.text} != <{Graphs.SYSTEM.value}>)"


def _closing(found: Sequence[Token], opened: int) -> int:
    """Where the brace is closed that opens here; the last token when it is not, as the engine will say."""
    depth = 0
    for index in range(opened, len(found)):
        depth += {"{": 1, "}": -1}.get(found[index].text, 0)
        if depth == 0:
            return index
    return len(found) - 1


def _with(update: str, insertions: Sequence[tuple[int, str]]) -> str:
    return changed(update, [(place, place, inserted) for place, inserted in insertions])


def _clauses_before(update: str, found: Sequence[Token], where: int, clauses: str) -> tuple[int, str]:
    """Where to put which text, so that the WHERE at `where` has the clauses."""
    before = found[where - 1] if where else None
    if before is None or before.text.upper() != "DELETE":
        return found[where].offset, clauses
    if where + 1 == len(found):
        return found[where].offset, clauses  # nothing follows: the engine says so
    opened = found[where + 1]  # DELETE WHERE { pattern } is short for DELETE { pattern } WHERE { pattern }
    pattern = update[opened.offset : found[_closing(found, where + 1)].offset + 1]
    return found[where].offset, f"{pattern} {clauses}"
