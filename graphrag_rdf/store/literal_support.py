"""Tests whether an endpoint stores literals unchanged, before they are written.

Virtuoso rejects durations and integers of more than 64 bits, and does not find times again. These are errors,
raised before anything of the change is written. It drops digits of early years and long decimals, which is
a warning.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable

from pyoxigraph import Literal, Quad, Triple

from graphrag_rdf.errors import EndpointError, MalformedError, without_credentials
from graphrag_rdf.rdf.namespaces import RDF, XSD
from graphrag_rdf.rdf.terms import Term
from graphrag_rdf.store.base import Row
from graphrag_rdf.store.batches import in_batches

log = logging.getLogger(__name__)

_KEPT = frozenset({XSD.string, RDF.langString, RDF.dirLangString, XSD.boolean, XSD.double})
_NUMBERS = frozenset({XSD.integer, XSD.decimal})
_TIMES = frozenset({XSD.date, XSD.dateTime, XSD.gYear, XSD.gYearMonth})
_DIGITS = 15
_BATCH = 100
_PLAIN = Literal("plain")


class LiteralSupport:
    """Remembers which literals an endpoint returned unchanged.

    Args:
        give_back: queries the endpoint for rows with these literals as `value`.
        where: the endpoint's address, for messages.
    """

    def __init__(self, give_back: Callable[[list[Literal]], list[Row]], where: str) -> None:
        self._give_back = give_back
        self._where = where
        self._seen: set[Literal] = set()
        self._refused: set[Literal] = set()

    def require(self, quads: Iterable[Quad]) -> None:
        """Check that the endpoint can store the literals of quads; warn about changed ones.

        Raises:
            EndpointError: with the literals that it cannot store.
        """
        if refused := self.refused(quad.object for quad in quads):
            raise EndpointError(
                f"{self._where} cannot store {', '.join(sorted(map(str, refused)))}",
                "refused",
                hint="leave them out, make them plain texts, or use another engine. Nothing was written",
                address=self._where,
            )

    def refused(self, terms: Iterable[Term]) -> set[Literal]:
        """The literals among terms that the endpoint cannot store; warn about changed ones.

        Raises:
            EndpointError: when the endpoint does not respond, or rejects plain literals too.
        """
        odd = {literal for term in terms if (literal := _odd(term)) is not None}
        asked = sorted(odd - self._seen - self._refused, key=str)
        for batch in in_batches(asked, _BATCH):
            self._ask(batch)
        return odd & self._refused

    def _ask(self, batch: list[Literal]) -> None:
        kept = self._kept(batch)
        if kept is None and len(batch) > 1:  # one of them causes the error
            for literal in batch:
                self._ask([literal])
            return
        if kept is None:
            self._give_back([_PLAIN])  # an endpoint that rejects this too has another problem
            self._refused.update(batch)
            return
        for literal in batch:
            if literal not in kept:
                log.warning("%s does not store %s exactly", without_credentials(self._where), literal)
        self._seen.update(batch)

    def _kept(self, literals: list[Literal]) -> set[Term] | None:
        try:
            return {row["value"] for row in self._give_back(literals) if "value" in row}
        except MalformedError:
            return None
        except EndpointError as error:
            if error.kind != "refused":
                raise
            return None


def _odd(term: Term) -> Literal | None:
    """A literal that some engines do not store; None for others."""
    while isinstance(term, Triple):
        term = term.object
    if not isinstance(term, Literal) or term.datatype in _KEPT:
        return None
    if term.datatype in _NUMBERS:
        return term if len(term.value) > _DIGITS else None
    if term.datatype in _TIMES:
        return None if term.value[:4].isdigit() and not term.value[4:5].isdigit() else term
    return term
