"""Manual corrections of facts: `Engine.facts`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from pyoxigraph import Literal, NamedNode

from graphrag_rdf.errors import UsageError
from graphrag_rdf.extract.numbers import typed_literal
from graphrag_rdf.i18n import tr
from graphrag_rdf.ingest.decisions import Person, in_effect, named, read_decisions
from graphrag_rdf.ingest.fact_decisions import (
    FACTS,
    Edited,
    FactDecision,
    correct_fact,
    remove_facts,
    undo_facts,
)
from graphrag_rdf.ingest.names import Minter
from graphrag_rdf.rdf.namespaces import RDF
from graphrag_rdf.rdf.terms import Statement, local_name, typed
from graphrag_rdf.rdf.terms import Term as AnyTerm
from graphrag_rdf.steps.search import own_names
from graphrag_rdf.store.updates import canonical_term
from graphrag_rdf.trace.facts import FactTerm, given_term, label_of, one_fact, read_labels, things_called

if TYPE_CHECKING:
    from graphrag_rdf.ingest import NeededComponents


class Facts:
    """Manual corrections of the facts of a store.

    A fact is named by three terms or labels: see `trace.facts.facts_called`.

    Raises:
        UsageError: (its methods) when a fact or decision is unknown, or the name is ambiguous.
    """

    def __init__(self, engine: NeededComponents) -> None:
        self._engine = engine

    def decisions(self, *, every: bool = False) -> list[FactDecision]:
        """The decisions in effect, oldest first.

        Args:
            every: also those that were undone.
        """
        decisions = read_decisions(self._engine.store, FACTS)
        return decisions if every else in_effect(decisions)

    def remove(
        self,
        s: str,
        p: str,
        o: str,
        *,
        by: str | None = None,
        reason: str | None = None,
        with_sentences: bool = False,
        dry_run: bool = False,
    ) -> Edited:
        """Remove a fact, even if documents are read again later.

        Args:
            by: name of the person.
            reason: in words.
            with_sentences: leave out the sentences of the fact in answers too.
            dry_run: write nothing.

        Returns:
            the decision; empty when the fact is removed already.
        """
        fact = one_fact(self._engine.store, s, p, o)
        person = Person(by, reason)
        return remove_facts(self._engine, [fact], person, with_sentences=with_sentences, dry_run=dry_run)

    def correct(
        self,
        s: str,
        p: str,
        o: str,
        *,
        subject: str | None = None,
        predicate: str | None = None,
        object: str | None = None,  # noqa: A002 - as the option is called
        by: str | None = None,
        reason: str | None = None,
        with_sentences: bool = False,
        dry_run: bool = False,
    ) -> Edited:
        """Replace a fact by a corrected one.

        Args:
            subject, predicate, object: new parts of the fact, as terms or labels. An unknown label creates a
                new thing. For a literal, a text is read as a value of the same datatype.

        Raises:
            UsageError: also when a text is not a value of the datatype, or the new fact is removed.
        """
        fact = one_fact(self._engine.store, s, p, o)
        names: dict[NamedNode, str] = {}
        is_type = (predicate is None and fact[1] == RDF.type) or predicate == "a"
        value = self._object(fact[2], object, "type" if is_type else "entity", names)
        instead: Statement = (
            fact[0] if subject is None else self._thing(subject, "entity", names),
            self._predicate(fact, predicate, value, names),
            value,
        )
        return correct_fact(
            self._engine,
            fact,
            instead,
            Person(by, reason),
            names=names.items(),
            with_sentences=with_sentences,
            dry_run=dry_run,
        )

    def undo(self, names: Sequence[str], *, dry_run: bool = False) -> Edited:
        """Undo decisions, named by IRI. They stay on record."""
        return undo_facts(self._engine, named(self._engine.store, names, FACTS), dry_run=dry_run)

    def undo_about(self, s: str, p: str, o: str, *, dry_run: bool = False) -> Edited:
        """Undo the decisions about a removed fact."""
        fact = one_fact(self._engine.store, s, p, o)
        standing = [decision for decision in self.decisions() if decision.fact == fact]
        if not standing:
            raise UsageError(
                tr("no decision about ({s}, {p}, {o}) is in effect").format(s=s, p=p, o=o),
                hint=tr("graphrag-rdf facts decisions --all shows all"),
            )
        return undo_facts(self._engine, standing, dry_run=dry_run)

    def as_json(self, done: Edited | Sequence[FactDecision]) -> Any:
        """The JSON of the command line and HTTP for decisions or their effects, with the labels of terms."""
        decisions = done.decisions if isinstance(done, Edited) else done
        facts = [fact for decision in decisions for fact in (decision.fact, decision.instead) if fact]
        if isinstance(done, Edited):
            facts += [*done.facts, *done.asserted, *done.also]
        labels = read_labels(self._engine.store, [term for fact in facts for term in fact])

        def called(term: AnyTerm) -> str:
            return label_of(term, labels)

        if isinstance(done, Edited):
            return done.as_json(called)
        return [decision.as_json(called) for decision in done]

    # --- parts of a correction -----------------------------------------------------------------------

    def _predicate(
        self, old: Statement, text: str | None, value: FactTerm, names: dict[NamedNode, str]
    ) -> NamedNode:
        """The new predicate. Relations to things and to values differ, even if they have the same name."""
        of_values = isinstance(value, Literal)
        if text is None:
            label = label_of(old[1], read_labels(self._engine.store, [old[1]]))
            mint = Minter(self._engine.settings.extract.namespace)
            if of_values == isinstance(old[2], Literal) or old[1] != mint.relation(
                label, of_values=not of_values
            ):
                return old[1]
            text = label
        kind = "value relation" if of_values else "relation"
        return RDF.type if text == "a" else self._thing(text, kind, names)

    def _object(self, old: FactTerm, text: str | None, kind: str, names: dict[NamedNode, str]) -> FactTerm:
        if text is None:
            return old
        term = self._term(text)
        if term is not None:
            return canonical_term(term)  # type: ignore[return-value]
        if isinstance(old, Literal):
            return _literal_like(old, text)
        return self._thing(text, kind, names)

    def _term(self, text: str) -> FactTerm | None:
        """A term; None for a label, even one with the syntax of a malformed term."""
        try:
            return given_term(text)
        except UsageError:
            if things_called(self._engine.store, text):
                return None
            raise

    def _thing(self, text: str, kind: str, names: dict[NamedNode, str]) -> NamedNode:
        """The thing with a name or, if there is none, a new thing.

        Raises:
            UsageError: when the name is ambiguous, or a literal.
        """
        term = self._term(text)
        if isinstance(term, Literal):
            raise UsageError(
                tr("{given} is a literal").format(given=text),
                hint=tr("only the object of a fact may be a literal"),
            )
        if term is not None:
            if not self._engine.store.select("retrieval/labels", things=[term]):
                names[term] = local_name(term.value).replace("-", " ")
            return term
        mint = Minter(self._engine.settings.extract.namespace)
        makers: Mapping[str, Callable[[str], NamedNode]] = {
            "entity": mint.entity,
            "relation": mint.relation,
            "value relation": partial(mint.relation, of_values=True),
            "type": mint.type,
        }
        make = makers[kind]
        called = [thing for thing in things_called(self._engine.store, text) if self._is(thing, kind)]
        if kind.endswith("relation") and called:
            called = [thing for thing in called if thing != mint.relation(text, of_values=kind == "relation")]
        own = own_names(text, [thing.value for thing in called])
        if len(own) > 1:
            raise UsageError(
                tr("{given!r} is ambiguous: {own}").format(given=text, own=", ".join(own)),
                hint=tr("give one of these IRIs"),
            )
        if own:
            return NamedNode(own[0])
        try:
            thing = make(text)
        except ValueError:
            raise UsageError(
                tr("{given!r} cannot be a name").format(given=text), hint=tr("give a label or an IRI")
            ) from None
        names[thing] = " ".join(text.split())
        return thing

    def _is(self, thing: NamedNode, kind: str) -> bool:
        entity = bool(self._engine.store.select("retrieval/canonical", entities=[thing]))
        return entity == (kind == "entity")


def _literal_like(old: Literal, text: str) -> Literal:
    """A literal of the same datatype, or of a related one, such as a year for a date.

    Raises:
        UsageError: when the text is not a value of it.
    """
    if old.language:
        return Literal(text, language=old.language)
    value, datatype, fits = typed_literal(text, old.datatype.value)
    if not fits:
        raise UsageError(
            tr("{text!r} is not of the datatype {datatype}, like {old!r}").format(
                text=text, datatype=local_name(old.datatype.value), old=old.value
            ),
            hint=tr(
                "to replace it by another kind of term, use N-Triples: a text in double quotes, or <http://…>"
            ),
        )
    return typed(value, datatype)
