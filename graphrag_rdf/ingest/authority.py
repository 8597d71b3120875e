"""The authority of documents: how far their statements count, from 0 to 1.

Without one a document counts as 0.5. `rag:authority` is what counts. A person assigns it to a document
(`rag:assignedAuthority`), else the settings give it by path (`documents.authority`). Documents cannot claim
it themselves. What a person assigned stays when a document is edited, and follows it when its file is moved.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase

from pyoxigraph import NamedNode, Quad

from graphrag_rdf.rdf.namespaces import RAG, Graphs
from graphrag_rdf.rdf.terms import Term, double
from graphrag_rdf.store.base import Changes, Store
from graphrag_rdf.trace.sources import find_document


def apply_authority(
    store: Store, rules: Sequence[str], assigned: Mapping[NamedNode, float | None] | None = None
) -> int:
    """Give each document the authority that it should have; nothing is written if they have it.

    Args:
        rules: lines "glob = number", compared with paths without regard to case; of several globs the longest
            counts.
        assigned: what a person assigns now; None takes it back.

    Returns:
        The number of documents that have another authority than before.
    """
    if not (rules or assigned or store.ask("documents/any-authority")):
        return 0
    by_glob = sorted((_rule(line) for line in rules), key=lambda rule: -len(rule[0]))
    changes, changed = Changes(), 0
    for row in store.select("documents/authority-rules"):
        document, before, own = row["document"], row["authority"], row["own"]
        hand = assigned[document] if assigned and document in assigned else row["assigned"]
        path = row["path"].casefold()
        value = next((number for glob, number in by_glob if fnmatchcase(path, glob)), None)
        after = hand if hand is not None else value
        changed += _set(changes, document, RAG.authority, before, after)
        _set(changes, document, RAG.assignedAuthority, own, hand)
        if row["moved"] is not None:  # what it replaces counts no more
            _set(changes, row["moved"], RAG.authority, row["former_authority"], None)
            _set(changes, row["moved"], RAG.assignedAuthority, row["former"], None)
    if changes.add or changes.remove:
        store.commit(changes)
    return changed


def assign_authority(store: Store, rules: Sequence[str], document: str, value: float | None) -> None:
    """Assign a document its authority, or take it back.

    Args:
        rules: see `apply_authority`.
        document: IRI, path or title.

    Raises:
        UsageError: when nothing, or more than one document, is called so.
    """
    apply_authority(store, rules, {find_document(store, document): value})


def _set(
    changes: Changes, document: NamedNode, predicate: NamedNode, before: Term | None, after: float | None
) -> bool:
    """Note what changes; whether anything does."""
    value = None if after is None else double(after)
    if value == before:
        return False
    if before is not None:
        changes.remove.append(Quad(document, predicate, before, Graphs.SOURCE))
    if value is not None:
        changes.add.append(Quad(document, predicate, value, Graphs.SOURCE))
    return True


def _rule(line: str) -> tuple[str, float]:
    glob, _, number = line.rpartition("=")
    return glob.strip().casefold(), float(number)
