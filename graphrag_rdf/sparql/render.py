"""Rendering of templates: Jinja2 in which only RDF terms can be printed.

Autoescape is on, every filter is removed, the environment is sandboxed, and `finalize` accepts nothing
but slots (serialised terms), whole numbers, booleans and the output of the macros below. A plain text in
an output is an error.

Macros that templates use:

| macro | output |
|---|---|
| `values("?e", entities)`, `values("?s ?p ?o", edges)` | a VALUES block |
| `values("?s", edges, 0)` | one with the first column of the rows |
| `{% call facts() %}…{% endcall %}` | the pattern in the graph of facts |
| `{% call known() %}…{% endcall %}` | the pattern in the facts, the ontologies or what is inferred |
| `{% call premises() %}…{% endcall %}` | the premises of a rule of reasoning (see `schema.reasoning`) |
| `{% call premise(n) %}…{% endcall %}` | the n-th premise |
| `{% call conclusion() %}…{% endcall %}` | the conclusion |
| `is_fact("?p")` | a condition: the predicate is not one of names, types or merges |
| `is_sentence("?text")` | a condition: the text ends as sentences do, unlike a heading or a label |
| `contains(c, s, p, o)` | container `c` (subgraph) contains the fact |
| `reifies(r, s, p, o)` | `r` is a reifier (evidence) of the fact |
| `edge_term(x, s, p, o)` | `x tg:edge` the fact |
| `also_stated(x, s, p, o)` | selection `x` of a trace also stands for the fact |
| `retracts(d, s, p, o)` | decision `d` retracts the fact |
| `asserts_instead(d, s, p, o)` | correction `d` asserts the fact instead |
| `inferred_from(i, s, p, o)` | inference `i` of a trace has the fact as a premise |
| `hit("?thing", "rag:bm25", "?value")` | the question's hits of a kind, or of several, in a sub-SELECT |
| `hit_of(x, s, p, o)` | exploration `x` of a trace has the hit |
| `given("rag:sureness", "?value")` | what a question's exploration says of itself |
| `{% call each("?e", entities, "?e ?s", limit) %}…{% endcall %}` | up to `limit` solutions for each entity |
| `{% call each(…, distinct=True) %}…{% endcall %}` | up to `limit` distinct ones |
| `date_range("?date", "?start", "?end")` | first and last instant of a date, month, year or time |
| `period("?evidence", "?document", "?begins", "?ends")` | when a fact holds, by its evidence, as texts |
| `overlap("?begins", "?ends", "?other_begins", "?other_ends")` | a condition: two such periods overlap |
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from itertools import count
from types import CodeType
from typing import Any, Literal, TypeAlias

from jinja2 import StrictUndefined, Template, pass_context
from jinja2 import TemplateError as JinjaError
from jinja2.runtime import Context
from jinja2.sandbox import ImmutableSandboxedEnvironment
from markupsafe import Markup
from pyoxigraph import BlankNode, DefaultGraph, NamedNode, Quad, Triple

from graphrag_rdf.errors import TemplateError
from graphrag_rdf.i18n import tr
from graphrag_rdf.rdf import iris
from graphrag_rdf.rdf.namespaces import NO_FACTS, PREFIXES, RDF, Graphs, expand, prefixed
from graphrag_rdf.rdf.terms import Term
from graphrag_rdf.sparql.parameters import Slot

_WRITTEN = re.compile(r"(\?[A-Za-z_]\w*|[a-z][\w-]*:[A-Za-z_][\w-]*|a)\Z")
_VARIABLES = re.compile(r"\?[A-Za-z_]\w*(?: \?[A-Za-z_]\w*)*\Z")
_IRI = re.compile(r"<[^<>\s]*>")
_PREFIX_USE = re.compile(r"(?<![\w:#-])([a-z][a-z-]*):(?=[A-Za-z_])")
_MACRO_PREFIXES = (
    *(("contains(", prefix) for prefix in ("tg", "rdf")),
    *(("edge_term(", prefix) for prefix in ("tg", "rdf")),
    *(("also_stated(", prefix) for prefix in ("rag", "rdf")),
    *(("retracts(", prefix) for prefix in ("rag", "rdf")),
    *(("asserts_instead(", prefix) for prefix in ("rag", "rdf")),
    *(("inferred_from(", prefix) for prefix in ("rag", "rdf")),
    *(("hit(", prefix) for prefix in ("rag", "rdf")),
    *(("hit_of(", prefix) for prefix in ("rag", "rdf")),
    ("given(", "rag"),
    ("reifies(", "rdf"),
    ("as_term(", "rdf"),
    ("parts(", "rdf"),
    ("date_range(", "xsd"),
    *(("period(", prefix) for prefix in ("rag", "dcterms")),
    *(("is_fact(", prefix) for prefix in ("rdf", "rdfs", "skos", "owl")),
)
"""Prefixes that the output of a macro uses."""
_BLANK_LINES = re.compile(r"\n[ \t]*(?=\n)")


def _finalize(value: object) -> Markup:
    if isinstance(value, bool):
        return Markup("true" if value else "false")
    if isinstance(value, int):
        return Markup(str(value))
    if isinstance(value, Markup):
        return value
    if isinstance(value, Slot):
        return Markup(str(value))
    raise TemplateError(
        tr("only RDF terms can be printed into a query, not a {name}").format(name=type(value).__name__)
    )


def _cell(value: object) -> str:
    """As `_finalize`, without a Markup for each term of a VALUES block, which may have hundreds."""
    return str(value) if isinstance(value, Slot) else str(_finalize(value))


def _slot(value: object) -> str:
    """A macro argument: a variable or prefixed name written in the template, or a term."""
    if isinstance(value, Slot):
        return str(value)
    if isinstance(value, str) and not isinstance(value, Markup) and _WRITTEN.match(value):
        return value
    raise TemplateError(tr("{value!r} is not a variable, prefixed name or RDF term").format(value=value))


def _values(
    variables: str, rows: Iterable[Any], column: int | None = None, *, numbered: bool = False
) -> Markup:
    """A VALUES block. With `numbered`, the first variable is the place of the row, from 0. Sorting by it
    takes little time; the engine looks up an IRI for each comparison.
    """
    if not _VARIABLES.match(variables):
        raise TemplateError(tr("not a list of variables: {variables!r}").format(variables=variables))
    if column is not None:
        rows = [row[column] for row in rows]
    if numbered:
        single = variables.count(" ") == 1
        cells = (f"{_cell(row)})" if single else row.text[1:] for row in rows)
        numbers = " ".join(f"({number} {cell}" for number, cell in enumerate(cells))
        return Markup(f"VALUES ({variables}) {{ {numbers} }}")
    if " " not in variables:
        return Markup(f"VALUES {variables} {{ {' '.join(map(_cell, rows))} }}")
    return Markup(f"VALUES ({variables}) {{ {' '.join([row.text for row in rows])} }}")


def _either(predicates: Iterable[Any]) -> Markup:
    """A path of one step along any of the predicates. VALUES would read all triples."""
    alternatives = "|".join(map(_cell, predicates))
    if not alternatives:
        raise TemplateError(tr("either() needs a predicate"))
    return Markup(alternatives)


def _is_fact(predicate: object) -> Markup:
    """A condition on a variable, which leaves out the predicates that do not count as facts."""
    no_facts = ", ".join(filter(None, map(prefixed, NO_FACTS)))
    return Markup(f"{_slot(predicate)} NOT IN ({no_facts})")


def _is_sentence(text: object) -> Markup:
    """A condition on a variable: a full stop or its like ends it, before marks, emoji and note numbers."""
    return Markup(f'REGEX({_slot(text)}, "[.!?…。！？।](\\\\[[0-9]+\\\\]|[^A-Za-z0-9])*$")')


_MONTH, _DAY = "(0[1-9]|1[0-2])", "(0[1-9]|[12][0-9]|3[01])"
_ZONE = "(Z|[+-][0-9]{2}:[0-9]{2})"
_DATE = f"^(-?[0-9]{{4,}}(-{_MONTH}(-{_DAY})?)?)(T[0-9:.]+)?{_ZONE}?$"
_LEAP = "(0[48]|[2468][048]|[13579][26]|([02468][048]|[13579][26])00)-02$"


def _date_range(value: object, start: str, end: str) -> Markup:
    """The first and last instant of a date (XSD 1.1 part 2, 3.3.7 to 3.3.11), as xsd:dateTime.

    Everything is read from the lexical form, because SPARQL 1.1 compares neither xsd:gYear with xsd:date
    nor a value with a time zone with one without. Values without time zone are taken as UTC. What is no
    date leaves both unbound, and is not cast: for Virtuoso, a failed cast is an error of the whole query.

    Args:
        value: a variable or term: xsd:dateTime, xsd:date, xsd:gYearMonth, xsd:gYear, or a text in the form
            of one.
        start, end: variables; three more are named after `start`, of which one is never bound.
    """
    if not (_VARIABLES.match(start) and _VARIABLES.match(end)):
        raise TemplateError(tr("not variables: {start!r}, {end!r}").format(start=start, end=end))
    text = f"STR({_slot(value)})"
    day, zone = f"{start}_day", f"{start}_zone"
    last_day = (
        f'IF(REGEX({day}, "-(04|06|09|11)$"), "-30", IF(!REGEX({day}, "-02$"), "-31",'
        f' IF(REGEX({day}, "{_LEAP}"), "-29", "-28")))'
    )

    def instant(of_year: str, of_month: str, time: str) -> str:
        completion = (
            f'IF(CONTAINS({day}, "T"), "", IF(REGEX({day}, "[0-9]{{4}}-[0-9]{{2}}-[0-9]{{2}}$"), "{time}",'
            f' CONCAT(IF(REGEX({day}, "[0-9]{{4}}-[0-9]{{2}}$"), {of_month}, "{of_year}"), "{time}")))'
        )
        complete = f"xsd:dateTime(CONCAT({day}, {completion}, {zone}))"
        return f'IF(REGEX({text}, "{_DATE}"), {complete}, {start}_none)'

    first = instant("-01-01", '"-01"', "T00:00:00")
    last = instant("-12-31", last_day, "T23:59:59.999")
    return Markup(
        f'BIND(REPLACE({text}, "{_DATE}", "$1$6") AS {day})\n'
        f'BIND(IF(REGEX({text}, "{_ZONE}$"), REPLACE({text}, "{_DATE}", "$7"), "Z") AS {zone})\n'
        f"BIND({first} AS {start})\n"
        f"BIND({last} AS {end})"
    )


def _period(evidence: str, document: str, begins: str, ends: str) -> Markup:
    """When a fact holds, by its evidence: dates as texts, "0" and "9" where nothing limits it.

    A fact without an end holds up to the date of its document; if that has none, nobody knows more than its
    beginning.

    Args:
        evidence, document: bound variables.
        begins, ends: variables; more are named after `begins`.
    """
    dates = {name: f"{begins}_{name}" for name in ("since", "until", "at", "written")}
    read = "\n".join(
        f"OPTIONAL {{ GRAPH {Graphs.SOURCE} {{ {_slot(document if name == 'written' else evidence)}"
        f" {'dcterms:date' if name == 'written' else f'rag:{name}'} {date} }} }}"
        for name, date in dates.items()
    )
    # a qualifier may be words of the text, such as "spring"
    since, until, at, written = (
        f'IF(REGEX(STR({date}), "^[0-9]{{4}}"), STR({date}), {begins}_none)' for date in dates.values()
    )
    return Markup(
        f'{read}\nBIND(COALESCE({since}, {at}, "0") AS {_slot(begins)})\n'
        f'BIND(COALESCE({until}, {at}, {written}, {since}, "9") AS {_slot(ends)})'
    )


def _overlap(begins: str, ends: str, other_begins: str, other_ends: str) -> Markup:
    """A condition: two periods have a time in common. Of dates of unlike precision as much is compared as
    both have; what ends in a year and what begins in it follow each other.
    """
    first, last, other_first, other_last = map(_slot, (begins, ends, other_begins, other_ends))
    return Markup(
        f"(STRSTARTS({first}, {other_first}) || STRSTARTS({other_first}, {first})"
        f" || SUBSTR({first}, 1, STRLEN({other_last})) < SUBSTR({other_last}, 1, STRLEN({first}))"
        f" && SUBSTR({other_first}, 1, STRLEN({last})) < SUBSTR({last}, 1, STRLEN({other_first})))"
    )


def _environment() -> ImmutableSandboxedEnvironment:
    environment = ImmutableSandboxedEnvironment(
        autoescape=True,
        finalize=_finalize,
        undefined=StrictUndefined,
        keep_trailing_newline=False,
    )
    environment.filters.clear()
    environment.globals.clear()
    return environment


@lru_cache(maxsize=2048)
def _code(source: str) -> CodeType:
    """A template's body as Python code, which the renderers of all engines share."""
    return _environment().compile(source)


class Renderer:
    """Renders template bodies for one dialect.

    Attributes:
        trace_graph: the graph of traces, `<urn:graph:retrieval>` in templates. Set it before use.

    Args:
        dialect: the syntax of triple terms.
        facts_graph: the named graph of facts; None for the default graph.
        lateral: whether the engine supports LATERAL (SEP-0006). Otherwise `each` is a UNION of an inner
        SELECT
            for each node, and planning a hundred of them takes longer than running them.
    """

    def __init__(
        self, dialect: Dialect = "rdf12", facts_graph: NamedNode | None = None, *, lateral: bool = False
    ) -> None:
        self.dialect = dialect
        self.facts_graph = facts_graph
        self.lateral = lateral
        environment = _environment()
        self._fresh = count()
        environment.globals.update(
            values=_values,
            either=_either,
            is_fact=_is_fact,
            is_sentence=_is_sentence,
            date_range=_date_range,
            period=_period,
            overlap=_overlap,
            facts=self._facts,
            known=self._known,
            premises=self._premises,
            premise=self._premise,
            conclusion=self._conclusion,
            each=self._each,
            contains=self._linked("tg:contains"),
            as_term=self._as_term,
            parts=self._parts,
            reifies=self._linked("rdf:reifies"),
            edge_term=self._linked("tg:edge"),
            also_stated=self._linked("rag:alsoStatedAs"),
            retracts=self._linked("rag:retracts"),
            asserts_instead=self._linked("rag:assertsInstead"),
            inferred_from=self._linked("rag:premise"),
            hit=self._hit,
            hit_of=self._linked("rag:hit"),
            given=self._given,
        )
        self.trace_graph = Graphs.RETRIEVAL
        self._environment = environment
        self._compiled: dict[str, Template] = {}

    def _linked(self, link: str) -> Callable[[object, object, object, object], Markup]:
        def macro(subject: object, s: object, p: object, o: object) -> Markup:
            fresh = f"?statement_{next(self._fresh) % 1000}"
            triple = (_slot(s), _slot(p), _slot(o))
            return Markup(triple_term_pattern(self.dialect, _slot(subject), link, triple, fresh))

        return macro

    def _as_term(self, term: object, s: object, p: object, o: object) -> Markup:
        if self.dialect == "classic":
            return self._parts(term, s, p, o)
        # only what is bound for sure is compared by a key, and TRIPLE() may fail
        triple = f"TRIPLE({_slot(s)}, {_slot(p)}, {_slot(o)})"
        return Markup(f"BIND(COALESCE({triple}, rdf:nil) AS {_slot(term)})")

    def _parts(self, term: object, s: object, p: object, o: object) -> Markup:
        parts = zip(("subject", "predicate", "object"), map(_slot, (s, p, o)), strict=True)
        if self.dialect != "classic":
            return Markup("\n".join(f"BIND({name.upper()}({_slot(term)}) AS {part})" for name, part in parts))
        described = " ; ".join(f"rdf:{name} {part}" for name, part in parts)
        return Markup(f"GRAPH {Graphs.SOURCE} {{ {_slot(term)} {described} . }}")

    @pass_context
    def _hit(self, context: Context, thing: str, kinds: str | list[str], value: str) -> Markup:
        """Hits of an exploration: quads of the traces, or rows of the parameter `hits` where it is given.

        A sub-SELECT, since the engine joins two kinds of hits in one group ten times as slowly.
        """
        wanted = [kinds] if isinstance(kinds, str) else kinds
        if not (_VARIABLES.match(thing) and _VARIABLES.match(value)):
            raise TemplateError(tr("not variables: {start!r}, {end!r}").format(start=thing, end=value))
        if context["hits"]:
            full = {str(expand(kind)) for kind in wanted}
            rows = " ".join(f"({row[0]} {row[2]})" for row in context["hits"] if str(row[1]) in full)
            return Markup(f"VALUES ({thing} {value}) {{ {rows} }}")
        fresh = f"?statement_{next(self._fresh) % 1000}"
        kind = _slot(wanted[0]) if len(wanted) == 1 else f"{fresh}_kind"
        triple = (thing, kind, value)
        pattern = triple_term_pattern(self.dialect, _slot(context["exploration"]), "rag:hit", triple, fresh)
        among = f" FILTER({kind} IN ({', '.join(map(_slot, wanted))}))" if len(wanted) > 1 else ""
        return Markup(
            f"{{ SELECT {thing} {value} WHERE {{ GRAPH {self.trace_graph} {{ {pattern} }}{among} }} }}"
        )

    @pass_context
    def _given(self, context: Context, predicate: str, value: str) -> Markup:
        """What an exploration says of itself, from the traces or the parameter `hits`."""
        exploration = _slot(context["exploration"])
        if context["hits"]:
            about = (exploration, str(expand(predicate)))
            rows = (str(row[2]) for row in context["hits"] if (str(row[0]), str(row[1])) == about)
            return Markup(f"VALUES {_slot(value)} {{ {' '.join(rows)} }}")
        return Markup(f"GRAPH {self.trace_graph} {{ {exploration} {_slot(predicate)} {_slot(value)} }}")

    def _facts(self, caller: Callable[[], Markup]) -> Markup:
        if self.facts_graph is None:
            return caller()
        return Markup(f"GRAPH {self.facts_graph} {{ {caller()} }}")

    def _known(self, caller: Callable[[], Markup], *, before: bool = False) -> Markup:
        named = (Graphs.ONTOLOGY, Graphs.INFERRED, *([Graphs.LOST] if before else []))
        graphs = [f"GRAPH {graph} {{ {caller()} }}" for graph in named]
        return Markup("{ " + " } UNION { ".join([self._facts(caller), *graphs]) + " }")

    @pass_context
    def _premise(self, context: Context, number: int, caller: Callable[[], Markup]) -> Markup:
        if number == context["changed"]:
            return Markup(f"GRAPH {_slot(context['delta'])} {{ {caller()} }}")
        if context["lost"] and context["check"] and number > 1:
            return Markup(f"{{ {self._facts(caller)} }} UNION {{ GRAPH {Graphs.ONTOLOGY} {{ {caller()} }} }}")
        return self._known(caller, before=context["lost"] and not context["check"])

    @pass_context
    def _premises(self, context: Context, caller: Callable[[], Markup]) -> Markup:
        return (
            caller()
            if context["edges"] or not context["check"]
            else Markup(f"FILTER EXISTS {{ {caller()} }}")
        )

    @pass_context
    def _conclusion(self, context: Context, caller: Callable[[], Markup]) -> Markup:
        if context["edges"]:
            return Markup()
        if context["check"]:
            return Markup(f"GRAPH {_slot(context['delta'])} {{ {caller()} }}")
        if context["lost"]:
            held, lost = (f"GRAPH {graph} {{ {caller()} }}" for graph in (Graphs.INFERRED, Graphs.LOST))
            return Markup(f"FILTER EXISTS {{ {held} }} FILTER NOT EXISTS {{ {lost} }}")
        return Markup(f"FILTER NOT EXISTS {{ {self._known(caller)} }}")

    def _each(
        self,
        variable: str,
        nodes: Iterable[object],
        projected: str,
        limit: int,
        caller: Callable[[], Markup],
        *,
        distinct: bool = False,
    ) -> Markup:
        if not _VARIABLES.match(projected):
            raise TemplateError(tr("not a list of variables: {variables!r}").format(variables=projected))

        def select(bound: str) -> str:
            what = f"DISTINCT {projected}" if distinct else projected
            return f"{{ SELECT {what} WHERE {{ {bound}{caller()} }} LIMIT {_finalize(limit)} }}"

        if self.lateral:
            return Markup(f"{_values(variable, nodes)} LATERAL {select('')}")
        return Markup("\nUNION\n".join(select(f"{_values(variable, [node])} ") for node in nodes))

    def render(self, name: str, body: str, context: dict[str, Any]) -> str:
        """The query text, with the prefixes that it uses.

        Raises:
            TemplateError: when rendering fails, with the name of the template.
        """
        try:
            template = self._compiled.get(body)
            if template is None:
                source = body.replace(str(Graphs.RETRIEVAL), str(self.trace_graph))
                template = Template.from_code(
                    self._environment, _code(source), self._environment.make_globals(None)
                )
                self._compiled[body] = template
            text = template.render(context)
        except (JinjaError, TypeError, ValueError, ArithmeticError, LookupError, AttributeError) as error:
            raise TemplateError(tr("query {name}: {error}").format(name=name, error=error)) from error
        text = _BLANK_LINES.sub("", text).strip()
        return prologue(body) + text


@lru_cache(maxsize=1024)
def with_prefixes(query: str) -> str:
    """A query with the program's prefixes on its first line, so that lines keep their numbers; its own
    declarations override them.
    """
    return prologue(query).replace("\n", " ") + query


@lru_cache(maxsize=1024)
def prologue(body: str) -> str:
    """PREFIX lines for the prefixes in a template's text and in the output of its macros."""
    used = set(_PREFIX_USE.findall(_IRI.sub("", body))) & PREFIXES.keys()
    used |= {prefix for macro, prefix in _MACRO_PREFIXES if macro in body}
    return "".join(f"PREFIX {prefix}: <{PREFIXES[prefix]}>\n" for prefix in PREFIXES if prefix in used)


Dialect: TypeAlias = Literal["rdf12", "rdf-star", "classic"]
DIALECTS: tuple[Dialect, ...] = ("rdf12", "rdf-star", "classic")

Subject: TypeAlias = NamedNode | BlankNode | Triple
Graph: TypeAlias = NamedNode | BlankNode | DefaultGraph
_PARTS = (RDF.subject, RDF.predicate, RDF.object)
_BRACKETS: dict[Dialect, tuple[str, str]] = {"rdf12": ("<<( ", " )>>"), "rdf-star": ("<< ", " >>")}


def triple_term_pattern(
    dialect: Dialect, subject: str, link: str, triple: tuple[str, str, str], fresh: str
) -> str:
    """The pattern "`subject` is linked by `link` to the triple term (s p o)".

    Args:
        subject: a variable or serialised term.
        link: the predicate, as a prefixed name; `rdf:reifies` makes `subject` a reifier.
        triple: variables or serialised terms.
        fresh: an unused variable, for the statement node of `classic`.
    """
    s, p, o = triple
    if dialect != "classic":
        opening, right = _BRACKETS[dialect]
        return f"{subject} {link} {opening}{s} {p} {o}{right} ."
    if link == "rdf:reifies":
        return f"{subject} rdf:subject {s} ; rdf:predicate {p} ; rdf:object {o} ."
    return f"{subject} {link} {fresh} . {fresh} rdf:subject {s} ; rdf:predicate {p} ; rdf:object {o} ."


def spelled(term: Term, dialect: Dialect) -> str:
    """A term in the N-Triples of a dialect; `classic` has no syntax for triple terms (see `encode`).

    Raises:
        TypeError: for a triple term in `classic`.
    """
    if not isinstance(term, Triple):
        return str(term)
    if dialect == "classic":
        raise TypeError(tr("the dialect classic has no syntax for triple terms"))
    opening, right = _BRACKETS[dialect]
    return (
        f"{opening}{spelled(term.subject, dialect)} {term.predicate} {spelled(term.object, dialect)}{right}"
    )


def encode(quads: Iterable[Quad], dialect: Dialect) -> Iterator[Quad]:
    """Quads as a dialect stores them; only `classic` changes any.

    Triple terms of `rdf-star` differ from those of `rdf12` in syntax only, so their quads are equal.

    Raises:
        TypeError: for nested triple terms, or a reifier of two, in `classic`.
    """
    if dialect != "classic":
        yield from quads
        return
    described: dict[tuple[Subject, Graph], Triple] = {}
    for quad in quads:
        term = quad.object
        if not isinstance(term, Triple):
            yield quad
            continue
        s, p, o = term.subject, term.predicate, term.object
        if isinstance(o, Triple):
            raise TypeError(tr("the dialect classic has no nested triple terms"))
        graph = quad.graph_name
        node = quad.subject
        if quad.predicate != RDF.reifies:
            node = iris.statement(s, p, o)
            yield Quad(quad.subject, quad.predicate, node, graph)
        original = described.setdefault((node, graph), term)
        if original is not term:
            if original != term:
                raise TypeError(
                    tr("{node} reifies two statements, which the dialect classic cannot express").format(
                        node=node
                    )
                )
            continue
        yield Quad(node, RDF.subject, s, graph)
        yield Quad(node, RDF.predicate, p, graph)
        yield Quad(node, RDF.object, o, graph)


def encode_removal(quads: Iterable[Quad], dialect: Dialect) -> Iterator[Quad]:
    """The quads to remove: `encode`, without the quads that describe a statement.

    Containers share the node of a statement, so it stays when one of them is removed.
    """
    for quad in encode(quads, dialect):
        if not (quad.predicate in _PARTS and _is_statement(quad.subject)):
            yield quad


def decode(quads: Iterable[Quad]) -> Iterator[Quad]:
    """The reverse of `encode` for `classic`: statement nodes become triple terms again.

    `quads` must contain whole graphs, because a statement is three quads. Incomplete statements stay
    unchanged.
    """
    kept: list[Quad] = []
    described: dict[tuple[Subject, Graph], dict[NamedNode, Quad]] = {}
    for quad in quads:
        if quad.predicate not in _PARTS:
            kept.append(quad)
            continue
        parts = described.setdefault((quad.subject, quad.graph_name), {})
        if parts.setdefault(quad.predicate, quad) != quad:
            kept.append(quad)
    statements: dict[Subject, Triple] = {}
    for (node, graph), parts in described.items():
        if len(parts) < len(_PARTS):
            yield from parts.values()
            continue
        triple = Triple(*(parts[name].object for name in _PARTS))  # type: ignore[arg-type]
        if _is_statement(node):
            statements[node] = triple
        else:
            yield Quad(node, RDF.reifies, triple, graph)
    for quad in kept:
        meant = statements.get(quad.object) if isinstance(quad.object, NamedNode) else None
        yield Quad(quad.subject, quad.predicate, meant, quad.graph_name) if meant else quad


def _is_statement(node: object) -> bool:
    return isinstance(node, NamedNode) and node.value.startswith(iris.STATEMENT)
