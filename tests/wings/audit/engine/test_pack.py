"""An answer as a pack that proves it: made, signed, read, tampered with, and compared with its store."""

from __future__ import annotations

import hashlib
import io
import json
import shutil
import stat
import subprocess
import sys
import zipfile
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from pyoxigraph import Quad, RdfFormat, parse

from graphrag_rdf import Engine
from graphrag_rdf.config import load_settings
from graphrag_rdf.documents.page_image import draw_page
from graphrag_rdf.editing import Facts
from graphrag_rdf.errors import UsageError
from graphrag_rdf.ingest.entity_decisions import merge
from graphrag_rdf.ingest.resolutions import Merge
from graphrag_rdf.resources import folder
from graphrag_rdf.sparql.render import decode
from graphrag_rdf.store.base import Changes
from graphrag_rdf.trace.catalogue import find_trace
from graphrag_rdf.trace.reader import trace_quads
from graphrag_rdf.wings.audit import verify_alone
from graphrag_rdf.wings.audit.crate import manifest
from graphrag_rdf.wings.audit.pack import Pack, make_pack
from graphrag_rdf.wings.audit.pack_verify import Verified, verify_pack
from graphrag_rdf.wings.audit.replay import asked_again
from graphrag_rdf.wings.audit.signing import BadProof, canonical, check_proof, did_of, new_key, read_key
from graphrag_rdf.wings.audit.since import changes
from tests.support.commands import documents_in
from tests.support.scripted_server import Request, ScriptedServer

QUESTION = "What caused the failure of Gate 4?"
QUOTE = "A fatigue crack caused the failure of Gate 4."


def packed(engine: Engine, **options: Any) -> Pack:
    def draw(original: Any, number: int) -> Any:
        data = engine.blobs.get(original)
        return data and draw_page(data, number, 600)

    return make_pack(engine.store, engine.blobs, find_trace(engine.store, "last"), draw, **options)


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a store, of which a question was asked, and a key."""
    place = tmp_path_factory.mktemp("pack")
    documents = documents_in(place)
    shutil.copy(folder("examples/documents") / "gate-four-inquiry.pdf", documents)
    with Engine.open(place / "store") as engine:
        engine.ingest([documents])
        list(engine.ask(QUESTION))
    new_key(place / "key.pem")
    return place


@pytest.fixture(scope="module")
def files(place: Path) -> Mapping[str, bytes]:
    """The files of a signed pack with its documents."""
    with Engine.open(place / "store") as engine:
        key = read_key(place / "key.pem")
        pack = packed(engine, with_documents=True, key=key, created=datetime(2026, 11, 29, tzinfo=UTC))
    assert pack.unproved == []
    return pack.files


@pytest.fixture
def verified(tmp_path: Path) -> Callable[..., Verified]:
    """Verify files as a pack."""

    def verify(files: Mapping[str, bytes], key: str | None = None) -> Verified:
        path = tmp_path / "pack.zip"
        path.write_bytes(Pack(dict(files), []).to_zip())
        return verify_pack(path, key)

    return verify


def failed(found: Verified) -> set[str]:
    return {check.check for check in found.checks if check.ok is False}


def test_a_whole_pack_holds(
    files: Mapping[str, bytes], verified: Callable[..., Verified], place: Path
) -> None:
    found = verified(files, did_of(read_key(place / "key.pem")))
    assert failed(found) == set()
    assert found.question == QUESTION
    details = {check.check: check for check in found.checks}
    assert details["signature"].detail.startswith("signed by did:key:z6Mk")
    ranking = details["ranking"]
    assert len(ranking.queries) >= 5
    assert all(query.rows and query.order and query.scores for query in ranking.queries)
    names = {name.partition("/")[0] for name in files}
    assert names >= {"index.html", "nanopub.trig", "pages", "queries", "documents", "ro-crate-metadata.json"}
    assert any(name.endswith("p4.png") and data.startswith(b"\x89PNG") for name, data in files.items())
    [citation, *_] = json.loads(files["answer.json"])["citations"]
    assert (citation["quote"], citation["page_number"]) == (QUOTE, 4)
    pdf = next(data for name, data in files.items() if name.endswith(".pdf"))
    assert citation["document_hash"] == hashlib.sha256(pdf).hexdigest()


def test_its_rdf_becomes_the_same_rdf_1_2_again(files: Mapping[str, bytes], place: Path) -> None:
    quads = list(parse(files["trace.nq"], format=RdfFormat.N_QUADS))
    assert canonical(quads).encode() == files["trace.nq"]
    with Engine.open(place / "store") as engine:
        trace = set(trace_quads(engine.store, find_trace(engine.store, "last")))
        again = set(decode(quads))
        assert trace <= again
        assert again <= {Quad(*quad) for quad in engine.store.quads()}


def test_the_page_needs_nothing_else(files: Mapping[str, bytes]) -> None:
    page = files["index.html"].decode()
    assert "<script" not in page
    assert 'src="data:image/png;base64,' in page
    assert page.count("<rect x=") >= 1
    assert "default-src 'none'" in page
    assert not [part for part in page.split('src="')[1:] if not part.startswith("data:")]


def alone(place: Path, files: Mapping[str, bytes]) -> subprocess.CompletedProcess[str]:
    """What `verify.py` says, run by a Python without packages in the unzipped folder."""
    for name, data in files.items():
        (place / name).parent.mkdir(parents=True, exist_ok=True)
        (place / name).write_bytes(data)
    command = [sys.executable, "-I", "-S", str(place / "verify.py")]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=30)


def test_python_alone_checks_hashes_and_quotes(files: Mapping[str, bytes], tmp_path: Path) -> None:
    done = alone(tmp_path / "a", files)
    assert done.returncode == 0, done.stdout + done.stderr
    [text] = [name for name in files if name.endswith("-p4.txt")]
    done = alone(tmp_path / "b", {**files, text: files[text].replace(b"fatigue", b"tiredness")})
    assert done.returncode == 1
    assert f"{text} was changed" in done.stdout
    assert f"{text} does not have a quote at its place" in done.stdout
    assert len((tmp_path / "a" / "verify.py").read_text().splitlines()) <= 150


def changed(data: bytes) -> bytes:
    middle = len(data) // 2
    return data[:middle] + bytes([data[middle] ^ 1]) + data[middle + 1 :]


def test_a_changed_byte_of_any_file_is_found(files: Mapping[str, bytes]) -> None:
    for name in sorted(files.keys() - {"proof.json"}):
        assert list(verify_alone.check_hashes({**files, name: changed(files[name])})), name
    [(problem, file)] = verify_alone.check_hashes({**files, "more.txt": b""})
    assert (file, problem) == ("more.txt", "{file} has no hash in the list")


@pytest.mark.parametrize("name", ["proof.json", "manifest-sha256.txt", "trace.nq", "index.html"])
def test_a_signature_is_of_every_byte(
    name: str, files: Mapping[str, bytes], verified: Callable[..., Verified]
) -> None:
    changed_file = {**files, name: changed(files[name])}
    if name == "index.html":  # listed with its new hash
        changed_file["manifest-sha256.txt"] = manifest_of(changed_file)
    assert "signature" in failed(verified(changed_file))


def manifest_of(files: Mapping[str, bytes]) -> bytes:
    return manifest(
        {name: data for name, data in files.items() if name not in ("proof.json", "manifest-sha256.txt")}
    )


def forged(files: Mapping[str, bytes], name: str, old: bytes, new: bytes) -> dict[str, bytes]:
    """A pack in which somebody replaced words in a file, listed its new hash, and left out the signature."""
    [name] = [each for each in files if each.startswith(name) and old in files[each]]
    edited = files[name].replace(old, new)
    if name == "trace.nq":
        edited = canonical(parse(edited, format=RdfFormat.N_QUADS)).encode()
    found = {**files, name: edited}
    del found["proof.json"]
    return {**found, "manifest-sha256.txt": manifest_of(found)}


OFFSET = b'sourceCharOffset> "1489"', b'sourceCharOffset> "1490"'
QUOTED = b'sourceText> "A fatigue crack caused', b'sourceText> "A weak pin caused'


@pytest.mark.parametrize(
    ("name", "old", "new", "check"),
    [
        ("answer.json", b"fatigue crack caused", b"weak pin caused", "answer.json"),
        ("answer.json", b'"file_offset": 360', b'"file_offset": 361', "answer.json"),
        ("answer.txt", b"fatigue crack", b"weak pin", "objects"),
        ("pages/gate-four-inquiry-de3fa0e7-p4.txt", b"fatigue", b"failing", "pages"),
        ("queries/03", b"LIMIT 1", b"LIMIT 2", "objects"),
        ("queries/04-retrieval-ranked.json", b"urn:chunk:", b"urn:chunc:", "objects"),
        ("trace.nq", *QUOTED, "quotes"),
        ("trace.nq", *OFFSET, "quotes"),
    ],
)
def test_a_forged_pack_without_a_signature_contradicts_itself(
    name: str,
    old: bytes,
    new: bytes,
    check: str,
    files: Mapping[str, bytes],
    verified: Callable[..., Verified],
) -> None:
    found = failed(verified(forged(files, name, old, new)))
    assert check in found
    assert "hashes" not in found


def test_a_forged_score_is_found(files: Mapping[str, bytes], verified: Callable[..., Verified]) -> None:
    lines = files["trace.nq"].decode().splitlines(keepends=True)
    [line] = [
        each for each in lines if ":passage:" in each and ":0> <https://trustgraph.ai/ns/score>" in each
    ]
    score = line.split('"')[1]
    found = verified(forged(files, "trace.nq", line.encode(), line.replace(score, f"1{score}").encode()))
    assert "ranking" in failed(found)


def test_another_key(
    files: Mapping[str, bytes], place: Path, verified: Callable[..., Verified], tmp_path: Path
) -> None:
    own, other = did_of(read_key(place / "key.pem")), new_key(tmp_path / "other.pem")
    assert failed(verified(files, other)) == {"signature"}
    proof = json.loads(files["proof.json"])
    proof["verificationMethod"] = f"{other}#{other.removeprefix('did:key:')}"
    assert "signature" in failed(verified({**files, "proof.json": json.dumps(proof).encode()}))
    unsigned = {name: data for name, data in files.items() if name != "proof.json"}
    assert failed(verified(unsigned)) == set()
    assert failed(verified(unsigned, own)) == {"signature"}


def test_keys_stay_with_their_owner(place: Path, tmp_path: Path) -> None:
    path = tmp_path / "key.pem"
    new_key(path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    with pytest.raises(FileExistsError):
        new_key(path)
    with pytest.raises(UsageError, match="lies in a store"):
        new_key(place / "store" / "key.pem")
    path.chmod(0o644)
    with pytest.raises(UsageError, match="others may read"):
        read_key(path)


def test_the_test_vector_of_the_recommendation() -> None:
    """Data Integrity EdDSA Cryptosuites v1.0, B.1 Representation: eddsa-rdfc-2022."""
    date = "<http://www.w3.org/2001/XMLSchema#dateTime>"
    credential, rdf = (
        "<urn:uuid:58172aac-d8ba-11ed-83dd-0b3aef56cc33>",
        "http://www.w3.org/1999/02/22-rdf-syntax-ns#",
    )
    document = f"""\
<did:example:abcdefgh> <https://www.w3.org/ns/credentials/examples#alumniOf> "The School of Examples" .
{credential} <{rdf}type> <https://www.w3.org/2018/credentials#VerifiableCredential> .
{credential} <{rdf}type> <https://www.w3.org/ns/credentials/examples#AlumniCredential> .
{credential} <https://schema.org/description> "A minimum viable example of an Alumni Credential." .
{credential} <https://schema.org/name> "Alumni Credential" .
{credential} <https://www.w3.org/2018/credentials#credentialSubject> <did:example:abcdefgh> .
{credential} <https://www.w3.org/2018/credentials#issuer> <https://vc.example/issuers/5678> .
{credential} <https://www.w3.org/2018/credentials#validFrom> "2023-01-01T00:00:00Z"^^{date} .
"""
    key = "z6MkrJVnaZkeFzdQyMZu1cgjg7k1pZZ6pvBQ7XJPt4swbTQ2"
    value = "z21EVs3eXERqTn4acNHT9viboqgzUaQ3kTmhPT3eA8qrVPE7CrQq78WkzctnMX5W4CrzcKnHw8V6dvy5pgWYCU5e9"
    proof = {
        "type": "DataIntegrityProof",
        "cryptosuite": "eddsa-rdfc-2022",
        "created": "2023-02-24T23:36:38Z",
        "verificationMethod": f"https://vc.example/issuers/5678#{key}",
        "proofPurpose": "assertionMethod",
        "proofValue": value,
    }
    check_proof(document, proof)
    for other in (
        {"created": "2023-02-24T23:36:39Z"},
        {"proofValue": value[:-1] + "8"},
        {"cryptosuite": "x"},
    ):
        with pytest.raises(BadProof):
            check_proof(document, proof | other)
    with pytest.raises(BadProof):
        check_proof(document.replace("Alumni C", "Alumnae C"), proof)


# --- packs of strangers ----------------------------------------------------------------------------------


def zipped(*entries: tuple[str, bytes]) -> bytes:
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in entries:
            archive.writestr(name, content)
    return data.getvalue()


@pytest.mark.parametrize(
    ("data", "told"),
    [
        (b"PK no zip", "cannot be read"),
        (zipped(("../../etc/passwd", b"x")), "a name twice, or one that leads elsewhere"),
        (zipped(("/etc/passwd", b"x")), "a name twice, or one that leads elsewhere"),
        (zipped(("a\\..\\b", b"x")), "a name twice, or one that leads elsewhere"),
        (zipped(("a/./b", b"x")), "a name twice, or one that leads elsewhere"),
        (zipped(("a", bytes(2_000_000))), "its files are too large"),
        (zipped(("a", bytes(600_000)), ("b", bytes(600_000))), "its files are too large"),
        (zipped(*((f"f{number}", b"") for number in range(12))), "too many files"),
    ],
)
def test_dangerous_archives(data: bytes, told: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(verify_alone, "MOST_BYTES", 1_000_000)
    monkeypatch.setattr(verify_alone, "MOST_FILES", 10)
    (tmp_path / "pack.zip").write_bytes(data)
    [check] = verify_pack(tmp_path / "pack.zip").checks
    assert (check.check, check.ok) == ("files", False)
    assert told in check.detail


@pytest.mark.parametrize(
    ("name", "data", "check"),
    [
        ("trace.nq", b"_:a <urn:p> _:b .\n", "graph"),
        ("trace.nq", b"<urn:a> <urn:p>", "graph"),
        ("trace.nq", b"<urn:b> <urn:p> <urn:c> .\n<urn:a> <urn:p> <urn:c> .\n", "graph"),
        ("trace.nq", b"<urn:a> <urn:p> <urn:c> .\n", "session"),
        ("answer.json", b"[" * 100_000, "session"),
        ("answer.json", b'{"trace": 5, "citations": [5]}', "session"),
        ("proof.json", b'{"proofValue": 5}', "signature"),
    ],
)
def test_malformed_contents(
    name: str, data: bytes, check: str, files: Mapping[str, bytes], verified: Callable[..., Verified]
) -> None:
    assert check in failed(verified({**files, name: data}))


def test_a_query_of_a_pack_calls_nobody(
    files: Mapping[str, bytes], verified: Callable[..., Verified]
) -> None:
    [name] = [each for each in files if each.startswith("queries/04") and each.endswith(".rq")]
    query = b"SELECT * { SERVICE <http://127.0.0.1:9/> { GRAPH ?g { ?s ?p ?o } } }"
    old, new = (hashlib.sha256(data).hexdigest().encode() for data in (files[name], query))
    found = verified(forged({**files, name: query}, "trace.nq", old, new))
    ranking = next(check for check in found.checks if check.check == "ranking")
    assert ranking.ok is False
    assert "it calls another server" in ranking.detail


# --- prompts, and the store afterwards ------------------------------------------------------------------


@pytest.fixture
def engine(place: Path, tmp_path: Path) -> Iterator[Engine]:
    shutil.copytree(place / "store", tmp_path / "store")
    with Engine.open(tmp_path / "store") as opened:
        yield opened


def test_prompts_are_packed_or_only_their_hashes(
    place: Path, tmp_path: Path, scripted_server: ScriptedServer, verified: Callable[..., Verified]
) -> None:
    def reply(request: Request) -> str:
        searching = "knowledge graph will be searched" in request.prompt
        return "Gate 4" if searching else "" if "JSON Lines" in request.prompt else "A fatigue crack. [1]"

    scripted_server.answer_with(reply)
    named = {
        "model": "openai/test-model",
        "api_base": scripted_server.base_url,
        "api_key": "secret-key-1234567890",
    }
    shutil.copytree(place / "store", tmp_path / "store")
    config = load_settings(overrides={f"llm.{name}": value for name, value in named.items()}).settings
    with Engine.open(tmp_path / "store", config=config) as engine:
        list(engine.ask(QUESTION))
        whole, hashed = packed(engine), packed(engine, with_prompts=False)
    assert json.loads(whole.files["answer.json"])["models"] == ["openai/test-model"]
    prompts = [data for name, data in whole.files.items() if name.startswith("prompts/")]
    assert any(QUESTION.encode() in data for data in prompts)
    assert b"A fatigue crack. [1]" in prompts
    assert not any(b"secret-key" in data for data in whole.files.values())
    assert not [name for name in hashed.files if name.startswith("prompts/")]
    assert failed(verified(whole.files)) == failed(verified(hashed.files)) == set()
    assert hashlib.sha256(prompts[0]).hexdigest().encode() in hashed.files["trace.nq"]


def test_what_changed_in_the_store_since(
    engine: Engine, files: Mapping[str, bytes], place: Path, verified: Callable[..., Verified]
) -> None:
    pack = verified(files)
    assert pack.trace is not None
    assert pack.included is not None
    assert list(changes(engine.store, pack.included, pack.trace)) == []
    assert asked_again(engine, pack.trace).answer == pack.trace.answer
    shown = next(selection.fact for selection in pack.trace.selections if selection.fact)
    Facts(engine).remove(shown.s_label, shown.p_label, shown.o_label, with_sentences=True, by="Ada")
    members = engine.entity("Gate 4"), engine.entity(shown.s_label)
    merge(engine, [Merge(members[0], members)])
    with (place / "documents" / "gate-four-inquiry.pdf").open("ab") as pdf:
        pdf.write(b"% edited\n")
    engine.ingest([place / "documents"])
    since = list(changes(engine.store, pack.included, pack.trace))
    assert {change.check for change in since} == {"document", "fact", "entity"}
    assert all(change.changed and change.ok is None for change in since)
    assert any("Ada" in change.detail for change in since if change.check == "fact")
    assert asked_again(engine, pack.trace).answer != pack.trace.answer


def test_a_pack_made_after_a_change_says_what_it_does_not_prove(
    engine: Engine, verified: Callable[..., Verified]
) -> None:
    gone = [quad for quad in engine.store.quads() if "#chunkCount" in quad.predicate.value]
    engine.store.commit(Changes(remove=gone))
    pack = packed(engine)
    assert "retrieval/ranked" in pack.unproved
    found = verified(pack.files)
    ranking = next(check for check in found.checks if check.check == "ranking")
    assert ranking.ok is not False
    assert "not kept" in ranking.detail
