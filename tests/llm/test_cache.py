"""The cache of answers on disk."""

from __future__ import annotations

import logging
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from graphrag_rdf.errors import StoreError
from graphrag_rdf.llm.cache import ResponseCache


@pytest.fixture
def cache(tmp_path):
    with ResponseCache(tmp_path / "cache" / "llm.sqlite") as made:
        yield made


def test_keeps_answers(cache):
    assert cache.get("k") is None
    cache.put("k", "the prompt", "the answer")
    assert cache.get("k") == "the answer"
    cache.put("k", "the prompt", "another")
    assert cache.get("k") == "another"
    stats = cache.stats()
    assert (stats.entries, stats.hits) == (1, 2)
    assert stats.bytes == len("the promptanother")


def test_many_at_once_are_kept_as_one_by_one(cache):
    cache.put("1", "p", "old")
    cache.put_many((str(number), "p", f"a{number}") for number in range(5))
    assert cache.get_many(["4", "unknown", "1"]) == {"4": "a4", "1": "a1"}
    assert cache.get("0") == "a0"
    assert cache.get_many([]) == {}
    stats = cache.stats()
    assert (stats.entries, stats.hits) == (5, 3)


def test_an_error_among_many_keeps_none_of_them(cache):
    def entries():
        yield "1", "p", "a"
        raise ValueError("the caller's fault")

    with pytest.raises(ValueError, match="fault"):
        cache.put_many(entries())
    assert cache.get("1") is None
    cache.put("2", "p", "a")
    assert cache.get("2") == "a"


def test_many_at_once_evict(tmp_path):
    with ResponseCache(tmp_path / "c", max_bytes=1000) as cache:
        cache.put_many((str(number), "p" * 50, "a" * 50) for number in range(20))
        assert cache.stats().bytes <= 1000
        assert cache.get("19")


def test_survives_reopening(tmp_path):
    with ResponseCache(tmp_path / "c") as cache:
        cache.put("k", "p", "äöü 字")
    with ResponseCache(tmp_path / "c") as cache:
        assert cache.get("k") == "äöü 字"


def test_least_recently_used_go_first(tmp_path):
    with ResponseCache(tmp_path / "c", max_bytes=1000) as cache:
        for number in range(10):
            cache.put(str(number), "p" * 50, "a" * 50)
        assert cache.get("0")
        cache.put("new", "p" * 50, "a" * 50)
        assert cache.get("0")
        assert cache.get("new")
        assert cache.get("1") is None
        assert cache.stats().bytes <= 1000


def test_an_answer_larger_than_the_cache_is_not_kept(tmp_path):
    with ResponseCache(tmp_path / "c", max_bytes=100) as cache:
        cache.put("small", "p", "a")
        cache.put("big", "p" * 100, "a")
        assert cache.get("big") is None
        assert cache.get("small") == "a"


def test_discard_and_clear(cache):
    for key in "abc":
        cache.put(key, "p", "a")
    cache.discard("a")
    assert cache.get("a") is None
    assert cache.clear() == 2
    assert cache.stats().entries == 0


def test_forget_erases_the_text_from_the_file(tmp_path):
    """Also from freed pages and from the write-ahead log; other entries stay."""
    path = tmp_path / "c"
    secret = 'Zebulon ate «seven» pies,\nall "warm".'
    with ResponseCache(path) as cache:
        cache.put("1", f"Extract.\n<text>\n{secret}\n</text>", "{}")
        cache.put(
            "2",
            "Extract.\n<text>\nNothing of it.\n</text>",
            '{"quote": "zebulon ate seven pies, all \\"warm\\""}',
        )
        cache.put("3", "Extract.\n<text>\nNothing of it.\n</text>", "{}")
        assert cache.forget([secret, " \n…"]) == 2
        assert cache.get("3") == "{}"
        for file in tmp_path.iterdir():
            assert b"Zebulon" not in file.read_bytes()


def test_forget_nothing(cache):
    cache.put("1", "p", "a")
    assert cache.forget([]) == 0
    assert cache.forget(["", "?!"]) == 0
    assert cache.get("1") == "a"


@pytest.mark.parametrize(
    "damage", [b"this is no database at all" * 100, b"SQLite format 3\x00" + b"\xff" * 5000]
)
def test_a_damaged_file_is_moved_aside(tmp_path, caplog, damage):
    path = tmp_path / "c"
    path.write_bytes(damage)
    with ResponseCache(path) as cache:
        cache.put("k", "p", "a")
        assert cache.get("k") == "a"
    (aside,) = tmp_path.glob("c.damaged-*")
    assert aside.read_bytes() == damage
    assert "damaged" in caplog.text


def test_damage_while_open(tmp_path, caplog):
    path = tmp_path / "c"
    with ResponseCache(path) as cache:
        for number in range(200):
            cache.put(str(number), "p" * 500, "a" * 500)
    path.write_bytes(path.read_bytes()[:4096] + b"\xff" * 200_000)
    with ResponseCache(path) as cache:
        assert [cache.get(str(number)) for number in range(200)] == [None] * 200
        cache.put("k", "p", "a")
        assert cache.get("k") == "a"
    assert "damaged" in caplog.text


def test_a_full_disk_is_a_warning(cache, caplog):
    cache._db.execute("PRAGMA max_page_count = 8")
    with caplog.at_level(logging.WARNING):
        cache.put("k", "p" * 100_000, "a")
    assert "full" in caplog.text
    assert cache.get("k") is None


def test_a_folder_that_cannot_be_made(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match="file"):
        ResponseCache(tmp_path / "file" / "c")


def test_many_threads(cache):
    failures = []

    def work(own):
        for number in range(50):
            cache.put(f"{own}-{number}", "p", f"a{own}-{number}")
            if cache.get(f"{own}-{number}") != f"a{own}-{number}":
                failures.append((own, number))

    threads = [threading.Thread(target=work, args=(own,)) for own in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures
    assert cache.stats().entries == 400


def test_kill_leaves_whole_entries(tmp_path):
    """A writer is killed in the middle; what is there is whole, and the cache works on."""
    path = tmp_path / "c"
    program = (
        "import sys, itertools, pathlib\n"
        "from graphrag_rdf.llm.cache import ResponseCache\n"
        "cache = ResponseCache(pathlib.Path(sys.argv[1]))\n"
        "for n in itertools.count():\n"
        "    cache.put(str(n), 'p' * 2000, f'{n}:' * 500)\n"
        "    print(n, flush=True)\n"
    )
    writer = subprocess.Popen(
        [sys.executable, "-c", program, str(path)],
        stdout=subprocess.PIPE,
        text=True,
        cwd=Path(__file__).resolve().parents[2],
    )
    assert writer.stdout is not None
    for line in writer.stdout:
        if int(line) >= 20:
            break
    writer.send_signal(signal.SIGKILL)
    writer.wait()
    writer.stdout.close()
    with ResponseCache(path) as cache:
        assert [cache.get(str(n)) for n in range(20)] == [f"{n}:" * 500 for n in range(20)]
        assert sqlite3.connect(path).execute("PRAGMA integrity_check").fetchone() == ("ok",)


def test_a_hit_is_quick(cache):
    cache.put("k", "p" * 10_000, "a" * 2000)
    start = time.thread_time()
    for _ in range(200):
        cache.get("k")
    assert (time.thread_time() - start) / 200 < 0.002
