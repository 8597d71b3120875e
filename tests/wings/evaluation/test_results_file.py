"""The file of rows: continued after a kill, and only where it fits."""

from __future__ import annotations

from pathlib import Path

import pytest

from graphrag_rdf.errors import UsageError
from graphrag_rdf.wings.evaluation.answers import ResultsFile

HEAD = {"set": "tiny", "model": "openai/one"}


@pytest.mark.parametrize("cut", range(1, 12))
def test_a_row_that_was_cut_off_is_dropped(tmp_path: Path, cut: int) -> None:
    path = tmp_path / "rows.jsonl"
    first = ResultsFile(path, HEAD)
    first.add({"id": "1"})
    first.add({"id": "ü\u2028"})
    path.write_bytes(path.read_bytes()[:-cut])
    again = ResultsFile(path, HEAD)
    assert again.rows == [{"id": "1"}]
    again.add({"id": "3"})
    assert ResultsFile(path, HEAD).rows == [{"id": "1"}, {"id": "3"}]


def test_files_of_something_else_are_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    ResultsFile(path, HEAD)
    with pytest.raises(UsageError, match='model "openai/one", now "openai/two"'):
        ResultsFile(path, {**HEAD, "model": "openai/two"})
    with pytest.raises(UsageError, match=r"other settings: focus\.lookups not set, now 0$"):
        ResultsFile(path, {**HEAD, "settings": {"focus.lookups": 0}})
    for text in ("notes", '{"a": 1}\n', "[]\n", '{"results_of": "other"}\n'):
        path.write_text(text)
        with pytest.raises(UsageError, match="is not a file of eval answers"):
            ResultsFile(path, HEAD)
        assert path.read_text() == text
