"""What the engine punishes, found before it runs.

| rule | why |
|---|---|
| OPTIONAL holds exactly one triple pattern | two patterns take minutes where one takes milliseconds |
| its subject or object is bound for sure | an open pattern is a scan for each row |
| no triple term inside OPTIONAL, MINUS or, without its plain triple beside it, UNION | it scans all of them |
| no `{| |}` and no `~` | inside GRAPH they also assert the fact |
| no SERVICE, no LOAD | they call out |
| FILTER IN, not VALUES, for a predicate alone | the engine pairs each with every triple of the graph |
| a triple term's container is bound elsewhere, or all its variables | an open term is a scan of all of them |
| no `AS ?x` where ?x is in scope already | it is no SPARQL (§18.2.1, §19.8 note 12); our engine takes it |
| no pattern or group after a UNION | from some twenty rows on each side is read alone, in full |
| no FILTER and no UNION inside GRAPH {} under outer VALUES | what the GRAPH holds is read alone, in full |

The last two are `plan_complaints`; `tests/sparql/test_templates.py` lists the templates that still have them.

A variable is bound by a pattern, VALUES, BIND or an inner SELECT's projection; neither the projection of the
query itself, nor FILTER, ORDER BY or the templates of an update bind anything.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TypeAlias

from graphrag_rdf.sparql.tokens import Token, tokens

_FORBIDDEN_WORDS = {"SERVICE": "calls out to the network", "LOAD": "calls out to the network"}
_OPEN, _CLOSE = frozenset({"<<(", "<<"}), frozenset({")>>", ">>"})
_NO_PATTERN = frozenset({"DELETE", "INSERT", "CONSTRUCT", "DATA", "VALUES"})
_OWN_SCOPE = frozenset({"EXISTS", "MINUS", "OPTIONAL"})
_MODIFIERS = frozenset({"GROUP", "HAVING", "ORDER", "LIMIT", "OFFSET"})
_WORDS = frozenset({"FILTER", "BIND", "VALUES", "OPTIONAL", "MINUS", "UNION", "GRAPH"})


@dataclass(frozen=True, slots=True)
class _Group:
    """What stands between braces."""

    items: list[_Item]


_Item: TypeAlias = "Token | _Group"


@dataclass(slots=True)
class _Scope:
    """Patterns whose variables are the same: a WHERE, an inner SELECT, an EXISTS or a MINUS.

    Attributes:
        bound: variables bound for sure; what only an OPTIONAL binds is not among them.
        terms: (container variable, variables) of each triple term whose container is one; a reifier
            without a name is an empty text, which nothing binds.
        optionals, exists: groups that see what this scope binds.
        inner: groups that do not: inner SELECTs and MINUS.
        ends: the variables at the subject and the object of each pattern of which neither is a term.
        patterns: how many triple patterns there are.
        listed: variables that a VALUES of one column binds.
        predicates: variables that stand as predicates.
    """

    bound: set[str] = field(default_factory=set)
    terms: list[tuple[str, set[str]]] = field(default_factory=list)
    optionals: list[_Scope] = field(default_factory=list)
    exists: list[_Scope] = field(default_factory=list)
    inner: list[_Scope] = field(default_factory=list)
    ends: list[set[str]] = field(default_factory=list)
    listed: set[str] = field(default_factory=set)
    predicates: set[str] = field(default_factory=set)
    patterns: int = 0


def lint(query: str) -> list[str]:
    """Complaints about a rendered query, empty if it is fit to run."""
    found = list(tokens(query))
    tree = _tree(iter(found))
    complaints = [*_forbidden(found), *_misplaced_terms(tree), *_named_again(tree)]
    for scope in _scopes(tree):
        complaints += _judge(scope, set())
    return complaints


def plan_complaints(query: str) -> list[str]:
    """Complaints about groups of a rendered query that the engine reads alone, in full."""
    tree = _tree(iter(list(tokens(query))))
    return [*_after_unions(tree), *_alone_in_graphs(tree, listed=False)]


def reads(query: str) -> bool:
    """Whether a rendered query has a triple pattern, so that what it returns depends on the store."""
    return any(map(_has_pattern, _scopes(_tree(iter(list(tokens(query)))))))


def _has_pattern(scope: _Scope) -> bool:
    return scope.patterns > 0 or any(map(_has_pattern, (*scope.optionals, *scope.exists, *scope.inner)))


def _forbidden(found: Sequence[Token]) -> Iterator[str]:
    for token in found:
        reason = _FORBIDDEN_WORDS.get(_word(token)) if token.kind == "word" else None
        if reason:
            yield f"{_word(token)} {reason}"
        if token.text in ("{|", "|}", "~"):
            yield f"'{token.text}' also asserts the fact inside GRAPH: write the triple term out"


def _judge(scope: _Scope, outer: set[str]) -> Iterator[str]:
    bound = scope.bound | outer
    for container, variables in scope.terms * 2:  # what a joined term binds may in turn bind another
        if container in bound or variables <= bound:
            bound = bound | variables | ({container} - {""})
    for container, variables in scope.terms:
        if container not in bound and (loose := sorted(variables - bound)):
            yield f"the triple term of {', '.join(loose)} is open: bind its container or join the fact"
    for predicate in sorted(scope.predicates & scope.listed):
        yield f"VALUES {predicate} for a predicate pairs it with every triple: FILTER({predicate} IN (…))"
    for optional in scope.optionals:
        if optional.patterns != 1:
            yield f"OPTIONAL holds {optional.patterns} triple patterns, not one"
        for ends in optional.ends:
            if not ends & bound:
                yield f"OPTIONAL joins on nothing that is bound outside of it: {', '.join(sorted(ends))}"
        yield from _judge_groups(optional, bound)
    yield from _judge_groups(scope, bound)


def _judge_groups(scope: _Scope, bound: set[str]) -> Iterator[str]:
    for seeing in scope.exists:
        yield from _judge(seeing, bound)
    for alone in scope.inner:
        yield from _judge(alone, set())


# --- plans ---------------------------------------------------------------------------------------


def _after_unions(items: Sequence[_Item]) -> Iterator[str]:
    unions = [n for n, item in enumerate(items) if _word(item) == "UNION"]
    ends = [n + 2 for n in unions if n + 2 not in unions]  # after the last branch of each chain
    if ends and (joined := _first_pattern(items[ends[0] :])):
        yield f"{joined} after a UNION: write it into each branch"
    for item in items:
        if isinstance(item, _Group):
            yield from _after_unions(item.items)


def _first_pattern(items: Sequence[_Item]) -> str:
    """What is joined with what stands before: a pattern, a group, VALUES or GRAPH; empty if nothing is."""
    at = 0
    while at < len(items):
        item, word = items[at], _word(items[at])
        if isinstance(item, _Group):
            return "a group"
        if word in ("FILTER", "BIND"):
            at = _after_expression(items, at + 1)
        elif word in ("OPTIONAL", "MINUS"):
            at += 2
        elif item.text in (".", ";"):
            at += 1
        elif word in _MODIFIERS:
            return ""
        else:
            return item.text
    return ""


def _after_expression(items: Sequence[_Item], at: int) -> int:
    """The place after an expression in brackets, a call, or EXISTS with its group."""
    depth = 0
    while at < len(items):
        item = items[at]
        at += 1
        if isinstance(item, _Group):
            if depth == 0:
                return at
            continue
        depth += (item.text == "(") - (item.text == ")")
        if depth == 0 and item.text == ")":
            return at
    return at


def _alone_in_graphs(items: Sequence[_Item], *, listed: bool) -> Iterator[str]:
    """Args: listed: whether VALUES stands outside, in the same scope."""
    listed = listed or any(_word(item) == "VALUES" for item in items)
    for n, item in enumerate(items):
        if not isinstance(item, _Group):
            continue
        before = _word(items[n - 1]) if n else ""
        in_graph = n > 1 and _word(items[n - 2]) == "GRAPH"
        own_scope = before in _OWN_SCOPE or _is_select(item)
        if in_graph and listed and (found := _reads_alone(item)):
            yield f"{found} inside GRAPH {{}} under outer VALUES: one brace further out"
        yield from _alone_in_graphs(item.items, listed=listed and not in_graph and not own_scope)


def _reads_alone(group: _Group) -> str:
    """FILTER or UNION, if the group has one outside of scopes of their own and VALUES; else empty."""
    words = [_word(item) for item in group.items]
    if "VALUES" in words:
        return ""
    if found := next((word for word in words if word in ("FILTER", "UNION")), ""):
        return found
    for n, item in enumerate(group.items):
        if not isinstance(item, _Group) or (n and words[n - 1] in _OWN_SCOPE) or _is_select(item):
            continue
        if found := _reads_alone(item):
            return found
    return ""


def _is_select(group: _Group) -> bool:
    return bool(group.items) and _word(group.items[0]) == "SELECT"


# --- groups --------------------------------------------------------------------------------------


def _tree(found: Iterator[Token]) -> list[_Item]:
    items: list[_Item] = []
    for token in found:
        if token.text == "}":
            break
        items.append(_Group(_tree(found)) if token.text == "{" else token)
    return items


def _word(item: _Item) -> str:
    """A word in capitals; empty for everything else."""
    return item.text.upper() if isinstance(item, Token) and item.kind == "word" else ""


def _misplaced_terms(items: Sequence[_Item]) -> Iterator[str]:
    for n, item in enumerate(items):
        if not isinstance(item, _Group):
            continue
        around = {_word(items[n - 1]) if n else "", _word(items[n + 1]) if n + 1 < len(items) else ""}
        before = _word(items[n - 1]) if n else ""
        keyword = before if before in ("OPTIONAL", "MINUS") else "UNION" if "UNION" in around else None
        if keyword and (_has_lone_term(item) if keyword == "UNION" else _has_term(item)):
            yield f"a triple term inside {keyword} makes the engine scan all of them"
        yield from _misplaced_terms(item.items)


def _has_term(group: _Group) -> bool:
    return bool(_open_terms(group)) or any(_has_term(i) for i in group.items if isinstance(i, _Group))


def _open_terms(group: _Group) -> list[int]:
    """Where the triple terms of a group begin; those of a container that is named are a look-up."""
    texts = ["" if isinstance(item, _Group) else item.text for item in group.items]
    return [n for n, text in enumerate(texts) if text in _OPEN and not texts[max(0, n - 2)].startswith("<")]


def _has_lone_term(group: _Group, around: Sequence[Sequence[str]] = ()) -> bool:
    """Whether a triple term in it has no plain triple, by which it is looked up, beside or around it."""
    texts = ["" if isinstance(item, _Group) else item.text for item in group.items]
    places = [n + 1 for n in _open_terms(group)]
    plain = [*around, *(texts[n : n + 3] for n in range(len(texts)) if n not in places)]
    return any(texts[n : n + 3] not in plain for n in places) or any(
        _has_lone_term(item, plain) for item in group.items if isinstance(item, _Group)
    )


def _scopes(tree: Sequence[_Item]) -> Iterator[_Scope]:
    """The WHERE of each operation; templates and data blocks are not patterns."""
    words: list[str] = []
    for item in tree:
        if not isinstance(item, _Group):
            words.append(_word(item))
            continue
        last = next((word for word in reversed(words) if word), "")
        if last == "WHERE" or not _NO_PATTERN & set(words):
            yield _group_scope(item.items)
        words = []


def _group_scope(items: Sequence[_Item]) -> _Scope:
    scope = _Scope()
    _Walk(scope, [_Group(list(items))]).run()
    return scope


# --- patterns ------------------------------------------------------------------------------------


class _Walk:
    """Reads the items of a group into a scope."""

    def __init__(self, scope: _Scope, items: Sequence[_Item]) -> None:
        self._scope = scope
        self._items = items
        self._at = 0
        self._statement: list[Token] = []

    def run(self) -> None:
        """Read all items."""
        while (item := self._next()) is not None:
            if isinstance(item, _Group):
                self._end_statement()
                self._group(item)
            elif (word := _word(item)) in _WORDS:
                self._end_statement()
                getattr(self, f"_{word.lower()}")()
            elif item.text == ".":
                self._end_statement()
            else:
                self._statement.append(item)
        self._end_statement()

    def _next(self) -> _Item | None:
        if self._at >= len(self._items):
            return None
        self._at += 1
        return self._items[self._at - 1]

    def _next_group(self) -> _Group | None:
        while (item := self._next()) is not None:
            if isinstance(item, _Group):
                return item
            if item.kind == "variable":
                self._scope.bound.add(item.text)
        return None

    def _group(self, group: _Group) -> None:
        if not group.items or _word(group.items[0]) != "SELECT":
            _Walk(self._scope, group.items).run()
            return
        place = next((n for n, item in enumerate(group.items) if isinstance(item, _Group)), None)
        if place is None:
            return
        body = group.items[place]
        assert isinstance(body, _Group)
        inner = _group_scope(body.items)
        self._scope.inner.append(inner)
        head = [item for item in group.items[:place] if isinstance(item, Token)]
        self._scope.bound |= inner.bound if any(t.text == "*" for t in head) else _projected(head)

    def _optional(self) -> None:
        if (group := self._next_group()) is not None:
            self._scope.optionals.append(_group_scope(group.items))

    def _minus(self) -> None:
        if (group := self._next_group()) is not None:
            self._scope.inner.append(_group_scope(group.items))

    def _union(self) -> None:
        """The groups on both sides are read as groups."""

    def _graph(self) -> None:
        if (group := self._next_group()) is not None:
            self._group(group)

    def _values(self) -> None:
        variable = self._items[self._at] if self._at < len(self._items) else None
        if isinstance(variable, Token) and variable.kind == "variable":
            self._scope.listed.add(variable.text)
        self._next_group()

    def _bind(self) -> None:
        self._expression(binds=True)

    def _filter(self) -> None:
        self._expression(binds=False)

    def _expression(self, *, binds: bool) -> None:
        """An expression in brackets, a call, or EXISTS with its group."""
        depth, before = 0, ""
        while (item := self._next()) is not None:
            if isinstance(item, _Group):
                if before == "EXISTS":
                    self._scope.exists.append(_group_scope(item.items))
                if depth == 0:
                    return
                continue
            if binds and item.kind == "variable" and before == "AS":
                self._scope.bound.add(item.text)
            depth += (item.text == "(") - (item.text == ")")
            before = _word(item)
            if depth == 0 and item.text == ")":
                return

    def _end_statement(self) -> None:
        if self._statement:
            _read_statement(self._statement, self._scope)
            self._statement = []


def _projected(head: Sequence[Token]) -> set[str]:
    """The variables that an inner SELECT hands out: those outside brackets, and those after AS."""
    out: set[str] = set()
    depth, before = 0, ""
    for token in head:
        depth += (token.text == "(") - (token.text == ")")
        if token.kind == "variable" and (depth == 0 or before == "AS"):
            out.add(token.text)
        before = _word(token)
    return out


def _read_statement(statement: Sequence[Token], scope: _Scope) -> None:
    """`subject predicate object ; predicate object , object`: what it binds, and its triple terms."""
    subject, rest = _first_node(statement)
    container = "" if subject[0].text in _OPEN else subject[0].text
    if not container:
        scope.terms.append((container, _variables(subject)))
    for pair in _split(rest, ";"):
        objects = _split(pair, ",")
        scope.patterns += len(objects)
        if any(token.text in _OPEN for token in pair):
            if not container or subject[0].kind == "variable":
                scope.terms.append((container, _variables(pair)))
            continue
        if pair[0].kind == "variable":
            scope.predicates.add(pair[0].text)
        scope.bound |= _variables(pair) | (_variables(subject) if container else set())
        scope.ends += [
            {subject[0].text, found[-1].text}
            for found in objects
            if subject[0].kind == found[-1].kind == "variable"
        ]


def _first_node(statement: Sequence[Token]) -> tuple[Sequence[Token], Sequence[Token]]:
    depth = 0
    for n, token in enumerate(statement, start=1):
        depth += (token.text in _OPEN or token.text in ("[", "(")) - (
            token.text in _CLOSE or token.text in ("]", ")")
        )
        if depth == 0:
            return statement[:n], statement[n:]
    return statement, ()


def _split(part: Sequence[Token], separator: str) -> list[Sequence[Token]]:
    """Components between separators that stand outside of brackets; empty ones are left out."""
    parts: list[list[Token]] = [[]]
    depth = 0
    for token in part:
        depth += (token.text in _OPEN or token.text in ("(", "[")) - (
            token.text in _CLOSE or token.text in (")", "]")
        )
        if depth == 0 and token.text == separator:
            parts.append([])
        else:
            parts[-1].append(token)
    return [found for found in parts if found]


def _variables(part: Sequence[Token]) -> set[str]:
    return {token.text for token in part if token.kind == "variable"}


# --- names that are given twice --------------------------------------------------------------------


def _named_again(tree: Sequence[_Item]) -> Iterator[str]:
    complaints: list[str] = []
    for operation in _split_groups(tree):
        _in_scope(operation, complaints)
    return iter(complaints)


def _split_groups(tree: Sequence[_Item]) -> Iterator[list[_Item]]:
    """The operations of an update, or the query: semicolons outside of braces and brackets separate them."""
    part: list[_Item] = []
    depth = 0
    for item in tree:
        if isinstance(item, Token):
            depth += (item.text == "(") - (item.text == ")")
        if isinstance(item, Token) and item.text == ";" and depth == 0:
            yield part
            part = []
        else:
            part.append(item)
    yield part


def _in_scope(items: Sequence[_Item], complaints: list[str]) -> set[str]:
    """The variables in scope after a group, or a SELECT with its modifiers (SPARQL 1.1 §18.2.1)."""
    if any(_word(item) == "SELECT" for item in items):
        return _of_select(items, complaints)
    seen: set[str] = set()
    at = 0
    while at < len(items):
        item, word = items[at], _word(items[at])
        at += 1
        if isinstance(item, _Group):
            seen |= _in_scope(item.items, complaints)
        elif word in ("FILTER", "BIND"):
            end = _end_of_expression(items, at)
            for part in items[at:end]:
                if isinstance(part, _Group):  # of EXISTS: nothing in it is in scope outside
                    _in_scope(part.items, complaints)
            if word == "BIND":
                seen |= _given(items[at:end], seen, complaints)
            at = end
        elif word == "MINUS":
            group = items[at]
            assert isinstance(group, _Group)
            _in_scope(group.items, complaints)
            at += 1
        elif isinstance(item, Token) and item.kind == "variable":
            seen.add(item.text)
    return seen


def _of_select(items: Sequence[_Item], complaints: list[str]) -> set[str]:
    place = next(n for n, item in enumerate(items) if isinstance(item, _Group))
    body = items[place]
    assert isinstance(body, _Group)
    seen = _in_scope(body.items, complaints)
    head, modifiers = items[:place], items[place + 1 :]
    for item in modifiers:
        if isinstance(item, _Group):  # of EXISTS, or the data of VALUES
            _in_scope(item.items, complaints)
    _given([*modifiers, *head], seen, complaints)
    if any(isinstance(item, Token) and item.text == "*" for item in head):
        return seen
    return _projected([item for item in head if isinstance(item, Token)])


def _given(items: Sequence[_Item], seen: set[str], complaints: list[str]) -> set[str]:
    """The variables after AS; those in scope already are complained of."""
    names = [
        name.text
        for word, name in pairwise(items)
        if _word(word) == "AS" and isinstance(name, Token) and name.kind == "variable"
    ]
    complaints += [
        f"AS {name}: {name} is in scope already"
        for number, name in enumerate(names)
        if name in seen or name in names[:number]
    ]
    return set(names)


def _end_of_expression(items: Sequence[_Item], at: int) -> int:
    """Where the expression of a FILTER or BIND ends: a bracket, a call, or EXISTS with its group."""
    depth = 0
    for place in range(at, len(items)):
        item = items[place]
        if isinstance(item, Token):
            depth += (item.text == "(") - (item.text == ")")
        if depth == 0 and (isinstance(item, _Group) or item.text == ")"):
            return place + 1
    return len(items)
