"""`/traces/{id}/pack`."""

from __future__ import annotations

from pathlib import Path

import httpx

from graphrag_rdf.wings.audit.pack_verify import verify_pack


def test_the_page_of_an_answer_offers_its_proof(stranger: httpx.Client, tmp_path: Path) -> None:
    question = "Who founded the Tarnay Electric Light Company?"
    answer = stranger.post("/ask", json={"question": question}).raise_for_status().json()
    run = answer["question_iri"].rpartition(":")[2]
    page = stranger.get(f"/traces/{run}", headers={"Accept": "text/html"}).text
    assert f'href="/traces/{run}/pack"' in page
    got = stranger.get(f"/traces/{run}/pack").raise_for_status()
    assert got.headers["Content-Type"] == "application/zip"
    assert f'filename="answer-{run}.zip"' in got.headers["Content-Disposition"]
    (tmp_path / "answer.zip").write_bytes(got.content)
    found = verify_pack(tmp_path / "answer.zip")
    assert found.ok
    assert found.answer == answer["answer"]
    assert stranger.get("/traces/nothing/pack").status_code == 404
