"""Entity linking, on passages of Wikipedia with links that the authors of two question sets checked.

    python -m benchmarks.linking [--set hotpot|musique] [--verbose]

The two gold passages of a question of HotpotQA, and those of MuSiQue, lead from one to the next: where one
names the title of the other, it means that page. The passages that name others are ingested by rules; the
vocabulary has a SKOS concept for each page of both sets, with its title, without what is in brackets ("Lilu
(mythology)"), and its first sentence. So pages of one name are told apart by context only. The documents have
none of the pages that are looked for.

- precision, recall: of the links of entities that name such a page. An entity may be another page's in
  another document; both count as right.
- missing page: the same documents, and a vocabulary without the pages that are looked for. Every link of
  these entities is wrong.
- recall by name only: of links by the same name, where one page only has it; the best that names can do.
"""

from __future__ import annotations

import argparse
import json
import re
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from benchmarks.common import data_folder, no_data, table
from graphrag_rdf.engine import Engine
from graphrag_rdf.exchange.ontologies import load_ontologies
from graphrag_rdf.extract.names import fold
from graphrag_rdf.wings.merging import links as entity_links

SETS = {"hotpot": "hotpot_train100.json", "musique": "musique_train100.json"}
_NS = "http://example.org/pages/"
_BRACKETS = re.compile(r"\s*\([^()]*\)$")
_FIRST = re.compile(r".{25,}?[.!?](?=\s|$)", re.DOTALL)
Page = dict[str, str]


def _name(title: str) -> str:
    return _BRACKETS.sub("", title)


class Gold:
    """What the passages of a set name.

    Attributes:
        pages: passages of this set, the others follow.
        page_of: number of a passage → of the first one of its page; a page may have several.
        documents: numbers of the passages that are ingested.
        meant: name → numbers of the pages that it means in the documents.
    """

    def __init__(self, sets: Mapping[str, Any], chosen: str) -> None:
        own: Sequence[Page] = sets[chosen]["corpus"]
        others = (page for name, each in sets.items() if name != chosen for page in each["corpus"])
        self.pages = [*own, *others]
        first: dict[str, int] = {}
        self.page_of = [first.setdefault(page["title"], n) for n, page in enumerate(self.pages)]
        pairs = {
            (one, other)
            for question in sets[chosen]["questions"]
            for one in question["gold"]
            for other in question["gold"]
            if one != other and self._names(own[one]["text"], _name(own[other]["title"]))
        }
        wanted = {self.page_of[other] for _, other in pairs}
        self.documents = sorted(one for one in {one for one, _ in pairs} if self.page_of[one] not in wanted)
        self.meant: dict[str, set[int]] = defaultdict(set)
        for one, other in pairs:
            if one in self.documents:
                self.meant[fold(_name(own[other]["title"]))].add(self.page_of[other])

    @staticmethod
    def _names(text: str, name: str) -> bool:
        return re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text) is not None

    def vocabulary(self, without: set[int]) -> Iterator[str]:
        """Concepts, in N-Triples."""
        skos, rdf = "http://www.w3.org/2004/02/skos/core#", "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
        yield f"<{_NS}all> <{rdf}type> <http://www.w3.org/2002/07/owl#Ontology> ."
        for number, page in enumerate(self.pages):
            if number in without or self.page_of[number] != number:
                continue
            first = _FIRST.match(page["text"])
            told = {"prefLabel": _name(page["title"]), "definition": first[0] if first else page["text"]}
            yield f"<{_NS}{number}> <{rdf}type> <{skos}Concept> ."
            for prop, text in told.items():
                yield f"<{_NS}{number}> <{skos}{prop}> {json.dumps(text, ensure_ascii=False)}@en ."


def _linked(engine: Engine, lines: Iterator[str], folder: Path) -> list[entity_links.Proposal]:
    file = folder / "pages.nt"
    file.write_text("\n".join(lines), "utf-8")
    load_ontologies(engine.store, [file], "http://example.org/", datetime.now(UTC))
    return entity_links.propose(engine, entity_links.choose_vocabularies(engine.store, _NS + "all"))


def _judge(chosen: str, sets: Mapping[str, Any], *, verbose: bool) -> list[str]:
    gold = Gold(sets, chosen)
    own = sets[chosen]["corpus"]
    with tempfile.TemporaryDirectory() as place, Engine.open(":memory:") as engine:
        folder = Path(place)
        documents = folder / "documents"
        documents.mkdir()
        for number in gold.documents:
            title, text = own[number]["title"], own[number]["text"]
            (documents / f"{number}.md").write_text(f"# {title}\n\n{text}\n", "utf-8")
        engine.ingest([documents])
        called = {fold(row["name"].value) for row in engine.store.select("entities/all-names")}
        known = gold.meant.keys() & called
        begun = time.process_time()
        found = _linked(engine, gold.vocabulary(set()), folder)
        seconds = time.process_time() - begun
        links = [one for one in found if one.outcome == "link"]
        of_gold = [one for one in links if fold(one.name) in known]
        right = [one for one in of_gold if _number(one) in gold.meant[fold(one.name)]]
        by_name: dict[str, set[int]] = defaultdict(set)
        for number, page in enumerate(gold.pages):
            by_name[fold(_name(page["title"]))].add(gold.page_of[number])
        alone = [name for name in known if len(by_name[name]) == 1]
        if verbose:
            _show(gold, found, known)
        missing = _linked(engine, gold.vocabulary(set().union(*gold.meant.values())), folder)
        wrong = [one for one in missing if one.outcome == "link" and fold(one.name) in known]
        if verbose:
            _show(gold, wrong, known)
    return [
        chosen,
        f"{len(gold.documents)}",
        f"{len(known)} of {len(gold.meant)}",
        f"{len(right) / max(1, len(of_gold)):.3f} ({len(right)} of {len(of_gold)})",
        f"{len(right) / max(1, len(known)):.3f}",
        f"{len(wrong)} of {len(known)}",
        f"{len(alone) / max(1, len(known)):.3f}",
        f"{len(links) - len(of_gold)}",
        f"{seconds:.1f}",
    ]


def _number(one: entity_links.Proposal) -> int:
    return int(one.best.thing.value.removeprefix(_NS))


def _show(gold: Gold, found: Sequence[entity_links.Proposal], known: set[str]) -> None:
    for one in found:
        name = fold(one.name)
        page = gold.pages[_number(one)]
        right = "-" if name not in known else "right" if _number(one) in gold.meant[name] else "WRONG"
        figures = f"{one.outcome:9} {one.best.confidence:.3f} {one.best.context:.3f} {one.best.method:9}"
        print(f"{right:6} {figures} {one.name} -> {page['title']}: {page['text'][:90]!r}")


def main() -> int:
    """Print a row for each set."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--set", choices=[*SETS])
    parser.add_argument("--verbose", action="store_true", help="print each decision")
    given = parser.parse_args()
    if (folder := data_folder()) is None:
        return no_data("linking")
    sets = {name: json.loads((folder / "evalsets" / file).read_text("utf-8")) for name, file in SETS.items()}
    head = [
        *("set", "documents", "pages with an entity", "precision", "recall", "linked though missing"),
        *("recall by name only", "other links", "CPU s"),
    ]
    table(head, [_judge(name, sets, verbose=given.verbose) for name in ([given.set] if given.set else SETS)])
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
