from __future__ import annotations

import json
import math
import os
import random
import signal
import subprocess
import sys
import textwrap
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graphrag_rdf import layout
from graphrag_rdf.errors import SearchIndexError
from graphrag_rdf.index import KINDS, Hit, Kind, Record, SyncReport, TextIndex
from graphrag_rdf.index.analyse import analyse
from graphrag_rdf.index.postings import View, rounded

WORDS = ["alpha", "beta", "gamma", "delta", "epsilon", "zeta", "eta", "theta", "iota", "kappa"]


def sentence(number: int, text: str, title: str = "", language: str | None = "en") -> Record:
    return Record(f"urn:s:{number}", "sentence", text, (title,) if title else (), language)


def index_of(records: Sequence[Record]) -> TextIndex:
    index = TextIndex(None)
    index.apply(records)
    index.commit(1)
    return index


def bm25(query: str, records: Sequence[Record]) -> list[Hit]:
    """The textbook formula over all records, without any index."""
    documents = [analyse(" ".join([*r.labels, r.text]), r.language) for r in records]
    mean = sum(map(len, documents)) / len(documents)
    hits = []
    for record, tokens in zip(records, documents, strict=True):
        score = 0.0
        for term in sorted(set(analyse(query, "en"))):
            with_term = sum(term in each for each in documents)
            idf = math.log(1 + (len(documents) - with_term + 0.5) / (with_term + 0.5))
            norm = 1.2 * (1 - 0.75 + 0.75 * rounded(len(tokens)) / mean)
            score += idf * tokens.count(term) * 2.2 / (tokens.count(term) + norm)
        if score:
            hits.append(Hit(record.iri, record.kind, score))
    return sorted(hits, key=lambda hit: (-hit.score, hit.iri))


def corpus(size: int, seed: int = 1, longest: int = 60) -> list[Record]:
    chance = random.Random(seed)
    return [
        sentence(i, " ".join(chance.choices(WORDS, range(1, 11), k=chance.randint(1, longest))))
        for i in range(size)
    ]


@pytest.mark.parametrize("k", [1, 7, 300, 5000])
def test_scores_are_bm25_and_the_cut_is_exact(k: int) -> None:
    """Also across lengths that Tantivy rounds, and several segments."""
    records = corpus(600, longest=400)
    index = TextIndex(None)
    for start in range(0, 600, 200):
        index.apply(records[start : start + 200])
        index.commit(start)
    found = index.search("alpha gamma alpha epsilon", kind="sentence", k=k)
    expected = bm25("alpha gamma epsilon", records)
    once = index.search("alpha gamma epsilon", kind="sentence", k=k)
    assert [hit.iri for hit in once] == [hit.iri for hit in expected[:k]]
    assert [hit.score for hit in once] == pytest.approx([hit.score for hit in expected[:k]], rel=1e-12)
    assert found != once  # a repeated word counts twice


def test_lengths_are_rounded_down_by_less_than_a_ninth() -> None:
    lengths = range(1, 100_000)
    assert all(8 / 9 < rounded(length) / length <= 1 for length in lengths)
    assert [rounded(length) for length in (39, 40, 41, 42, 55, 56, 59, 60, 1000)] == [
        39, 40, 40, 42, 54, 56, 56, 60, 984,
    ]  # fmt: skip


def test_ties_are_broken_by_iri_also_at_the_cut() -> None:
    records = [sentence(i, "same words here") for i in range(500)]
    random.Random(5).shuffle(records)
    found = index_of(records).search("words", kind="sentence", k=9)
    assert [hit.iri for hit in found] == sorted(record.iri for record in records)[:9]


def test_kinds_have_statistics_of_their_own() -> None:
    records = corpus(50)
    others = [Record(f"urn:c:{i}", "chunk", "alpha beta " * 40) for i in range(30)]
    alone, together = index_of(records), index_of([*records, *others])
    assert alone.search("alpha beta", kind="sentence", k=50) == together.search(
        "alpha beta", kind="sentence", k=50
    )
    assert {hit.iri[:6] for hit in together.search("alpha", kind="chunk", k=99)} == {"urn:c:"}


def test_an_edited_index_scores_as_a_fresh_one() -> None:
    records = corpus(400)
    index = index_of(records)
    index.apply([sentence(i, "alpha " * 30) for i in range(0, 400, 3)], [r.iri for r in records[1::3]])
    index.commit(2)
    kept = [sentence(i, "alpha " * 30) if i % 3 == 0 else records[i] for i in range(400) if i % 3 != 1]
    for k in (1, 10, 400):
        assert index.search("alpha beta kappa", kind="sentence", k=k) == index_of(kept).search(
            "alpha beta kappa", kind="sentence", k=k
        )


STEP = st.tuples(
    st.lists(
        st.builds(
            lambda number, kind, words, title, language: Record(
                f"urn:{kind}:{number}", kind, " ".join(words), title, language
            ),
            st.integers(0, 12),
            st.sampled_from(KINDS),
            st.lists(st.sampled_from(WORDS), max_size=60),
            st.sampled_from([(), ("alpha",), ("Beta", "the gamma")]),
            st.sampled_from(["en", "de", None]),
        ),
        max_size=8,
    ),
    st.lists(st.builds("urn:{}:{}".format, st.sampled_from(KINDS), st.integers(0, 12)), max_size=6),
    st.sampled_from(["apply", "commit", "purge", "sync"]),
)


@settings(max_examples=40, deadline=None)
@given(st.lists(STEP, max_size=8))
def test_any_history_equals_a_fresh_build(steps: list[tuple[list[Record], list[str], str]]) -> None:
    index = TextIndex(None)
    held: dict[str, Record] = {}
    for number, (upserts, deletes, action) in enumerate(steps):
        if action == "sync":
            index.sync(upserts)
            held = {record.iri: record for record in upserts}
        else:
            index.apply(upserts, deletes)
            held = {iri: r for iri, r in held.items() if iri not in deletes}
            held.update((record.iri, record) for record in upserts)
        if action != "apply":
            index.commit(number, purge=action == "purge")
    index.commit(99)
    fresh = index_of([*held.values()])
    for kind in KINDS:
        assert index.count(kind) == fresh.count(kind) == sum(r.kind == kind for r in held.values())
        for query in ("alpha", "beta gamma the kappa", "delta epsilon zeta eta theta iota"):
            for k in (2, 50):
                assert index.search(query, kind=kind, k=k) == fresh.search(query, kind=kind, k=k)
    names = ["ALPHA", "beta", "the  gamma"]
    assert index.exact(names) == fresh.exact(names)


def test_sync_reports_and_writes_differences_only() -> None:
    records = corpus(30)
    index = index_of(records)
    changed = [sentence(0, "new text"), *records[1:20], sentence(77, "another")]
    assert index.sync(iter(changed)) == SyncReport(added=2, removed=10, unchanged=19)
    assert index.sync(iter(changed)) == SyncReport(added=0, removed=0, unchanged=21)
    index.commit(2)
    assert index.count("sentence") == 21


def test_title_words_find_a_sentence() -> None:
    index = index_of([sentence(1, "He was born in Ulm.", "Albert Einstein"), sentence(2, "Ulm is a town.")])
    assert index.search("Einstein", kind="sentence", k=5)[0].iri == "urn:s:1"


def test_a_question_meets_each_language_by_its_own_rules() -> None:
    index = index_of(
        [sentence(1, "Die Häuser", language="de"), sentence(2, "two houses"), sentence(3, "京都")]
    )
    assert [hit.iri for hit in index.search("Haus", kind="sentence", k=5)] == ["urn:s:1"]
    assert [hit.iri for hit in index.search("house", kind="sentence", k=5)] == ["urn:s:2"]
    assert [hit.iri for hit in index.search("京都", kind="sentence", k=5, language="zh")] == ["urn:s:3"]


def test_labels_of_entities_count_on_top_of_their_text() -> None:
    index = index_of(
        [
            Record("urn:e:1", "entity", "near Paris in the north", ("Versailles",), "en"),
            Record("urn:e:2", "entity", "the capital of the French", ("Paris",), "en"),
        ]
    )
    assert [hit.iri for hit in index.search("paris", kind="entity", k=2)] == ["urn:e:2", "urn:e:1"]


def test_exact_finds_entities_by_label_or_alias() -> None:
    index = index_of(
        [
            Record("urn:e:2", "entity", "", ("The Who",), "en"),
            Record("urn:e:1", "entity", "", ("World Health Organization", "WHO", "the  who"), "en"),
            Record("urn:s:1", "sentence", "", ("WHO",), "en"),
        ]
    )
    assert index.exact(["the who", "Who", "nobody", ""]) == {
        "the who": ["urn:e:1", "urn:e:2"],
        "Who": ["urn:e:1"],
    }


@pytest.mark.parametrize("query", ["", "the", "?!", "unheardof"])
def test_nothing_is_found_for_nothing(query: str) -> None:
    assert index_of(corpus(5)).search(query, kind="sentence", k=5) == []
    assert TextIndex(None).search("alpha", kind="sentence", k=5) == []
    assert index_of(corpus(5)).search("alpha", kind="sentence", k=0) == []


def test_an_index_is_found_again(tmp_path: Path) -> None:
    index = TextIndex(tmp_path / "text")
    assert index.commit_number == 0
    index.apply(corpus(20))
    index.commit(41)
    hits = index.search("alpha", kind="sentence", k=20)
    index.close()
    again = TextIndex(tmp_path / "text")
    assert (again.commit_number, again.search("alpha", kind="sentence", k=20)) == (41, hits)


def test_uncommitted_changes_are_neither_found_nor_kept(tmp_path: Path) -> None:
    index = TextIndex(tmp_path)
    index.apply(corpus(3))
    assert index.count("sentence") == 0
    index.close()
    assert TextIndex(tmp_path).count("sentence") == 0


def test_a_reader_sees_commits_before_it_opened_and_a_second_writer_is_refused(
    tmp_path: Path,
) -> None:
    writer = TextIndex(tmp_path)
    writer.apply(corpus(10))
    writer.commit(1)
    reader = TextIndex(tmp_path, read_only=True)
    writer.apply(corpus(20))
    writer.commit(2, purge=True)
    assert (reader.count("sentence"), reader.commit_number) == (10, 1)
    reader = TextIndex(tmp_path, read_only=True)
    assert (reader.count("sentence"), reader.commit_number) == (20, 2)
    with pytest.raises(SearchIndexError, match="reading only"):
        reader.apply(corpus(1))
    second = TextIndex(tmp_path)
    with pytest.raises(SearchIndexError, match="Another process is writing"):
        second.apply(corpus(1))
    writer.apply(corpus(30))
    writer.commit(3, purge=True)
    writer.close()
    second.apply([], ["urn:s:0"])  # takes over from what the first left, not from what it had opened
    second.commit(4)
    assert second.count("sentence") == 29


def test_purge_leaves_no_removed_text_in_any_file(tmp_path: Path) -> None:
    index = TextIndex(tmp_path)
    index.apply([sentence(1, "secretword alpha"), sentence(2, "alpha beta")])
    index.commit(1)
    index.apply([], ["urn:s:1"])
    index.commit(2, purge=True)
    index.close()
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert files
    assert not any(b"secretword" in path.read_bytes() for path in files)
    assert [hit.iri for hit in TextIndex(tmp_path).search("alpha", kind="sentence", k=5)] == ["urn:s:2"]


def test_many_dead_records_are_purged_without_being_asked(tmp_path: Path) -> None:
    index = TextIndex(tmp_path)
    index.apply(corpus(3000, longest=4))
    index.commit(1)
    index.apply([], [f"urn:s:{i}" for i in range(1500)])
    index.commit(2)
    assert [path.name for path in tmp_path.glob("sentence-*")] == ["sentence-2"]
    assert index.count("sentence") == 1500


def _spoil_manifest(folder: Path) -> None:
    (folder / "manifest.json").write_text("{", "utf-8")


def _spoil_version(folder: Path) -> None:
    (folder / "manifest.json").write_text(json.dumps({"format": 999}), "utf-8")


def _spoil_meta(folder: Path) -> None:
    (folder / "sentence-1" / "meta.json").write_text("nonsense", "utf-8")


def _spoil_folder(folder: Path) -> None:
    (folder / "sentence-1" / "meta.json").unlink()


def _spoil_segments(folder: Path) -> None:
    for path in (folder / "sentence-1").glob("*.idx"):
        path.write_bytes(b"")


@pytest.mark.parametrize(
    "spoil", [_spoil_manifest, _spoil_version, _spoil_meta, _spoil_folder, _spoil_segments]
)
def test_a_damaged_index_names_the_way_out(tmp_path: Path, spoil: object) -> None:
    index = TextIndex(tmp_path / "text")
    index.apply(corpus(5))
    index.commit(1)
    index.close()
    assert callable(spoil)
    spoil(tmp_path / "text")
    with pytest.raises(SearchIndexError) as caught:
        TextIndex(tmp_path / "text").search("alpha", kind="sentence", k=5)
    assert caught.value.hint == "graphrag-rdf index rebuild"
    layout.remove(tmp_path / "text", layout.TEXT_INDEX)
    assert TextIndex(tmp_path / "text").commit_number == 0


def test_a_reader_needs_an_index(tmp_path: Path) -> None:
    with pytest.raises(SearchIndexError, match="no search index"):
        TextIndex(tmp_path / "nowhere", read_only=True)
    assert not (tmp_path / "nowhere").exists()


@pytest.mark.embedded
@pytest.mark.skipif(os.name != "posix", reason="needs SIGKILL")
@pytest.mark.parametrize("commits", [1, 4])
def test_kill_in_the_middle_leaves_whole_commits(tmp_path: Path, commits: int) -> None:
    """After kill -9 the index opens, has no more than it says, and sync makes it equal to a fresh one."""
    program = textwrap.dedent(
        """
        import sys
        from pathlib import Path
        from graphrag_rdf.index import Record, TextIndex
        index = TextIndex(Path(sys.argv[1]))
        for number in range(1, 10_000):
            index.apply(
                [Record(f"urn:s:{number}-{i}", "sentence", f"alpha {number} beta {i}") for i in range(50)],
                [f"urn:s:{number - 1}-{i}" for i in range(25)],
            )
            index.commit(number, purge=number % 3 == 0)
            print(number, flush=True)
        """
    )
    child = subprocess.Popen([sys.executable, "-c", program, str(tmp_path)], stdout=subprocess.PIPE)
    assert child.stdout
    for _ in range(commits):
        child.stdout.readline()
    child.send_signal(signal.SIGKILL)
    rest = child.stdout.read().split()
    child.wait()
    child.stdout.close()
    acknowledged = max([commits, *map(int, rest)])
    index = TextIndex(tmp_path)
    assert index.commit_number in (acknowledged, acknowledged + 1)
    records = corpus(40)
    index.sync(records)
    index.commit(acknowledged + 5)
    assert index.search("alpha beta", kind="sentence", k=40) == index_of(records).search(
        "alpha beta", kind="sentence", k=40
    )


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_is_found_and_only_it(kind: Kind) -> None:
    index = index_of([Record(f"urn:{each}", each, "alpha") for each in KINDS])
    assert [hit.iri for hit in index.search("alpha", kind=kind, k=9)] == [f"urn:{kind}"]


def test_the_parts_of_a_score_add_up_to_it() -> None:
    records = corpus(40)
    index = index_of(records)
    asked = "alpha beta gamma gamma"
    scores = {hit.iri: hit.score for hit in index.search(asked, kind="sentence", k=40, language="en")}
    parts = index.parts(asked, [record.iri for record in records], kind="sentence", language="en")
    assert set(parts) == set(scores)
    for iri, found in parts.items():
        assert sum(found.values()) == pytest.approx(scores[iri])
        assert set(found) <= {"alpha", "beta", "gamma"}
    assert index.parts(asked, ["urn:unknown"], kind="sentence") == {}


@pytest.mark.parametrize("asked", ["alpha beta gamma", "w1", "no-such-word", "the"])
@pytest.mark.parametrize("some", [1, 7, 300])
def test_parts_of_few_and_of_many_records_are_those_of_a_search(asked: str, some: int) -> None:
    """Whichever is less is looked up: the records, or those that have a word."""
    records = corpus(300)
    index = index_of(records)
    scores = {hit.iri: hit.score for hit in index.search(asked, kind="sentence", k=300, language="en")}
    for iris in ([record.iri for record in records[:some]], [record.iri for record in records[-some:]]):
        for _ in range(2):  # also with what was read before
            parts = index.parts(asked, iris, kind="sentence", language="en")
            assert {iri: pytest.approx(sum(own.values())) for iri, own in parts.items()} == {
                iri: scores[iri] for iri in iris if iri in scores
            }


@given(st.lists(st.sampled_from(WORDS), max_size=6), st.lists(st.sampled_from(WORDS), max_size=6))
def test_words_that_are_also_wanted_add_to_what_the_query_scores(own: list[str], also: list[str]) -> None:
    """Each counts less than as a word of the query, and words that the query has count once."""
    records = corpus(60)
    index = index_of(records)
    iris = [record.iri for record in records]
    query = " ".join(own)
    plain = index.parts(query, iris, kind="sentence")
    more = index.parts(query, iris, kind="sentence", also=[" ".join(also[:2]), *also[2:]])
    as_own = index.parts(" ".join(dict.fromkeys([*own, *also])), iris, kind="sentence")
    for iri in iris:
        for term, value in more.get(iri, {}).items():
            alone = plain.get(iri, {})
            assert alone.get(term) in (value, None)
            assert term in alone or value <= as_own[iri][term]
    found = index.search(query, kind="sentence", k=60, also=also)
    assert [hit.iri for hit in found if hit.score != pytest.approx(sum(more[hit.iri].values()))] == []
    if set(also) <= set(own):
        assert found == index.search(query, kind="sentence", k=60)


def test_many_loose_words_do_not_outweigh_a_rare_one() -> None:
    rare = sentence(0, "The weir.")
    loose = sentence(1, "Beta gamma delta epsilon zeta eta theta iota.")
    index = index_of([rare, loose, *(sentence(n, f"Nothing {n}.") for n in range(2, 40))])
    (best, *_) = index.search(
        "weir", kind="sentence", k=2, also=["Beta gamma", "delta epsilon zeta eta theta"]
    )
    assert best.iri == rare.iri


def test_how_many_have_a_word_in_any_form() -> None:
    index = index_of([sentence(1, "Ships sail."), sentence(2, "One ship sank."), sentence(3, "The end.")])
    assert index.holders("ship", kind="sentence", language="en") == 2
    assert index.holders("the", kind="sentence", language="en") == 0
    assert index.holders("whale", kind="sentence") == 0


@pytest.mark.parametrize("deleted", [0, 50])
def test_of_thousands_of_equal_scores_only_those_that_count_are_read(
    monkeypatch: pytest.MonkeyPatch, deleted: int
) -> None:
    """Reading a document is what a search costs; in a large store a common word ties thousands. That deletes
    spoil Tantivy's scores changes nothing of that.
    """
    records = [sentence(i, "same words here") for i in range(3000)]
    records += [sentence(i, "words words") for i in range(3000, 3005)]
    random.Random(5).shuffle(records)
    index = index_of(records)
    gone = sorted(record.iri for record in records if record.text == "same words here")[:deleted]
    index.apply([], gone)
    index.commit(2)
    records = [record for record in records if record.iri not in gone]
    read: list[object] = []
    entry = View.entry
    monkeypatch.setattr(View, "entry", lambda view, address: read.append(address) or entry(view, address))
    found = index.search("words", kind="sentence", k=9)
    assert len(read) < 200
    best = {record.iri for record in records if record.text == "words words"}
    rest = sorted(record.iri for record in records if record.iri not in best)
    assert {hit.iri for hit in found} == {*best, *rest[:4]}
    split = index.parts("words", [hit.iri for hit in found], kind="sentence")
    scores = {iri: sum(parts.values()) for iri, parts in split.items()}
    assert [hit.iri for hit in found] == sorted(scores, key=lambda iri: (-scores[iri], iri))


def test_what_is_committed_during_a_search_does_not_touch_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Questions are searched for while an ingest commits."""
    index = TextIndex(tmp_path / "index")
    for start in range(0, 200, 50):
        index.apply([sentence(i, "same words here") for i in range(start, start + 50)])
        index.commit(start + 1)
    hits, later = View.hits, iter(range(200, 220))

    def hits_before_commits(view: View, query: object, limit: int) -> object:
        found = hits(view, query, limit)  # type: ignore[arg-type]
        for number in later:
            index.apply([sentence(number, "same words here")])
            index.commit(number)
        return found

    monkeypatch.setattr(View, "hits", hits_before_commits)
    first = sorted(sentence(i, "").iri for i in range(200))[:9]
    assert [hit.iri for hit in index.search("words", kind="sentence", k=9)] == first
