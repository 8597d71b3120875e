"""Guided extraction with a large ontology: reading its terms, and selecting those that a chunk needs.

    python -m benchmarks.ontology_terms [--terms 10000]

The ontology is made up: 2 classes in 5 terms, the others properties with domain, range and description, whose
names have one to three of 3,000 words, the frequent ones more often. So have the chunks of 2,000 characters.
"""

from __future__ import annotations

import argparse
import random
import statistics
import tempfile
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from itertools import accumulate
from pathlib import Path

from pyoxigraph import NamedNode

from graphrag_rdf.engine import Engine
from graphrag_rdf.exchange.ontologies import load_ontologies
from graphrag_rdf.wings.ontologies.extract.guided import Names
from graphrag_rdf.wings.ontologies.schema.conformance import Candidate, check, check_together
from graphrag_rdf.wings.ontologies.schema.model import Ontology, read_ontology
from graphrag_rdf.wings.ontologies.schema.selection import Selector

_NS = "http://example.org/large#"
_ONTOLOGY = "http://example.org/large"
_LIMIT = 80
_CHUNKS = 100


class _Language:
    """Words by rank: the n-th is 1/n as frequent as the first."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        syllables = [a + b for a in "bdfgklmnprst" for b in ("a", "e", "i", "o", "u", "an", "er", "il")]
        choose = self._random.choice
        self._words = sorted({choose(syllables) + choose(syllables) + choose(syllables) for _ in range(3000)})
        self._random.shuffle(self._words)
        self._weights = list(accumulate(1 / (rank + 10) for rank in range(len(self._words))))

    def words(self, number: int) -> list[str]:
        """So many words."""
        return self._random.choices(self._words, cum_weights=self._weights, k=number)

    def turtle(self, terms: int) -> Iterator[str]:
        """An ontology of so many terms, line by line."""
        classes = terms * 2 // 5
        yield "@prefix : <http://example.org/large#> . @prefix owl: <http://www.w3.org/2002/07/owl#> ."
        yield "@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> ."
        yield f"<{_ONTOLOGY}> a owl:Ontology ."
        pick = self._random.randrange
        for number in range(terms):
            name = " ".join(self.words(pick(1, 4)))
            told = f'rdfs:label "{name}"@en ; rdfs:comment "{" ".join(self.words(12))}"@en'
            if number < classes:
                above = f" ; rdfs:subClassOf :t{pick(number)}" if number else ""
                yield f":t{number} a owl:Class ; {told}{above} ."
            else:
                ends = f"rdfs:domain :t{pick(classes)} ; rdfs:range :t{pick(classes)}"
                yield f":t{number} a owl:ObjectProperty ; {told} ; {ends} ."


def main() -> int:
    """Print a row for each measure."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--terms", type=int, default=10_000)
    terms: int = parser.parse_args().terms
    language = _Language(1)
    with tempfile.TemporaryDirectory() as place, Engine.open(":memory:") as engine:
        file = Path(place) / "large.ttl"
        file.write_text("\n".join(language.turtle(terms)), encoding="utf-8")
        load_ontologies(engine.store, [file], "http://example.org/", datetime.now(UTC))
        begun = time.perf_counter()
        ontology = read_ontology(engine.store, [_ONTOLOGY])
        selector = Selector(ontology, _LIMIT)
        Names(ontology)
        chunks = [" ".join(language.words(400))[:2000] for _ in range(_CHUNKS)]
        selector.select(chunks[0], "en")  # indexes the terms
        print(f"| read and index {terms:,} terms, once in a run | {time.perf_counter() - begun:.2f} s |")
        print("|---|---|")
        times = [_seconds(selector, chunk) for chunk in chunks]
        print(f"| select {_LIMIT} terms for a chunk, median | {statistics.median(times) * 1000:.1f} ms |")
        print(f"| slowest of {_CHUNKS} | {max(times) * 1000:.1f} ms |")
        print(f"| check the 15 facts of a chunk, CPU | {_check(engine, ontology) * 1000:.1f} ms |")
    return 0


def _seconds(selector: Selector, chunk: str) -> float:
    begun = time.perf_counter()
    if not selector.select(chunk, "en"):
        raise SystemExit("nothing was selected")
    return time.perf_counter() - begun


def _check(engine: Engine, ontology: Ontology) -> float:
    """The CPU time of a check of 15 facts, of which every other has classes from elsewhere."""
    properties = [term for term in ontology.terms.values() if not term.is_class][:15]
    facts = [
        Candidate(
            number,
            NamedNode(term.iri),
            "thing",
            of_entity=True,
            subject_classes=(NamedNode(other.domains[0]),),
            object_classes=(NamedNode(other.ranges[0]),),
        )
        for number, term in enumerate(properties)
        for other in (properties[number - number % 2],)
    ]
    times = []
    for _ in range(10):
        begun = time.process_time()
        check(engine.store, facts)
        check_together(engine.store, facts)
        times.append(time.process_time() - begun)
    return statistics.median(times)


if __name__ == "__main__":
    raise SystemExit(main())
