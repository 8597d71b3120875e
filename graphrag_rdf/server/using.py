"""The dataset parameters of an update, written into its text.

SPARQL 1.1 Protocol §2.2.3: `using-graph-uri` and `using-named-graph-uri` are the dataset of every WHERE of
the request, as if each operation had USING clauses; with an update that has USING, USING NAMED or WITH of its
own they are an error. The engine takes no dataset for updates, so the clauses are put in, by tokens.
"""

from __future__ import annotations

from collections.abc import Sequence

from graphrag_rdf.server.problems import Problem
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
    out, done = [], 0
    for place, inserted in insertions:
        out += [update[done:place], inserted]
        done = place
    return "".join([*out, update[done:]])


def _clauses_before(update: str, found: Sequence[Token], where: int, clauses: str) -> tuple[int, str]:
    """Where to put which text, so that the WHERE at `where` has the clauses."""
    before = found[where - 1] if where else None
    if before is None or before.text.upper() != "DELETE":
        return found[where].offset, clauses
    opened = where + 1  # DELETE WHERE { pattern } is short for DELETE { pattern } WHERE { pattern }
    depth = 0
    for token in found[opened:]:
        depth += {"{": 1, "}": -1}.get(token.text, 0)
        if depth == 0:
            pattern = update[found[opened].offset : token.offset + 1]
            return found[where].offset, f"{pattern} {clauses}"
    return found[where].offset, clauses  # not closed: the engine says so
