"""Whether an endpoint keeps literals as they are, asked before they are written.

Virtuoso takes no durations and no integers of more than 64 bits, and does not find times that it took: that
is an error, before anything of the change is written. Of early years and long decimals it drops digits: that
is a warning.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable

from pyoxigraph import Literal, Quad, Triple

from graphrag_rdf.errors import EndpointError, MalformedError, without_credentials
from graphrag_rdf.rdf.namespaces import RDF, XSD
from graphrag_rdf.rdf.terms import Term
from graphrag_rdf.store.base import Row

log = logging.getLogger(__name__)

_KEPT = frozenset({XSD.string, RDF.langString, RDF.dirLangString, XSD.boolean, XSD.double})
_NUMBERS = frozenset({XSD.integer, XSD.decimal})
_TIMES = frozenset({XSD.date, XSD.dateTime, XSD.gYear, XSD.gYearMonth})
_DIGITS = 15
_BATCH = 100
_PLAIN = Literal("plain")


class LiteralSupport:
    """Remembers which literals an endpoint was seen to give back.

    Args:
        give_back: asks the endpoint for rows with these literals as `value`.
        where: the endpoint's address, for messages.
    """

    def __init__(self, give_back: Callable[[list[Literal]], list[Row]], where: str) -> None:
        self._give_back = give_back
        self._where = where
        self._seen: set[Literal] = set()
        self._refused: set[Literal] = set()

    def require(self, quads: Iterable[Quad]) -> None:
        """See that the literals of quads are kept; warn of those that are changed.

        Raises:
            EndpointError: when some cannot be kept, naming them.
        """
        if refused := self.refused(quad.object for quad in quads):
            raise EndpointError(
                f"{self._where} cannot keep {', '.join(sorted(map(str, refused)))}",
                "refused",
                hint="leave it out, make it a plain text, or use another engine; nothing of it was written",
                address=self._where,
            )

    def refused(self, terms: Iterable[Term]) -> set[Literal]:
        """The literals among terms that cannot be kept; warn of those that are changed.

        Raises:
            EndpointError: when the endpoint does not answer, or refuses other literals too.
        """
        odd = {literal for term in terms if (literal := _odd(term)) is not None}
        asked = sorted(odd - self._seen - self._refused, key=str)
        for start in range(0, len(asked), _BATCH):
            self._ask(asked[start : start + _BATCH])
        return odd & self._refused

    def _ask(self, batch: list[Literal]) -> None:
        kept = self._kept(batch)
        if kept is None and len(batch) > 1:  # one of them is to blame
            for literal in batch:
                self._ask([literal])
            return
        if kept is None:
            self._give_back([_PLAIN])  # an endpoint that refuses this too says nothing of the literal
            self._refused.update(batch)
            return
        for literal in batch:
            if literal not in kept:
                log.warning("%s does not keep all of %s", without_credentials(self._where), literal)
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
    """A literal that not every engine keeps."""
    while isinstance(term, Triple):
        term = term.object
    if not isinstance(term, Literal) or term.datatype in _KEPT:
        return None
    if term.datatype in _NUMBERS:
        return term if len(term.value) > _DIGITS else None
    if term.datatype in _TIMES:
        return None if term.value[:4].isdigit() and not term.value[4:5].isdigit() else term
    return term
