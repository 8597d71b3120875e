"""Rules that join entities by their names during an ingest. Each join is a decision, which can be undone.

*Synonyms file*: each line is `Preferred name = other name; other name`; a line that begins with `#` is a
comment. Each entry is a decision, and a subgraph of the decision contains its names, so the preferred entity
has a name without any document. Removing the line undoes it.

*Aliases*: a chunk may say that Ebenezer Orr is also called Orr, and another may name Orr only. Where exactly
one entity of the document is called so, and no other of the store is, the two are one. The decision is taken
back when another entity is called so too, or when no text gives that alias any more.

*Written together*: chats and accounts write names without blanks, and call people by their first names. LiHua
is Li Hua wherever the store has both forms. The Yuriko of a chat is its speaker YurikoYamamoto if the
document names both and no other name of the store has that first name; this is taken back when another has.

*Plurals*: bones is bone where the store has both in lower case, as these name kinds of things. A name in
capitals stays apart: Bones is a book.

*Chinese characters*: 臺灣, 台灣 and 台湾 are one name in traditional and simplified characters. The entity
with the simplified name represents the others.

A decision that was undone is not made again.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from pyoxigraph import Literal, NamedNode, Quad

from graphrag_rdf.errors import ConfigError, system_cause
from graphrag_rdf.extract.names import apart, fold, match_key, reject_reason, together
from graphrag_rdf.han import has_han, simplified
from graphrag_rdf.i18n import later, tr
from graphrag_rdf.ingest.decisions import SYNONYMS, read_decisions, undo
from graphrag_rdf.ingest.entity_decisions import ENTITIES, MERGE, merge, settle
from graphrag_rdf.ingest.likeness import SHORT_NAME, TOGETHER
from graphrag_rdf.ingest.names import KnownNames, Minter, unsettled, words
from graphrag_rdf.ingest.resolutions import Groups, Merge, Resolution
from graphrag_rdf.rdf import iris, prov
from graphrag_rdf.rdf.namespaces import PROV, RAG, RDF, RDFS, SKOS, TG
from graphrag_rdf.rdf.terms import Term, node_of, spellings, text_of
from graphrag_rdf.sparql.render import encode_removal
from graphrag_rdf.store.base import Changes, Store, in_batches, languages_of, select_in_batches

if TYPE_CHECKING:
    from graphrag_rdf.ingest import NeededComponents


Pair = tuple[NamedNode, NamedNode]
"""The entity that represents both, and the other one."""


def undecided(decisions: Sequence[Resolution], rule: NamedNode, pairs: Iterable[Pair]) -> list[Pair]:
    """Pairs that are not one yet, that no split keeps apart, and whose join by the rule was never undone."""
    groups = Groups(decisions)
    taken_back = {d.members for d in decisions if d.by == rule and d.undone is not None}
    return [
        pair
        for pair in pairs
        if tuple(sorted(pair, key=str)) not in taken_back
        and pair[1] not in groups.of(pair[0])
        and not groups.are_kept_apart(*pair)
    ]


def of_one_type(store: Store, pairs: Sequence[Pair]) -> list[Pair]:
    """Pairs of entities that have a type in common, as far as they have any."""
    types: dict[NamedNode, set[str]] = defaultdict(set)
    for row in select_in_batches(store, "entities/types", "entities", _entities(pairs)):
        types[node_of(row["entity"])].add(text_of(row["type"]))
    return [
        (one, other)
        for one, other in pairs
        if not types[one] or not types[other] or not types[one].isdisjoint(types[other])
    ]


def names_of(store: Store, pairs: Iterable[Sequence[NamedNode]]) -> defaultdict[NamedNode, dict[str, bool]]:
    """The names of the entities of these pairs, and whether each is the label."""
    found: defaultdict[NamedNode, dict[str, bool]] = defaultdict(dict)
    for row in select_in_batches(store, "labels/known", "things", _entities(pairs)):
        names, name = found[node_of(row["thing"])], text_of(row["name"])
        names[name] = names.get(name, False) or row["property"] == RDFS.label
    return found


def called(store: Store, names: Iterable[str]) -> defaultdict[str, set[NamedNode]]:
    """The entities with exactly these names, by name."""
    found: defaultdict[str, set[NamedNode]] = defaultdict(set)
    labels = spellings(sorted(set(names)), languages_of(store.select))
    for row in select_in_batches(store, "retrieval/entities-by-label", "labels", labels):
        found[text_of(row["label"])].add(node_of(row["entity"]))
    return found


def _entities(pairs: Iterable[Sequence[NamedNode]]) -> dict[NamedNode, None]:
    return {entity: None for pair in pairs for entity in pair}


# --- aliases ---


ALIASES = iris.agent("graphrag-rdf-aliases")
"""The agent of these decisions."""
ALIAS_REASON = later("a document names one by what it says that the other is also called")
_CONFIDENCE = 0.92


def join_aliases(engine: NeededComponents, documents: Sequence[NamedNode]) -> None:
    """Decide again which entities of documents are one by their other names."""
    store = engine.store
    decisions = read_decisions(store, ENTITIES)
    standing = [one for one in decisions if one.by == ALIASES and one.undone is None]
    alone = _alone_by_alias(store, [_pair(one) for one in standing])
    lost = [one for one in standing if _pair(one) not in alone]
    if lost:
        undo(engine, lost)
        decisions = read_decisions(store, ENTITIES)
    pairs = undecided(decisions, ALIASES, _pairs(store, documents))
    alone = _alone_by_alias(store, pairs)
    pairs = of_one_type(store, [pair for pair in pairs if pair in alone])
    merge(engine, [Merge(pair[0], pair, ALIAS_REASON, _CONFIDENCE) for pair in pairs], by=ALIASES)


def _pairs(store: Store, documents: Sequence[NamedNode]) -> list[Pair]:
    """For each document: an entity with an alias, and the only one that the document calls by that alias."""
    found: set[Pair] = set()
    for some in in_batches(documents):
        owners: dict[tuple[str, str], set[NamedNode]] = defaultdict(set)
        named: dict[tuple[str, str], set[NamedNode]] = defaultdict(set)
        for row in store.select("ingest/names-in-documents", documents=some):
            place = owners if row["property"] == SKOS.altLabel else named
            place[text_of(row["document"]), match_key(text_of(row["name"]))].add(node_of(row["canonical"]))
        for key, having in owners.items():
            others = named[key] - having
            if len(having) == len(others) == 1:
                found.add((min(having, key=str), min(others, key=str)))
    return sorted(found, key=str)


def _alone_by_alias(store: Store, pairs: Sequence[Pair]) -> set[Pair]:
    """Pairs of which only the first has the other's name as an alias."""
    names = names_of(store, pairs)
    claimed = {pair: claims for pair in pairs if (claims := _claims(names[pair[0]], names[pair[1]]))}
    having = called(store, (name for claims in claimed.values() for name in claims))
    return {pair for pair, claims in claimed.items() if all(having[name] <= {*pair} for name in claims)}


def _claims(owner: Mapping[str, bool], other: Mapping[str, bool]) -> set[str]:
    """The names that no third entity may have, if the owner has the other's label as a name."""
    keys = {match_key(name) for name, is_label in other.items() if is_label}
    shared = {name for name in owner if match_key(name) in keys}
    return shared | other.keys() if shared else set()


def _pair(decision: Resolution) -> Pair:
    owner = decision.canonical or decision.members[0]
    return owner, next(member for member in decision.members if member != owner)


# --- written together ---


TOGETHER_RULE = iris.agent("graphrag-rdf-written-together")
"""The agent of these decisions."""
REASON = later("one name has its words written together")
PLURAL = later("one name is the plural of the other")
SCRIPTS_RULE = iris.agent("graphrag-rdf-chinese-characters")
"""The agent of decisions on traditional and simplified names."""
SCRIPTS = later("one name in traditional and simplified Chinese characters")
FIRST_NAME = later("a chat calls its speaker so")
# a name that begins so is another one when it is written apart: LaLuna and La Luna
_PARTICLES = frozenset(
    ["al", "da", "de", "del", "di", "du", "el", "la", "las", "le", "los", "mac", "mc", "van", "von"]
)
_COMMON = re.compile(r"[a-z][a-z -]+[a-z]")  # three letters: ga is no singular of gas
_CONSONANT_Y = re.compile(r"[^aeiou]y$")

Names = Mapping[NamedNode, set[str]]


def join_written_together(engine: NeededComponents, documents: Sequence[NamedNode]) -> None:
    """Decide which entities of new or refreshed documents are one, by how names are written."""
    if not documents:
        return
    store = engine.store
    here: dict[NamedNode, set[str]] = defaultdict(set)
    first: set[Pair] = set()
    for some in in_batches(documents):
        named = _named_in(store, some)
        first.update(_first_names(store, named))
        for names in named.values():
            for entity, of_entity in names.items():
                here[entity] |= of_entity
    decisions = read_decisions(store, ENTITIES)
    if _join(engine, decisions, undecided(decisions, TOGETHER_RULE, _spaced(store, here)), REASON, TOGETHER):
        decisions = read_decisions(store, ENTITIES)
    if _join(engine, decisions, undecided(decisions, TOGETHER_RULE, _plurals(store, here)), PLURAL, TOGETHER):
        decisions = read_decisions(store, ENTITIES)
    if _join_scripts(engine, decisions, here):
        decisions = read_decisions(store, ENTITIES)
    if lost := _lost(store, decisions, here):
        undo(engine, lost)
        decisions = read_decisions(store, ENTITIES)
    pairs = undecided(decisions, TOGETHER_RULE, sorted(first, key=str))
    _join(engine, decisions, _alone(store, pairs, Groups(decisions)), FIRST_NAME, SHORT_NAME)


def _join(
    engine: NeededComponents,
    decisions: Sequence[Resolution],
    pairs: Sequence[Pair],
    reason: str,
    confidence: float,
    rule: NamedNode = TOGETHER_RULE,
) -> list[Resolution]:
    """Merge pairs. The first of a pair, or its representative, represents both."""
    groups = Groups(decisions)
    merges = [
        Merge(groups.standing_for(pair[0], groups.of(pair[0])), pair, reason, confidence)
        for pair in of_one_type(engine.store, pairs)
    ]
    return merge(engine, merges, by=rule)


def _join_scripts(engine: NeededComponents, decisions: Sequence[Resolution], here: Names) -> list[Resolution]:
    """Merge entities whose names differ only in traditional and simplified characters. The index of words
    knows names by their simplified form.
    """
    names = {name for of_entity in here.values() for name in of_entity if len(name) > 1 and has_han(name)}
    alike = {
        tuple(map(NamedNode, entities))
        for entities in engine.text_index.exact(sorted(names)).values()
        if len(entities) > 1
    }
    labels = {
        entity: next(iter(sorted(name for name, is_label in known.items() if is_label)), "")
        for entity, known in names_of(engine.store, alike).items()
    }
    pairs: set[Pair] = set()
    for entities in alike:
        groups: dict[str, list[NamedNode]] = defaultdict(list)
        for entity in entities:
            groups[fold(simplified(labels.get(entity, "")))].append(entity)
        for key, same in groups.items():
            # by the simplified name, else the first IRI, so that the order of documents does not matter
            first, *others = sorted(same, key=lambda one: (fold(labels.get(one, "")) != key, str(one)))
            pairs.update((first, other) for other in others if key)
    return _join(
        engine,
        decisions,
        undecided(decisions, SCRIPTS_RULE, sorted(pairs, key=str)),
        SCRIPTS,
        TOGETHER,
        SCRIPTS_RULE,
    )


def _named_in(store: Store, documents: Sequence[NamedNode]) -> dict[str, dict[NamedNode, set[str]]]:
    """Document → entity → its names there."""
    found: dict[str, dict[NamedNode, set[str]]] = defaultdict(lambda: defaultdict(set))
    for row in store.select("ingest/names-in-documents", documents=documents):
        found[text_of(row["document"])][node_of(row["entity"])].add(text_of(row["name"]))
    return found


def _spaced(store: Store, named: Names) -> list[Pair]:
    """Entities with a name that is written apart, and the only ones that have it written together."""
    forms: dict[str, str] = {}
    for name in {name for names in named.values() for name in names}:
        form = together(name) or apart(name)
        if form != name and words(apart(name))[0] not in _PARTICLES:
            forms[name] = form
    having = called(store, forms.values())
    forms = {name: form for name, form in forms.items() if len(having[form]) == 1}
    found: set[Pair] = set()
    for name, owners in called(store, forms).items():
        others = having[forms[name]]
        if len(owners) == 1 and owners != others:
            pair = min(owners, key=str), min(others, key=str)
            found.add(pair if together(name) else (pair[1], pair[0]))
    return sorted(found, key=str)


def _plurals(store: Store, named: Names) -> list[Pair]:
    """The only entities with a common noun as a name and with its plural, the singular first."""
    pairs = {pair for names in named.values() for name in names for pair in _numbers(name)}
    having = called(store, (name for pair in pairs for name in pair))
    found = {
        (min(having[one], key=str), min(having[many], key=str))
        for one, many in pairs
        if len(having[one]) == len(having[many]) == 1 and having[one] != having[many]
    }
    return sorted(found, key=str)


def _numbers(name: str) -> Iterator[tuple[str, str]]:
    """The pairs of singular and plural that a name of lower-case letters may be one of."""
    if _COMMON.fullmatch(name):
        yield name, _plural(name)
        singulars = name[:-1], name[:-2], f"{name[:-3]}y"
        yield from ((one, name) for one in singulars if _COMMON.fullmatch(one) and _plural(one) == name)


def _plural(name: str) -> str:
    if name.endswith(("s", "x", "z", "ch", "sh")):
        return f"{name}es"
    return f"{name[:-1]}ies" if _CONSONANT_Y.search(name) else f"{name}s"


def _first_names(store: Store, named: Mapping[str, Names]) -> Iterator[Pair]:
    """Speakers of documents whose name is written together, and what is called by their first name there."""
    documents = [NamedNode(document) for document in named]
    for row in store.select("ingest/speakers", documents=documents) if documents else ():
        speaker = text_of(row["speaker"])
        first = apart(speaker).partition(" ")[0]
        if first == speaker:
            continue
        names = named[text_of(row["document"])]
        people = [entity for entity, own in names.items() if speaker in own]
        short = [entity for entity, own in names.items() if first in own]
        if len(people) == len(short) == 1 and people != short:
            yield people[0], short[0]


def _alone(store: Store, pairs: Sequence[Pair], groups: Groups) -> list[Pair]:
    """Pairs of a speaker and its first name that no third thing of the store has as a word of its name."""
    if not pairs:
        return []
    every: dict[NamedNode, set[str]] = defaultdict(set)
    for row in store.select("entities/all-names"):
        every[node_of(row["entity"])].add(text_of(row["name"]))
    bearers, word_of = _bearers(every), _first_words(store, pairs)
    return [pair for pair in pairs if bearers[word_of[pair]] <= {*groups.of(pair[0]), pair[1]}]


def _lost(store: Store, decisions: Sequence[Resolution], here: Names) -> list[Resolution]:
    """Standing decisions on a first name that something else in these documents has in its name."""
    mine = [d for d in decisions if d.by == TOGETHER_RULE and d.reason == FIRST_NAME and d.undone is None]
    if not mine:
        return []
    bearers, word_of = _bearers(here), _first_words(store, [d.members for d in mine])
    groups = Groups(decisions)
    return [d for d in mine if not bearers[word_of[d.members]] <= {*groups.of(d.members[0])}]


def _first_words(
    store: Store, pairs: Sequence[tuple[NamedNode, ...]]
) -> defaultdict[tuple[NamedNode, ...], str]:
    """Pair → the word by which one of the two is called, and with which the name of the other begins."""
    names = names_of(store, pairs)
    found: defaultdict[tuple[NamedNode, ...], str] = defaultdict(str)
    for pair in pairs:
        of_pair = {name for entity in pair for name in names[entity]}
        begun = {parts[0] for name in of_pair if len(parts := apart(name).split()) > 1}
        if shared := sorted(begun & of_pair):
            found[pair] = " ".join(words(shared[0]))
    return found


def _bearers(names: Names) -> defaultdict[str, set[NamedNode]]:
    """Word → the entities that have it in their names."""
    found: defaultdict[str, set[NamedNode]] = defaultdict(set)
    for entity, of_entity in names.items():
        for name in of_entity:
            for word in words(apart(name)):
                found[word].add(entity)
    return found


# --- the synonyms file ---


SYNONYMS_KEY = "synonyms/1"


@dataclass(frozen=True, slots=True)
class Synonyms:
    """One entry: names that mean the same.

    Attributes:
        preferred: the name of the entity that represents all.
        others: the other names.
    """

    preferred: str
    others: tuple[str, ...]


def read_synonyms(path: Path) -> list[Synonyms]:
    """The entries of a file; lines with the same preferred name are one entry.

    Raises:
        ConfigError: when the file cannot be read, or a line is malformed, names nothing, or contradicts
            another; the message names the line.
    """
    try:
        text = path.read_text("utf-8-sig")
    except OSError as error:
        raise ConfigError(
            tr("the synonyms file {path} cannot be read: {strerror}").format(
                path=path, strerror=system_cause(error)
            )
        ) from error
    except UnicodeDecodeError as error:
        raise ConfigError(
            tr("the synonyms file {path} is not UTF-8: {reason}").format(path=path, reason=error.reason)
        ) from error
    mint = Minter()
    spelling: dict[str, str] = {}
    others: dict[str, dict[str, None]] = {}
    owner: dict[str, str] = {}  # entity of another name -> the preferred one
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        place = f"{path}, line {number}"
        preferred, names = _parsed_entry(line, place)
        key = mint.entity(preferred).value
        spelling.setdefault(key, preferred)
        mine = others.setdefault(key, {})
        for name in names:
            other = mint.entity(name).value
            if owner.setdefault(other, key) != key:
                taken = spelling[owner[other]]
                raise ConfigError(
                    tr("{place}: {name!r} is already another name of {taken!r}").format(
                        place=place, name=name, taken=taken
                    )
                )
            mine[name] = None
    for number, line in enumerate(text.split("\n"), start=1):
        key = mint.entity(line.partition("=")[0].strip()).value if "=" in line else ""
        if key in spelling and owner.get(key, key) != key:
            raise ConfigError(
                tr("{path}, line {number}: {name!r} is itself another name of {preferred!r}").format(
                    path=path, number=number, name=spelling[key], preferred=spelling[owner[key]]
                ),
                hint=tr("put all names that mean the same in one line"),
            )
    return [Synonyms(spelling[key], tuple(names)) for key, names in others.items()]


def _parsed_entry(line: str, place: str) -> tuple[str, list[str]]:
    preferred, sign, rest = line.partition("=")
    if not sign:
        raise ConfigError(
            tr("{place}: the line has no '='").format(place=place),
            hint=tr("write: Preferred name = other name; other name"),
        )
    names = [" ".join(name.split()) for name in (preferred, *rest.split(";"))]
    wanted = [names[0], *filter(None, names[1:])]
    if len(wanted) == 1:
        raise ConfigError(tr("{place}: no other name after '='").format(place=place))
    for name in wanted:
        if reason := reject_reason(name, min_length=1):
            raise ConfigError(
                tr("{place}: {name!r} cannot be a name ({reason})").format(
                    place=place, name=name, reason=reason.replace("_", " ")
                )
            )
    return wanted[0], wanted[1:]


def apply_synonyms(engine: NeededComponents, path: Path) -> None:
    """Bring the decisions in the store in line with the synonyms file.

    Raises:
        ConfigError: see `read_synonyms`.
    """
    store, mint = engine.store, Minter(engine.settings.extract.namespace)
    wanted: list[Quad] = []
    names: list[tuple[NamedNode, NamedNode, str]] = []
    for entry in read_synonyms(path):
        node = mint.entity(entry.preferred)
        names.append((node, RDFS.label, entry.preferred))
        names += [(node, SKOS.altLabel, name) for name in entry.others if name != entry.preferred]
        wanted += _entry_decision(node, entry, mint, path)
    stood = [_quad(row["graph"], row["s"], row["p"], row["o"]) for row in store.select("ingest/synonyms")]
    new, old = {_kept(quad, store): quad for quad in wanted}, set(stood)
    if set(new) == old:
        return
    changes = Changes(
        remove=[quad for quad in stood if quad not in new],
        add=[quad for kept, quad in new.items() if kept not in old],
    )
    touched = {node for node, _, _ in names}
    for prop in (RAG.canonicalEntity, RAG.member):
        touched.update(_objects_of([*stood, *wanted], prop))
    known = KnownNames(store)
    known.load(node for node, _, _ in names)
    for node, prop, name in names:
        if asserted := known.add(node, Literal(name), alias=prop == SKOS.altLabel):
            changes.add.append(prov.fact(node, asserted, Literal(name)))
    changes.add += unsettled(sorted(touched, key=str))
    store.commit(changes)
    engine.indexer.changed(entities=settle(store))
    engine.indexer.flush(final=True)


def _entry_decision(node: NamedNode, entry: Synonyms, mint: Minter, path: Path) -> Iterator[Quad]:
    """The decision in the system graph, and the subgraph that contains its names."""
    decision = Resolution(
        iri=iris.merge(SYNONYMS_KEY, node),
        kind=MERGE,
        members=tuple(dict.fromkeys([node, *map(mint.entity, entry.others)])),
        canonical=node,
        by=SYNONYMS,
        confidence=1.0,
        source=NamedNode(path.resolve().as_uri()),
    )
    yield from decision.quads()
    subgraph = iris.subgraph(decision.iri, SYNONYMS_KEY)
    yield prov.source(subgraph, RDF.type, TG.Subgraph)
    yield prov.source(subgraph, PROV.wasDerivedFrom, decision.iri)
    yield prov.source(subgraph, PROV.wasAttributedTo, SYNONYMS)
    yield _contained(subgraph, node, RDFS.label, entry.preferred)
    for name in entry.others:
        if name != entry.preferred:
            yield _contained(subgraph, node, SKOS.altLabel, name)


def _contained(subgraph: NamedNode, node: NamedNode, prop: NamedNode, name: str) -> Quad:
    return list(prov.contained(subgraph, node, prop, Literal(name)))[1]


def _objects_of(quads: Iterable[Quad], predicate: NamedNode) -> list[NamedNode]:
    return [
        node for quad in quads if quad.predicate == predicate and isinstance(node := quad.object, NamedNode)
    ]


def _kept(quad: Quad, store: Store) -> Quad:
    """As the store has it: without triple terms it has a node for what is contained."""
    (found,) = encode_removal([quad], store.renderer.dialect)
    return found


def _quad(graph: Term, s: Term, p: Term, o: Term) -> Quad:
    return Quad(s, p, o, graph)  # type: ignore[arg-type]
