from __future__ import annotations

import gzip
import os
import unicodedata
from pathlib import Path

import pytest

from graphrag_rdf.documents import read_document
from graphrag_rdf.documents.discover import discover


@pytest.fixture
def docs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    root = tmp_path / "docs"
    for name in ("b.md", "a/z.txt", "a/B.TXT", "a.html", "image.png", ".hidden.md", ".git/x.md", "~$w.docx"):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(b"\0\1\2" if name.endswith("png") else b"x")
    return root


def identities(*arguments: str, exclude: tuple[Path, ...] = ()) -> list[str]:
    return [source.identity for source in discover(arguments, exclude=exclude).sources]


ALL = ["docs/a.html", "docs/a/B.TXT", "docs/a/z.txt", "docs/b.md"]


@pytest.mark.parametrize(
    "argument", ["docs", "docs/", "./docs", "docs/../docs", "{root}", "{root}/", "docs/**/*"]
)
def test_a_folder_has_the_same_identities_however_it_is_named(argument: str, docs: Path) -> None:
    assert identities(argument.format(root=docs)) == ALL


def test_below_one_root_a_document_has_one_identity(docs: Path) -> None:
    for arguments in ([docs], [docs / "a"], [docs / "a" / "z.txt"]):
        found = discover([str(path) for path in arguments], root=docs).sources
        assert "docs/a/z.txt" in [source.identity for source in found]


def test_the_current_folder(docs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(docs)
    assert identities(".") == ALL
    assert identities("*.md", "../docs/a.html") == ["docs/b.md", "docs/a.html"]


def test_files_and_globs(docs: Path) -> None:
    assert identities("docs/b.md") == ["docs/b.md"]
    assert identities("docs/**/*.txt") == ["docs/a/z.txt"]
    assert identities("docs/*.[hm]*") == ["docs/a.html", "docs/b.md"]
    assert identities(str(docs / "*.md")) == ["docs/b.md"]


def test_a_name_with_brackets_is_not_a_glob(docs: Path) -> None:
    (docs / "x[1].md").write_text("x")
    assert identities("docs/x[1].md") == ["docs/x[1].md"]


def test_paths_can_be_opened(docs: Path) -> None:
    assert all(source.path.is_file() for source in discover(["docs", "docs/*.md"]).sources)


def test_the_same_file_is_read_once(docs: Path) -> None:
    (docs / "link.md").symlink_to(docs / "b.md")
    assert identities("docs/b.md", "docs", str(docs), "docs/*.md") == ["docs/b.md", *ALL[:3]]


def test_skipped_are_reported_and_hidden_are_not(docs: Path) -> None:
    found = discover(["docs"])
    assert found.skipped == ((Path("docs/image.png"), "not text, and not in a format that can be read"),)
    assert found.errors == ()


def test_text_is_read_whatever_it_is_called(docs: Path) -> None:
    (docs / "README").write_text("Ada saw it.")
    (docs / "settings.conf").write_bytes("größe = 1\n".encode("latin-1"))
    (docs / "tool.1.gz").write_bytes(gzip.compress(b"Ada built the tool."))
    (docs / "tool.bin.gz").write_bytes(gzip.compress(b"\0" * 500))
    (docs / "nothing").write_bytes(b"")
    found = discover(["docs"])
    assert {"docs/README", "docs/settings.conf", "docs/tool.1.gz"} <= {s.identity for s in found.sources}
    assert {path.name: why for path, why in found.skipped} == {
        "image.png": "not text, and not in a format that can be read",
        "nothing": "empty",
        "tool.bin.gz": "not text, and not in a format that can be read",
    }
    document = read_document(docs / "settings.conf")
    assert (document.media_type, document.text) == ("text/plain", "größe = 1\n")


def test_the_store_is_excluded(docs: Path) -> None:
    assert identities("docs", exclude=(docs / "a",)) == ["docs/a.html", "docs/b.md"]
    assert identities("docs/**/*", exclude=(docs / "a",)) == ["docs/a.html", "docs/b.md"]
    assert identities("docs", exclude=(docs,)) == []
    assert discover(["docs/b.md"], exclude=[docs]).errors == (("docs/b.md", "belongs to the store"),)


def test_stores_and_what_tools_installed_are_no_documents(docs: Path) -> None:
    for name in ("other/index/state.json", "node_modules/x/README.md"):
        file = docs / name
        file.parent.mkdir(parents=True)
        file.write_text("{}")

    def store(folder: Path) -> bool:
        return folder.name == "other"

    left_out = {docs / "node_modules": "what tools have installed", docs / "other": "a store of graphrag-rdf"}
    for argument in ("docs", "docs/**/*"):
        found = discover([argument], is_store=store)
        assert not {"other", "node_modules"} & {part for s in found.sources for part in s.path.parts}
        assert {Path.cwd() / folder: why for folder, why in found.left_out} == left_out
    named = discover(["docs/node_modules", "docs/**/node_modules/**/*.md"], is_store=store)
    assert [source.path.name for source in named.sources] == ["README.md"]
    itself = discover(["docs/other", "docs/b.md"], is_store=store)
    assert ([source.path.name for source in itself.sources], itself.errors) == (["b.md"], ())


def test_errors_do_not_stop_the_rest(docs: Path) -> None:
    os.mkfifo(docs / "pipe.txt")
    (docs / "dangling.md").symlink_to("nowhere")
    found = discover(
        [
            "nowhere.md",
            "docs/image.png",
            "docs/pipe.txt",
            "docs/dangling.md",
            "no*.md",
            "",
            "nul\0",
            "docs/b.md",
        ]
    )
    assert [source.identity for source in found.sources] == ["docs/b.md"]
    reasons = dict(found.errors)
    assert reasons["nowhere.md"] == "no such file or folder"
    assert dict(found.skipped) == {Path("docs/image.png"): "not text, and not in a format that can be read"}
    assert reasons["docs/pipe.txt"] == "not a regular file"
    assert reasons["docs/dangling.md"] == "a symbolic link that leads nowhere"
    assert reasons["no*.md"] == "matches no file"
    assert reasons[""] == "an empty name"
    assert "null" in reasons["nul\0"]


def test_within_a_folder_pipes_are_skipped_and_dangling_links_reported(docs: Path) -> None:
    os.mkfifo(docs / "pipe.txt")
    (docs / "dangling.md").symlink_to("nowhere")
    (docs / "dangling.png").symlink_to("nowhere")
    (docs / "manual.HTML.gz").write_bytes(b"")
    (docs / "archive.tar.gz").write_bytes(b"")
    found = discover(["docs"])
    skipped = {path.name for path, _ in found.skipped}
    assert {"pipe.txt", "dangling.png", "archive.tar.gz"} < skipped
    assert Path("docs/manual.HTML.gz") in {source.path for source in found.sources}
    assert found.errors == (("docs/dangling.md", "a symbolic link that leads nowhere"),)


def test_a_folder_that_may_not_be_looked_into_does_not_stop_the_rest(docs: Path) -> None:
    def store(folder: Path) -> bool:
        """As it is for others than root: what is in the folder cannot be asked for."""
        if folder.name == "a":
            raise PermissionError(13, "Permission denied", str(folder / "oxigraph"))
        return False

    for argument in ("docs", "docs/**/*"):
        found = discover([argument], is_store=store)
        assert [source.identity for source in found.sources] == ALL
        assert found.errors == ()


def test_links_in_a_circle_are_reported(docs: Path) -> None:
    (docs / "one.md").symlink_to(docs / "two.md")
    (docs / "two.md").symlink_to(docs / "one.md")
    found = discover(["docs"])
    assert [source.identity for source in found.sources] == ALL
    why = "a symbolic link that leads in a circle"
    assert found.errors == (("docs/one.md", why), ("docs/two.md", why))


def test_circles_of_links_end(docs: Path) -> None:
    (docs / "a" / "up").symlink_to(docs)
    (docs / "a" / "self").symlink_to(docs / "a")
    assert identities("docs") == ALL
    assert identities("docs/**/*") == ALL
    assert Path("docs/a/up") in dict(discover(["docs"]).skipped)


def test_a_link_to_a_folder_may_be_named(docs: Path) -> None:
    Path("other").symlink_to(docs)
    assert identities("other") == [name.replace("docs", "other") for name in ALL]


def test_equal_identities_are_an_error(docs: Path) -> None:
    twin = docs.parent / "elsewhere" / "docs"
    twin.mkdir(parents=True)
    (twin / "b.md").write_text("y")
    found = discover(["docs", "elsewhere/docs"])
    assert len(found.sources) == 4
    assert found.errors[0][0] == "elsewhere/docs/b.md"
    assert identities("docs", "elsewhere") == [*ALL, "elsewhere/docs/b.md"]


def test_identities_are_nfc_and_valid_unicode(tmp_path: Path) -> None:
    root = tmp_path / unicodedata.normalize("NFD", "Bücher")
    root.mkdir()
    (root / unicodedata.normalize("NFD", "é.md")).write_text("x")
    Path(os.fsdecode(os.fsencode(root) + b"/\xff.md")).write_text("x")
    assert identities(str(root)) == ["Bücher/é.md", "Bücher/\\xff.md"]
