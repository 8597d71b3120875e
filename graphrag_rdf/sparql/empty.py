"""Why a query has no rows: what the same query finds after a change that other stores would not need.

Ten habits give empty results here without an error: a default graph that is the union of all graphs,
`<< s p o >>` for a triple term (SPARQL-star; in SPARQL 1.2 it is a reifier), another IRI for one of the
program's prefixes, names of TrustGraph's earlier specification, its questions as activities, a step that
derives directly from one that is not its neighbour here, labels and values without their language or
datatype, FROM NAMED without GRAPH, and reasons for edges that no model chose.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import combinations, islice

import pyoxigraph as ox

from graphrag_rdf.i18n import listed, ngettext, tr
from graphrag_rdf.rdf.namespaces import PREFIXES, PROV, TG
from graphrag_rdf.sparql.tokens import Token, is_word, names_dataset, outermost, tokens

MOST = 1000
"""Rows that `Alternative.counting` counts at most."""

_TEXTS: Mapping[str, tuple[str, ...]] = {
    TG.answer.value: (TG.content.value,),
    TG.thought.value: (TG.thought.value, TG.content.value),
    TG.observation.value: (TG.observation.value, TG.content.value),
}
"""Paths to the texts that were literals of these properties."""

_QUESTIONS: Mapping[str, tuple[str, ...]] = {
    PROV.Activity.value: (PROV.Entity.value,),
    PROV.startedAtTime.value: (PROV.generatedAtTime.value,),
}
"""Questions were activities."""

_BEGINNINGS: Mapping[str, str] = {
    "urn:trustgraph:prov:retrieval:": "urn:trustgraph:prov:exploration:",
    "urn:trustgraph:prov:selection:": "urn:trustgraph:prov:focus:",
    "urn:trustgraph:prov:answer:": "urn:trustgraph:prov:synthesis:",
    "urn:trustgraph:answer:": "urn:trustgraph:synthesis:",
}
"""How TrustGraph's IRIs of the steps began."""

_STEPS: Mapping[str, str] = {
    "GraphRAG query session": "GraphRAG session",
    "Retrieved edges": "Exploration",
    "Selected edges": "Focus",
    "GraphRAG answer": "Synthesis",
    "GraphRAG 查询会话": "GraphRAG session",
    "检索的边": "Exploration",
    "选择的边": "Focus",
    "GraphRAG 答案": "Synthesis",
}
"""How TrustGraph labelled the steps, in its specification and the Chinese one."""

_NOTHING = frozenset({"", "0", "0.0", "0.0E0", "false"})
"""Values of aggregates over no rows."""
_FORMS = ("SELECT", "ASK", "CONSTRUCT", "DESCRIBE")
_AGGREGATES = frozenset({"COUNT", "SUM", "AVG", "MIN", "MAX", "SAMPLE", "GROUP_CONCAT"})
_TERMS = {"<<": "<<(", ">>": ")>>"}
_Change = tuple[int, str, str]  # offset, what stands there, what replaces it


@dataclass(frozen=True, slots=True)
class Alternative:
    """A changed query.

    Attributes:
        text: the changed query.
        union: whether its default graph is the union of all graphs.
        changes: what differs from the original, for people. Empty for the original itself, of a query that
            aggregates: if that has something to aggregate, it is not empty.
        counting: a query with one row, whose only value is the number of rows, at most `MOST`; of an ASK, the
            query itself; of a query that aggregates, over what it does.
        aggregates: whether it has one row at any rate.
    """

    text: str
    union: bool
    changes: tuple[str, ...]
    counting: str
    aggregates: bool

    def told(self, rows: int | None) -> str:
        """A sentence for people; `rows` is None for an ASK."""
        changes = tr(" and ").join(self.changes)
        if rows is None:
            return tr("With {changes}, the answer is yes.").format(changes=changes)
        if self.aggregates and rows >= MOST:
            message = tr("With {changes}, the query aggregates at least {rows:,} rows.")
        elif self.aggregates:
            message = ngettext(
                "With {changes}, the query aggregates {rows:,} row.",
                "With {changes}, the query aggregates {rows:,} rows.",
                rows,
            )
        elif rows >= MOST:
            message = tr("With {changes}, the result has at least {rows:,} rows.")
        else:
            message = ngettext(
                "With {changes}, the result has {rows:,} row.",
                "With {changes}, the result has {rows:,} rows.",
                rows,
            )
        return message.format(changes=changes, rows=rows)


def alternatives(query: str, *, union: bool = False) -> Iterator[Alternative]:
    """The changed forms of a query, those with the fewest changes first.

    Args:
        query: as its author wrote it. The graphs of a query that names some (FROM) are not changed.
        union: its default graph was the union of all graphs already.
    """
    written = _Query(query)
    if written.form is None:
        return
    useful = [habit for habit in _HABITS if habit.find(written)]
    if not union and not names_dataset(query):
        useful.insert(0, _UNION)
    aggregating = written.aggregates()
    for number in range(0 if aggregating else 1, len(useful) + 1):
        for chosen in combinations(useful, number):
            changed, said = written, []
            for habit in chosen:
                changes = habit.find(changed)
                said.append(habit.said(changes))
                changed = _Query(_changed(changed.text, changes)) if changes else changed
            counting = _counting(changed)
            yield Alternative(changed.text, union or _UNION in chosen, tuple(said), counting, aggregating)


def found_nothing(data: bytes, media_type: str, query: str) -> bool:
    """Whether a whole result has no solution, or the answer is no, or the graph is empty.

    Args:
        media_type: of query results or RDF.
        query: which has this result. Aggregates over no rows are nothing, too.
    """
    if media_type == "text/csv":
        first, *lines = data.decode(errors="replace").splitlines() or [""]
        if _Query(query).is_ask():
            return first == "false"
        return nothing_in((line.split(",") for line in lines), query)
    form = ox.QueryResultsFormat.from_media_type(media_type)
    if form is None:
        graph = ox.RdfFormat.from_media_type(media_type)
        try:
            return graph is not None and next(iter(ox.parse(data, graph)), None) is None
        except SyntaxError:  # RDF-star, which is not for this parser: there is something
            return False
    results = ox.parse_query_results(data.rstrip(b"\n") + b"\n", form)
    if isinstance(results, ox.QueryBoolean):
        return not results
    return nothing_in((map(lexical, row) for row in results), query)


def nothing_in(rows: Iterable[Iterable[str]], query: str) -> bool:
    """Whether there are no rows, or one of aggregates over none.

    Args:
        rows: lexical values, empty if unbound.
    """
    first = list(islice(rows, 2))
    return not first or (len(first) == 1 and set(first[0]) <= _NOTHING and _Query(query).aggregates())


def lexical(term: object) -> str:
    """The value of a literal or IRI; empty if unbound."""
    return str(getattr(term, "value", ""))


def _group(found: list[Token], start: int) -> int:
    """The place of the first brace after a place that is not within parentheses."""
    depth = 0
    for place, token in enumerate(found[start:], start):
        if token.text == "{" and depth == 0:
            return place
        depth += {"(": 1, ")": -1}.get(token.text, 0)
    return len(found)


def _after(found: list[Token], brace: int) -> int:
    """The place after a group, which begins at a place."""
    depth = 0
    for place, token in enumerate(found[brace:], brace):
        depth += {"{": 1, "}": -1}.get(token.text, 0)
        if depth == 0:
            return place + 1
    return len(found)


class _Query:
    """The tokens of a query, and its names in full.

    Attributes:
        form: the place of SELECT, ASK, CONSTRUCT or DESCRIBE; None if it is no query.
    """

    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens = list(tokens(text))
        forms = (
            place
            for place, token in enumerate(self.tokens)
            if token.kind == "word" and token.text.upper() in _FORMS
        )
        self.form = next(forms, None)
        self._declared = dict(PREFIXES)
        for word, name, iri in zip(self.tokens, self.tokens[1:], self.tokens[2:], strict=False):
            if is_word(word, "PREFIX") and iri.kind == "iri":
                self._declared[name.text[:-1]] = iri.text[1:-1]
        self._used = {token.text.partition(":")[0] for token in self.tokens if ":" in token.text}

    def is_ask(self) -> bool:
        """Whether the answer is yes or no."""
        return self.form is not None and is_word(self.tokens[self.form], "ASK")

    def full(self, token: Token) -> str:
        """The IRI of a token; empty if it is none."""
        if token.kind == "iri":
            return token.text[1:-1]
        prefix, colon, local = token.text.partition(":")
        space = self._declared.get(prefix) if token.kind == "word" and colon else None
        return "" if space is None else space + local

    def short(self, iri: str) -> str:
        """The IRI as the query would write it."""
        for prefix, space in self._declared.items():
            local = iri.removeprefix(space)
            if prefix in self._used and local != iri and local.isalnum():
                return f"{prefix}:{local}"
        return f"<{iri}>"

    def outside_template(self) -> Iterator[tuple[int, Token]]:
        """Places and tokens that are not in the template of a CONSTRUCT, where paths are not allowed."""
        return islice(enumerate(self.tokens), self.after_template(), None)

    def after_template(self) -> int:
        """The place after the template of a CONSTRUCT that has one; 0 for other queries."""
        form = self.form or 0
        template = is_word(self.tokens[form], "CONSTRUCT") and self.tokens[form + 1].text == "{"
        return _after(self.tokens, form + 1) if template else 0

    def aggregates(self) -> bool:
        """Whether a SELECT has one row at any rate: aggregates without GROUP BY (SPARQL 1.2 §11.2)."""
        if self.form is None or not is_word(self.tokens[self.form], "SELECT"):
            return False
        selected = self.tokens[self.form : _group(self.tokens, self.form)]
        return next(outermost(self.tokens, "GROUP"), None) is None and any(
            token.kind == "word" and token.text.upper() in _AGGREGATES for token in selected
        )


def _terms(query: _Query) -> list[_Change]:
    return [
        (token.offset, token.text, _TERMS[token.text])
        for token in query.tokens
        if token.kind == "triple" and token.text in _TERMS
    ]


def _prefixes(query: _Query) -> list[_Change]:
    """Declarations of our prefixes with another IRI."""
    changes = []
    for word, name, iri in zip(query.tokens, query.tokens[1:], query.tokens[2:], strict=False):
        ours = PREFIXES.get(name.text[:-1])
        if is_word(word, "PREFIX") and iri.kind == "iri" and ours and iri.text != f"<{ours}>":
            changes.append((iri.offset, iri.text, f"<{ours}>"))
    return changes


def _renamed(query: _Query, paths: Mapping[str, tuple[str, ...]]) -> list[_Change]:
    return [
        (token.offset, token.text, "/".join(map(query.short, paths[query.full(token)])))
        for _, token in query.outside_template()
        if query.full(token) in paths
    ]


def _names(query: _Query) -> list[_Change]:
    """Names, IRIs and labels of TrustGraph's earlier specification."""
    changes = _renamed(query, _TEXTS)
    for token in query.tokens:
        text = token.text
        if token.kind == "string" and (label := _STEPS.get(text[1:-1])) is not None:
            changes.append((token.offset, text, f"{text[0]}{label}{text[0]}"))
        elif token.kind in ("iri", "string"):
            for old, new in _BEGINNINGS.items():
                if text.startswith(old, 1):
                    changes.append((token.offset, text, text.replace(old, new, 1)))
    return sorted(changes)


def _between(query: _Query) -> list[_Change]:
    """Properties that lead to the step before, where TrustGraph had fewer steps."""
    derived, generated = f"{query.short(PROV.wasDerivedFrom.value)}+", query.short(PROV.wasGeneratedBy.value)
    paths = {
        PROV.wasDerivedFrom.value: derived,
        PROV.wasGeneratedBy.value: f"({generated}|{derived})",
    }
    following = [token.text for token in query.tokens[1:]] + [""]
    return [
        (token.offset, token.text, paths[query.full(token)])
        for place, token in query.outside_template()
        if query.full(token) in paths and following[place] not in ("+", "*")
    ]


def _values(query: _Query) -> list[_Change]:
    """Values that are given without a language or datatype: their texts are compared."""
    found = query.tokens
    changes: list[_Change] = []
    for place, value in query.outside_template():
        after = found[place + 1].text if place + 1 < len(found) else ""
        if place < 2 or value.kind != "string" or after.startswith(("@", "^^")):
            continue
        before = found[place - 1]
        if before.text == "=" and found[place - 2].kind == "variable":
            compared = found[place - 2]
            changes.append((compared.offset, compared.text, f"STR({compared.text})"))
        if not query.full(before) and before.text != "a" and before.kind != "variable":
            continue
        depth = 0
        for token in found[place + 1 :]:
            if depth == 0 and token.text in (".", "}"):
                name = f"?value{place}"
                changes.append((value.offset, value.text, name))
                changes.append((token.offset, "", f"FILTER(STR({name}) = {value.text}) "))
                break
            depth += {"{": 1, "[": 1, "(": 1, "}": -1, "]": -1, ")": -1}.get(token.text, 0)
    return sorted(changes)


def _named(query: _Query) -> list[_Change]:
    """NAMED in the clauses of a query that has no other FROM, and no GRAPH: its default graph is empty."""
    clauses = [
        token for place in outermost(query.tokens, "FROM") for token in query.tokens[place + 1 : place + 2]
    ]
    if any(is_word(token, "GRAPH") for token in query.tokens):
        return []
    named = all(is_word(token, "NAMED") for token in clauses)
    return [(token.offset, token.text, "") for token in clauses if named]


def _reasons(query: _Query) -> list[_Change]:
    """Patterns with `tg:reasoning` and a variable, beside others."""
    found = [Token("", "", 0)] * 2 + query.tokens + [Token("", "", 0)] * 3
    changes: list[_Change] = []
    for place, token in query.outside_template():
        before, subject, _, reason, after, then = found[place : place + 6]
        if query.full(token) != TG.reasoning.value or reason.kind != "variable":
            continue
        if subject.text == ";" or after.text == ";":
            end = _end(reason if subject.text == ";" else after)
            changes.append((token.offset, query.text[token.offset : end], ""))
        elif after.text in (".", "}") and (before.text == "." or then.kind in ("variable", "iri")):
            pattern = query.text[subject.offset : _end(reason)]
            changes.append((subject.offset, pattern, f"OPTIONAL {{ {pattern} }}"))
    return changes


@dataclass(frozen=True)
class _Habit:
    """One of the habits.

    Attributes:
        find: the changes of the text that a query needs for it.
        said: what the changes are, for people.
    """

    find: Callable[[_Query], list[_Change]]
    said: Callable[[Collection[_Change]], str]


def _each(changes: Collection[_Change]) -> str:
    each = tr("{new} for {old}")
    return listed(dict.fromkeys(each.format(new=new, old=old) for _, old, new in changes))


_UNION = _Habit(lambda _: [], lambda _: tr("all graphs as the default graph"))
_HABITS = (
    _Habit(
        _prefixes,
        lambda changes: tr("the namespace {names}").format(
            names=listed(dict.fromkeys(new for _, _, new in changes))
        ),
    ),
    _Habit(_terms, lambda _: tr("<<( s p o )>>, a triple term, instead of << s p o >>, a reifier")),
    _Habit(_names, lambda changes: tr("today's names, {names}").format(names=_each(changes))),
    _Habit(
        lambda query: _renamed(query, _QUESTIONS),
        lambda changes: tr("questions as entities, {names}").format(names=_each(changes)),
    ),
    _Habit(_between, lambda changes: tr("steps in between, {names}").format(names=_each(changes))),
    _Habit(_values, lambda _: tr("STR(), as values have a language or datatype")),
    _Habit(_named, lambda _: tr("FROM instead of FROM NAMED, whose graphs only GRAPH reads")),
    _Habit(_reasons, lambda _: tr("no tg:reasoning, which edges have only if a model chose them")),
)
"""In the order in which they change a text."""


def _changed(text: str, changes: list[_Change]) -> str:
    for offset, old, new in reversed(changes):
        text = f"{text[:offset]}{new}{text[offset + len(old) :]}"
    return text


def _counting(query: _Query) -> str:
    assert query.form is not None  # noqa: S101 - alternatives() has looked
    text, found, form = query.text, query.tokens, query.tokens[query.form]
    if is_word(form, "ASK"):
        return text
    clauses = [
        (found[place].offset, _end(found[place + 1 + is_word(found[place + 1], "NAMED")]))
        for place in outermost(found, "FROM")
    ]
    dataset = " ".join(text[begin:end] for begin, end in clauses)
    if is_word(form, "SELECT") and not query.aggregates():
        counted = _changed(text, [(begin, text[begin:end], "") for begin, end in clauses])[form.offset :]
    else:
        counted = f"SELECT * {_pattern(query, query.form)}"
    return (
        f"{text[: form.offset]}SELECT (COUNT(*) AS ?rows) {dataset} "
        f"{{ {{ SELECT * {{ {{ {counted}\n}} }} LIMIT {MOST} }} }}"
    )


def _pattern(query: _Query, form: int) -> str:
    """The pattern of a query with another form than SELECT, or of one that aggregates, and what limits it."""
    text, found = query.text, query.tokens
    brace = _group(found, query.after_template() or form)
    if brace == len(found):  # DESCRIBE of IRIs
        named = [token.text for token in found[form:] if token.kind == "iri" or ":" in token.text]
        return f"{{ VALUES ?described {{ {' '.join(named)} }} ?described ?p ?o }}"
    after = _after(found, brace)
    end = rest = _end(found[after - 1])
    if is_word(found[form], "SELECT"):  # modifiers are those of the one row
        rest = next(
            (found[place].offset for place in outermost(found, "VALUES") if place >= after), len(text)
        )
    return f"{text[found[brace].offset : end]} {text[rest:]}"


def _end(token: Token) -> int:
    return token.offset + len(token.text)
