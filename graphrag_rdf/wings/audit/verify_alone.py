#!/usr/bin/env python3
"""Check an answer's pack with Python alone: the hash of each file, each quote at its place, each citation.

    python verify.py            in the unzipped folder
    python verify.py FILE.zip   without unzipping

This checks neither who made the pack nor the queries that decided; `graphrag-rdf pack verify FILE.zip` does.
"""

from __future__ import annotations

import hashlib
import json
import re
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

MOST_BYTES, MOST_FILES = 1 << 29, 10_000
MANIFEST, PROOF, ANSWER = "manifest-sha256.txt", "proof.json", "answer.json"
Files = dict[str, bytes]
Problem = tuple[str, str]  # what is wrong, and {file}
_NAME = re.compile(r"([\w-][\w.-]*/)*[\w-][\w.-]*", re.ASCII)


def read_zip(path: Path) -> Files:
    """The files of a ZIP file. Nothing is unpacked to disk, and no more is read than `MOST_BYTES`."""
    files: Files = {}
    remaining = MOST_BYTES
    with zipfile.ZipFile(path) as archive:
        entries = [entry for entry in archive.infolist() if not entry.is_dir()]
        names = {entry.filename for entry in entries if _NAME.fullmatch(entry.filename)}
        if len(entries) > MOST_FILES:
            raise ValueError("it has too many files")
        if len(names) < len(entries):
            raise ValueError("it has a name twice, or one that leads elsewhere")
        for entry in entries:
            with archive.open(entry) as file:
                files[entry.filename] = file.read(remaining + 1)
            remaining -= len(files[entry.filename])
            if remaining < 0:
                raise ValueError("its files are too large")
    return files


def read_folder(folder: Path) -> Files:
    """The files of a folder."""
    paths = [path for path in sorted(folder.rglob("*")) if path.is_file() and not path.is_symlink()]
    if len(paths) > MOST_FILES or sum(path.stat().st_size for path in paths) > MOST_BYTES:
        raise ValueError("its files are too large")
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in paths}


def check_hashes(files: Files) -> Iterator[Problem]:
    """Compare each file with the list of hashes."""
    lines = files.get(MANIFEST, b"").decode(errors="replace").splitlines()
    matches = [re.fullmatch(r"([0-9a-f]{64})  (\S.*)", line) for line in lines]
    hashes = {match[2]: match[1] for match in matches if match}
    if not hashes or None in matches:
        yield "{file} is missing or malformed", MANIFEST
    for name, digest in hashes.items():
        if name not in files:
            yield "{file} is missing", name
        elif hashlib.sha256(files[name]).hexdigest() != digest:
            yield "{file} was changed", name
    for name in sorted(files.keys() - hashes.keys() - {MANIFEST, PROOF}):
        yield "{file} has no hash in the list", name


def check_quotes(files: Files, answer: Any) -> Iterator[Problem]:
    """Look up each quote at its place."""
    for citation in answer["citations"]:
        start, quote = citation["file_offset"], citation["quote"]
        if start is not None and quote:
            text = files.get(citation["file"], b"").decode(errors="replace")
            if text[start : start + citation["char_length"]] != quote:
                yield "{file} does not have a quote at its place", citation["file"]


def check_citations(files: Files, answer: Any) -> Iterator[Problem]:
    """Compare the text of the answer, and its markers with the citations."""
    text = answer["answer"] or ""
    if text and files.get("answer.txt", b"").decode(errors="replace") != text:
        yield "{file} has another answer", "answer.txt"
    cited = {citation["marker"] for citation in answer["citations"]}
    if not cited.issuperset(re.findall(r"\[S?[0-9]+\]", text)):
        yield "{file} lacks a citation", ANSWER


def main(arguments: list[str]) -> int:
    """Print each check; the exit code is 1 if one fails."""
    place = Path(arguments[0]) if arguments else Path(__file__).resolve().parent
    try:
        files = read_zip(place) if place.is_file() else read_folder(place)
        answer = json.loads(files[ANSWER])
        checks = {
            "hashes": list(check_hashes(files)),
            "quotes": list(check_quotes(files, answer)),
            "citations": list(check_citations(files, answer)),
        }
    except Exception as error:  # noqa: BLE001 - whatever a damaged file leads to
        print(f"FAILED  the pack cannot be read: {error!r}")
        return 1
    print(answer["question"], answer["answer"] or "(no answer)", sep="\n")
    for name, problems in checks.items():
        print("FAILED" if problems else "ok    ", name)
        for problem, file in problems:
            print("       ", problem.format(file=file))
    signed = "signed" if PROOF in files else "not signed"
    print(f"not checked: the signature ({signed}), and the queries that decided")
    return 1 if any(checks.values()) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
