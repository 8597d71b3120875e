"""Broken and hostile texts through every reader and extractor: whatever comes in, nothing may raise.

    python -m benchmarks.fuzz --seconds 600 --seed 1
    python -m benchmarks.fuzz --only rules --only sentences

Takes the texts of the data folder (BENCH_DATA) and of examples/, cuts, shuffles and distorts them, and reads
them as each format. Prints cases per second, the slowest case of each target, and for each failure a
minimised text. The exit code is 1 if there were failures. A case fails if something unexpected is raised, if
an offset or a quote is wrong, or if it takes more than 5 CPU seconds (a whole file: 60).
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import time
import traceback
import zipfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from io import BytesIO
from pathlib import Path

from benchmarks.common import ROOT, data_folder
from graphrag_rdf.config import Settings
from graphrag_rdf.documents.chunk import chunk_text
from graphrag_rdf.documents.language import detect_language
from graphrag_rdf.documents.model import Chunk, ParsedDocument
from graphrag_rdf.documents.readers import SUPPORTED, read_bytes
from graphrag_rdf.documents.sentences import split_sentences
from graphrag_rdf.documents.tables import columns_above, rows_in, sentences_in
from graphrag_rdf.engine import Engine
from graphrag_rdf.errors import DocumentError, LlmError
from graphrag_rdf.extract.answers import Found
from graphrag_rdf.extract.model import Extraction
from graphrag_rdf.extract.name_filter import topics_of
from graphrag_rdf.extract.table_columns import read_columns
from graphrag_rdf.extract.table_rows import Row, find_names
from graphrag_rdf.ingest.files import Upload
from graphrag_rdf.wings.rules.extractor import RuleExtractor

SLOW = 5.0
"""CPU seconds that a text may take."""
SLOW_FILE = 60.0
"""CPU seconds that a file may take: of a report, all pages are read."""
LONGEST = 8000
"""Characters of most cases; one in fifty is a whole text."""
BINARY = (".pdf", ".docx", ".xlsx", ".pptx")
LANGUAGES = ("en", "de", "nl", "zh", "fr", None)
ODD = (
    *(
        "\u200d",
        "\u0301",
        "\u202e",
        "\ufeff",
        "\u00ad",
        "\x00",
        "\x1b",
        "\ud800",
        "\U0001f469\u200d\U0001f52c",
    ),
    *(
        "ﬁ",
        "ß",
        "İ",
        "ǅ",
        "ŉ",
        "Σ",
        "𝔘",
        "½",
        "²",
        "٣",
        "。",
        "…",
        "„",
        "’",
        "\u2028",
        "\x85",
        "\f",
        "\t",
        "\r",
    ),
    *(
        "|",
        '"',
        "\\",
        "{",
        "}",
        "[",
        "]",
        "<",
        ">",
        "&amp;",
        "```",
        "\n\n",
        "\n| a | b |\n|---|---|\n",
        ";",
        ",,",
    ),
)
RULES = RuleExtractor()


# --- texts and what is done to them -----------------------------------------------------------------------


def texts(folder: Path | None) -> list[str]:
    """What there is to distort."""
    found = [path.read_text("utf-8", "replace") for path in sorted((ROOT / "examples").rglob("*.[tm][xd]*"))]
    if folder is None:
        return found
    found += [path.read_text("utf-8", "replace") for path in sorted(folder.glob("carol/*.txt"))]
    for path in sorted(folder.glob("evalsets/*.json")):
        found += [entry["text"] for entry in json.loads(path.read_text("utf-8"))["corpus"]]
    for path in sorted(folder.glob("text2kgbench/test/*.jsonl")):
        found.append("\n".join(json.loads(line)["sent"] for line in path.read_text("utf-8").splitlines()))
    return found


def shuffled(chance: random.Random, parts: list[str]) -> list[str]:
    """The parts in another order."""
    return chance.sample(parts, len(parts))


def sprinkled(chance: random.Random, text: str) -> str:
    """The text with odd characters at random places."""
    pieces = list(text)
    for _ in range(chance.randint(1, 40)):
        pieces.insert(chance.randint(0, len(pieces)), chance.choice(ODD) * chance.choice((1, 1, 1, 3, 50)))
    return "".join(pieces)


def doubled(chance: random.Random, text: str) -> str:
    """The text with its punctuation repeated."""
    times = chance.choice((2, 2, 3, 40))
    return "".join(c if c.isalnum() or c.isspace() else c * times for c in text)


def squeezed(chance: random.Random, text: str) -> str:
    """The text without some kind of character."""
    without = chance.choice((" ", "\n", ".", " \n", "aeiou"))
    return text.translate(dict.fromkeys(map(ord, without)))


def repeated(chance: random.Random, text: str) -> str:
    """A short piece of the text, over and over."""
    start = chance.randrange(max(1, len(text)))
    piece = text[start : start + chance.randint(1, 12)] or "("
    return (piece * LONGEST)[: chance.randint(1, LONGEST)]


def as_table(chance: random.Random, text: str) -> str:
    """The words of the text as cells."""
    separator = chance.choice((",", ";", "\t", " | "))
    words, width = text.split(), chance.randint(1, 8)
    quote = chance.choice(("", '"'))
    rows = [words[at : at + width + chance.choice((0, 0, 1))] for at in range(0, len(words), width)]
    return "\n".join(separator.join(f"{quote}{cell}{quote}" for cell in row) for row in rows)


def as_records(chance: random.Random, text: str) -> str:
    """The words of the text as JSON objects, sometimes cut off."""
    words = text.split() or [""]
    records = [
        {
            chance.choice(words[:5]): chance.choice((word, 7, None, [word, {"a": word}]))
            for word in words[at : at + 4]
        }
        for at in range(0, min(len(words), 400), 4)
    ]
    whole = json.dumps(
        chance.choice((records, {"relations": records, "entities": records})), ensure_ascii=False
    )
    return whole[: chance.choice((len(whole), chance.randint(0, len(whole))))]


Change = Callable[[random.Random, str], str]
CHANGES: Mapping[str, Change] = {
    "as it is": lambda _, text: text,
    "upper": lambda _, text: text.upper(),
    "lower": lambda _, text: text.lower(),
    "words": lambda chance, text: " ".join(shuffled(chance, text.split())),
    "lines": lambda chance, text: "\n".join(shuffled(chance, text.splitlines())),
    "characters": lambda chance, text: "".join(shuffled(chance, list(text))),
    "odd": sprinkled,
    "doubled": doubled,
    "squeezed": squeezed,
    "repeated": repeated,
    "table": as_table,
    "records": as_records,
    "brackets": lambda chance, text: chance.choice("([{<«“'\"*_`#|") * chance.randint(1, LONGEST) + text,
}


def made(chance: random.Random, sources: list[str]) -> tuple[str, str]:
    """A text, and how it was made."""
    text = chance.choice(sources)
    if chance.random() > 0.02:
        start = chance.randrange(max(1, len(text)))
        text = text[start : start + chance.randint(1, LONGEST)]
    if chance.random() < 0.2:
        other = chance.choice(sources)[: chance.randint(1, LONGEST)]
        text = " ".join(shuffled(chance, text.split(". ") + other.split("。")))
    names = chance.choices(list(CHANGES), k=chance.choice((1, 1, 2)))
    for name in names:
        text = CHANGES[name](chance, text)
    return text, " + ".join(names)


# --- what reads them --------------------------------------------------------------------------------------


def check_spans(found: Extraction, text: str) -> None:
    """Every offset is inside, and every quote stands where it is said to."""
    for relation in found.relations:
        assert relation.span is not None, relation
        offset, length = relation.span
        assert 0 <= offset < offset + length <= len(text), relation
        assert text[offset : offset + length] == relation.quote, relation
    for entity in found.entities:
        if entity.span is not None:
            assert 0 <= entity.span[0] < sum(entity.span) <= len(text), entity
    for mention in found.mentions:
        assert 0 <= mention.offset < mention.offset + mention.length <= len(text), mention


def read_chunks(document: ParsedDocument, size: int) -> None:
    """A document from its chunks to its facts, as an ingest does it."""
    text, language = document.text, document.language
    chunks = chunk_text(text, size=size, language=language, tables=document.tables)
    readings = [read_columns(text, table, language) for table in document.tables]
    for chunk in chunks:
        assert text[chunk.offset : chunk.offset + len(chunk.text)] == chunk.text
        read_chunk(document, chunk, [Row(part, readings[part.table]) for part in rows_in(document, chunk)])


def read_chunk(document: ParsedDocument, chunk: Chunk, rows: list[Row]) -> None:
    """The sentences, names and facts of a chunk."""
    text, language, title = chunk.text, document.language, document.title
    sentences = sentences_in(document, chunk)
    end = 0
    for sentence in sentences:
        assert end <= sentence.offset < sentence.offset + sentence.length <= len(text), sentence
        end = sentence.offset + sentence.length
    columns_above(document, chunk)
    found = RULES.extract(text, sentences, language=language, title=title, topic=title, rows=rows)
    check_spans(found, text)
    names = sorted({entity.name for entity in found.entities})
    mentions = find_names(text, sentences, rows, language=language, names=names, title=title)
    check_spans(Extraction((), (), (), mentions, None), text)
    topics_of(title, mentions, titled=document.titled)


def as_format(suffix: str, data: bytes) -> None:
    """Bytes as a file of a format."""
    try:
        document = read_bytes(data, f"fuzz{suffix}")
    except DocumentError:
        return
    for page in document.pages:
        assert document.text[page.offset : page.offset + len(page.text)] == page.text
    for table in document.tables:
        assert all(0 <= start <= end <= len(document.text) for start, end in table.rows)
    read_chunks(document, 2000)


def as_prose(language: str | None, text: str) -> None:
    """A chunk in a language."""
    sentences = split_sentences(text, language)
    found = RULES.extract(text, sentences, language=language, title=text[:40], topic=text[:40])
    check_spans(found, text)


def as_answer(text: str) -> None:
    """An answer of a model."""
    found = Found({})
    try:
        found.read(text)
    except LlmError:
        return
    found.extraction()


class Stores:
    """Ingests into stores in memory: what the program itself records as unexpected is a failure."""

    def __init__(self) -> None:
        self._engine: Engine | None = None
        self._documents = 0

    def __call__(self, text: str) -> None:
        """A text, as Markdown."""
        if self._engine is None or self._documents % 100 == 0:
            if self._engine is not None:
                self._engine.close()
            self._engine = Engine.open(config=Settings(store=":memory:"))
        self._documents += 1
        upload = Upload(f"fuzz/{self._documents}.md", text.encode("utf-8", "surrogatepass"))
        unexpected = [f for f in self._engine.ingest_uploads([upload]).failures if "unexpected" in f.reason]
        assert not unexpected, unexpected[0].reason


def damaged(chance: random.Random, data: bytes) -> bytes:
    """A file with bytes cut off or changed; of a packed one, a part."""
    if data[:2] == b"PK" and chance.random() < 0.7:
        return _damaged_part(chance, data)
    changed = bytearray(data[: chance.choice((len(data), chance.randrange(len(data))))])
    for _ in range(chance.randint(0, 30)):
        if changed:
            changed[chance.randrange(len(changed))] = chance.randrange(256)
    return bytes(changed)


def _damaged_part(chance: random.Random, data: bytes) -> bytes:
    packed = BytesIO()
    with zipfile.ZipFile(BytesIO(data)) as old, zipfile.ZipFile(packed, "w") as new:
        victim = chance.choice(old.namelist())
        for name in old.namelist():
            part = old.read(name)
            if name == victim:
                at = sorted(chance.randrange(len(part) + 1) for _ in range(2))
                part = part[: at[0]] + chance.choice((b"", part[at[0] : at[1]] * 2, b"<a/>")) + part[at[1] :]
            new.writestr(name, part)
    return packed.getvalue()


def as_format_text(suffix: str, text: str) -> None:
    """A text as a file of a format."""
    as_format(suffix, text.encode("utf-8", "surrogatepass"))


Case = Callable[[str], None]
TARGETS: Mapping[str, Case] = {
    **{f"reader {suffix}": partial(as_format_text, suffix) for suffix in sorted(SUPPORTED - set(BINARY))},
    **{f"rules {language}": partial(as_prose, language) for language in LANGUAGES},
    "language": lambda text: assert_known(detect_language(text)),
    "answer": as_answer,
    "store": Stores(),
}


def assert_known(language: str | None) -> None:
    """A language is a short code."""
    assert language is None or language.isalpha()


# --- the run ----------------------------------------------------------------------------------------------


@dataclass(slots=True)
class Log:
    """What happened."""

    cases: Counter[str] = field(default_factory=Counter)
    slowest: dict[str, tuple[float, str]] = field(default_factory=dict)
    failures: dict[str, str] = field(default_factory=dict)


def fault_of(run: Callable[[], None], most: float = SLOW) -> str | None:
    """What a case raised, and where, or that it took longer than `most`; None if nothing."""
    begun = time.process_time()
    try:
        run()
    except Exception as error:  # noqa: BLE001 - what is looked for
        frame = traceback.extract_tb(error.__traceback__)[-1]
        told = str(error) if "unexpected" in str(error) else ""
        return f"{type(error).__name__} in {Path(frame.filename).name}:{frame.lineno} {told}".rstrip()
    return "slow" if time.process_time() - begun > most else None


def minimised(text: str, fails: Callable[[str], bool], seconds: float = 20) -> str:
    """A shorter text that fails in the same way: pieces are left out, from halves to single characters."""
    until = time.monotonic() + seconds
    size = max(1, len(text) // 2)
    while time.monotonic() < until:
        for start in range(0, len(text), size):
            shorter = text[:start] + text[start + size :]
            if fails(shorter):
                text = shorter
                break
            if time.monotonic() > until:
                break
        else:
            if size == 1:
                break
            size = max(1, size // 2)
    return text


def files(folder: Path | None) -> list[tuple[str, bytes]]:
    """Files in formats that are no text."""
    paths = sorted(path for path in (ROOT / "examples").rglob("*") if path.suffix in BINARY)
    paths += sorted(folder.glob("pdf/*EARNINGS.pdf")) if folder is not None else []
    return [(path.suffix, path.read_bytes()) for path in paths]


def cases(
    chance: random.Random, folder: Path | None, only: list[str]
) -> Iterator[tuple[str, str, str, Case]]:
    """Cases without end: target, how the text was made, the text (of a file, its bytes), what reads it."""
    sources, packed = texts(folder), files(folder)
    kinds: dict[str, list[str]] = {}  # each as often as the others: most readers are of program code
    for name in [*TARGETS, "reader files"]:
        if not only or any(word in name for word in only):
            kinds.setdefault(name.partition(" ")[0], []).append(name)
    while True:
        name = chance.choice(kinds[chance.choice(list(kinds))])
        if name == "reader files":
            suffix, data = chance.choice(packed)
            data = damaged(chance, data)
            yield f"file {suffix}", "damaged", data.decode("latin-1"), _file_case(suffix)
        else:
            text, how = made(chance, sources)
            yield name, how, text, TARGETS[name]


def _file_case(suffix: str) -> Case:
    return lambda text: as_format(suffix, text.encode("latin-1"))


def main() -> int:
    """Run; 1 if something failed."""
    parser = argparse.ArgumentParser(prog="benchmarks.fuzz", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--seconds", type=float, default=60, help="CPU seconds")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", action="append", default=[], metavar="WORD", help="targets with this word")
    asked = parser.parse_args()
    folder = data_folder()
    print(f"seed {asked.seed}, texts of {folder or 'examples/ alone: there is no data folder (BENCH_DATA)'}")
    log = Log()
    begun = time.process_time()
    for name, how, text, case in cases(random.Random(asked.seed), folder, asked.only):
        if (spent := time.process_time() - begun) > asked.seconds:
            break
        at = time.process_time()
        most = SLOW_FILE if name.startswith("file") else SLOW
        fault = fault_of(partial(case, text), most)
        took = time.process_time() - at
        log.cases[name] += 1
        log.slowest[name] = max(log.slowest.get(name, (0.0, "")), (took, f"{how}, {len(text):,} characters"))
        if fault is not None and f"{name}: {fault}" not in log.failures:
            fails = lambda shorter, case=case, fault=fault: fault_of(lambda: case(shorter)) == fault  # noqa: E731
            log.failures[f"{name}: {fault}"] = minimised(text, fails)
            print(f"{name} ({how}): {fault}\n  {log.failures[f'{name}: {fault}'][:400]!r}", flush=True)
    for name, count in sorted(log.cases.items()):
        took, what = log.slowest[name]
        print(f"{name:20} {count:7,} cases, slowest {took:6.2f} s ({what})")
    total = sum(log.cases.values())
    rate = total / max(spent, 1)
    print(f"{total:,} cases in {spent:.0f} CPU seconds, {rate:.1f} a second; {len(log.failures)} failures")
    return 1 if log.failures else 0


if __name__ == "__main__":
    sys.exit(main())
