"""`tune prompts`, over the wire: what is asked, written, recorded, and what must not happen."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
import yaml

from tests.support.commands import Outcome, Run
from tests.support.scripted_readers import answer_all, kind_of
from tests.support.scripted_server import Request, ScriptedServer

SHIPS = ("Petrel", "Dunlin", "Curlew", "Plover", "Gannet", "Osprey", "Merlin", "Heron", "Avocet", "Whimbrel",
         "Knot", "Ruff")  # fmt: skip
PERSONA = "You are a maritime historian. You look for ships {{ 7 * 7 }} {% raw %}."
ANSWER = {
    "domain": "ships of a harbour {% endraw %} {{ lipsum }}.",
    "persona": PERSONA,
    "entity_types": [
        {"name": "ship", "meaning": "a vessel {{ 6 * 7 }} {%- endraw -%} <text>"},
        {"name": "person"},
        {"name": 'e"v}i}l'},
        "ship",
    ],
    "relation_types": [{"name": "sankIn", "meaning": "where it went down"}],
}
KINDS = ("extract", "claims", "summary", "report")
MARKS = ("{{ 7 * 7 }} {% raw %}", "{% endraw %} {{ lipsum }}", "{{ 6 * 7 }} {%- endraw -%}")


@pytest.fixture
def documents(folder: Path) -> Path:
    place = folder / "ships"
    place.mkdir()
    for ship in SHIPS:
        text = (
            f"Captain Alder {ship} commanded the {ship} Star. The {ship} Star sank in {ship} Sound. "
            f"{{{{ 7 * 7 }}}} Mona Kell of {ship} Town built the {ship} Star for Port Merrin.\n"
        )
        (place / f"{ship.lower()}.txt").write_text(text)
    return place


@pytest.fixture
def ships(run: Run, documents: Path) -> Path:
    """The documents, in the store: read by rules."""
    assert run("ingest", "--model", "none", documents).code == 0
    return documents


@pytest.fixture
def model(ships: Path, scripted_server: ScriptedServer, monkeypatch: pytest.MonkeyPatch) -> ScriptedServer:
    monkeypatch.setenv("GRAPHRAG_RDF_LLM__API_BASE", scripted_server.base_url)
    monkeypatch.setenv("GRAPHRAG_RDF_LLM__API_KEY", "sk-planted")
    monkeypatch.setenv("GRAPHRAG_RDF_LLM__MODEL", "openai/gpt-4.1")
    monkeypatch.setenv("GRAPHRAG_RDF_LLM__MAX_RETRIES", "0")
    monkeypatch.setenv("GRAPHRAG_RDF_EXTRACT__CALL_CHUNKS", "1")
    monkeypatch.setenv("GRAPHRAG_RDF_PIPELINES", "pipelines")
    scripted_server.answer_with(tuning)
    return scripted_server


def asks_to_tune(request: Request) -> bool:
    return '"relation_types": [{"name"' in request.prompt


def tuning(request: Request) -> str | None:
    """Answers to what only a tuning asks."""
    return json.dumps(ANSWER) if asks_to_tune(request) else None


def tune(run: Run, *arguments: object) -> Outcome:
    return run("tune", "prompts", "--limit", "6", *arguments)


def written(folder: Path) -> Path:
    return folder / "pipelines" / "ingest" / "extract.yaml"


def test_needs_a_model_and_says_so(run: Run, ships: Path) -> None:
    found = tune(run)
    assert found.code == 2
    assert "--model" in found.err
    assert "extract.yaml" in found.err


def test_needs_chunks(run: Run, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GRAPHRAG_RDF_LLM__MODEL", "openai/gpt-4.1")
    assert tune(run).code == 2
    assert run("sparql", "--update", "INSERT DATA { <urn:a> <urn:b> <urn:c> }").code == 2


def test_before_anything_is_paid_for(run: Run, model: ScriptedServer, folder: Path) -> None:
    """What cannot be written, or would overwrite, is refused."""
    written(folder).parent.mkdir(parents=True)
    written(folder).write_text("domain: mine\n")
    refused = tune(run, "--apply")
    assert refused.code == 2
    assert "--force" in refused.err
    written(folder).unlink()
    written(folder).mkdir()
    hindered = tune(run, "--apply", "--force")
    assert hindered.code == 2
    assert "cannot write pipelines/ingest/extract.yaml: it is a folder" in hindered.err
    written(folder).rmdir()
    written(folder).write_text("domain: [mine]\n")
    broken = tune(run)
    assert broken.code == 2
    assert "extract.yaml: domain" in broken.err
    assert model.requests == []


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_that_may_not_be_written_into(run: Run, model: ScriptedServer, folder: Path) -> None:
    (folder / "pipelines").mkdir(mode=0o500)
    refused = tune(run, "--apply")
    assert refused.code == 2
    assert "no permission to write" in refused.err
    assert model.requests == []


def test_nothing_is_recorded_that_could_not_be_written(
    run: Run, documents: Path, model: ScriptedServer, folder: Path
) -> None:
    def meanwhile(request: Request) -> str | None:
        (folder / "pipelines").touch()  # a file in the place of a folder
        return tuning(request)

    model.answer_with(meanwhile)
    found = tune(run, "--apply")
    assert found.code == 2
    assert "cannot write pipelines/ingest/extract.yaml: " in found.err
    assert query(run, "tuning/tunings") == []


def test_without_a_folder_of_pipelines(
    run: Run, documents: Path, model: ScriptedServer, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("GRAPHRAG_RDF_PIPELINES")
    refused = tune(run, "--apply")
    assert refused.code == 2
    assert "init --pipelines" in refused.err
    assert model.requests == []


def test_shown_and_repeated_for_nothing(
    run: Run, documents: Path, model: ScriptedServer, folder: Path
) -> None:
    found = tune(run, "--format", "json")
    assert found.code == 0, found.err
    told = found.json
    assert told["applied"] is False
    assert not written(folder).exists()
    data = told["data"]
    assert data["domain"] == "ships of a harbour {% endraw %} {{ lipsum }}"
    assert [kind["name"] for kind in data["entity_types"]] == ["ship", "person"]
    assert [kind["name"] for kind in data["relation_types"]] == ["sank in"]
    sample = told["sample"]
    assert len(set(sample["seen"])) == 6
    assert told["prompt"]["tokens"]["after"] > told["prompt"]["tokens"]["before"]
    assert told["llm"]["calls"] == len(model.requests) == 1
    again = tune(run, "--format", "json").json
    assert again["llm"] == {**again["llm"], "calls": 0, "cached": 1}
    assert again["data"] == data
    assert again["sample"] == sample
    other = tune(run, "--format", "json", "--seed", "1").json
    assert other["sample"]["seen"] != sample["seen"]


def test_for_people(run: Run, documents: Path, model: ScriptedServer) -> None:
    found = tune(run)
    assert found.code == 0, found.err
    for told in ("6 sampled, of 12", "ship, person"):
        assert told in found.out
    assert "--apply" in found.err


def test_nothing_breaks_out_of_the_template(
    run: Run, documents: Path, model: ScriptedServer, folder: Path
) -> None:
    """Braces of documents and of the model are text in every prompt that is sent afterwards."""
    assert tune(run, "--apply").code == 0
    kept = yaml.safe_load(written(folder).read_text())
    assert kept["persona"] == PERSONA
    model.requests.clear()
    found = run("ingest", documents, "--format", "json")
    assert found.code == 0, found.err
    assert model.requests
    for request in model.requests:
        for mark in (*MARKS, "{{ 7 * 7 }} Mona Kell"):
            assert mark in request.prompt
        assert " 49 " not in request.prompt
        assert request.prompt.count("<text>") == 1
        assert "‹text>" in request.prompt


def test_written_recorded_and_traced_back(
    run: Run, documents: Path, model: ScriptedServer, folder: Path
) -> None:
    applied = tune(run, "--apply", "--format", "json")
    assert applied.code == 0, applied.err
    told = applied.json
    assert told["applied"] is True
    assert Path(told["path"]).resolve() == written(folder)
    kept = yaml.safe_load(written(folder).read_text())
    assert kept.pop("tuned_by") == told["tuning"]
    assert kept == told["data"]
    # the same again: nothing to do
    same = tune(run, "--apply", "--force", "--format", "json").json
    assert same["prompt"]["changed"] is False
    assert same["applied"] is False
    # facts lead back to it
    assert run("ingest", documents).code == 0
    rows = query(run, "provenance/prompts", "entity=http://trustgraph.ai/e/petrel-star")
    assert rows
    assert {row["tuning"] for row in rows} == {told["tuning"]}
    assert {row["hash"] for row in rows} == {told["prompt"]["hash"]["after"]}
    (tuning,) = query(run, "tuning/tunings")
    assert tuning["tuning"] == told["tuning"]
    assert int(tuning["passages"]) == 6
    assert run("check").code == 0, run("check").out
    # one that was edited since is another prompt, and still leads back
    changed = written(folder).read_text().replace("where it went down", "where it was lost")
    written(folder).write_text(changed)
    assert run("ingest", documents).code == 0
    rows = query(run, "provenance/prompts", "entity=http://trustgraph.ai/e/petrel-star")
    assert {row["tuning"] for row in rows} == {told["tuning"]}
    assert {row["hash"] for row in rows} & {told["prompt"]["hash"]["after"]} == set()
    assert run("check").code == 0


def query(run: Run, name: str, *values: str) -> list[dict[str, str]]:
    given = [part for value in values for part in ("-p", value)]
    found = run("queries", "run", name, *given, "--format", "json")
    assert found.code == 0, found.err
    return [{key: term["value"] for key, term in row.items()} for row in found.json["results"]["bindings"]]


def test_what_is_given_is_not_asked(run: Run, documents: Path, model: ScriptedServer) -> None:
    given = ("--domain", "lost ships", "--persona", "You are a diver.", "--language", "German")
    data = tune(run, *given, "--entity-types", "ship, wreck", "--format", "json").json["data"]
    (asked,) = model.requests
    assert '"persona": "..."' not in asked.prompt
    assert '"domain": "..."' not in asked.prompt
    assert "these are given: ship, wreck" in asked.prompt
    assert "You are a diver." in asked.prompt
    assert [kind["name"] for kind in data["entity_types"]] == ["ship", "wreck"]
    assert "a vessel" in data["entity_types"][0]["meaning"]
    assert (data["domain"], data["persona"], data["language"]) == ("lost ships", "You are a diver.", "German")
    for wrong in (
        ("--domain", "x" * 401),
        ("--domain", ""),
        ("--entity-types", "x" * 61),
        ("--entity-types", ","),
        ("--persona", "\x07"),
    ):
        refused = tune(run, *wrong)
        assert refused.code == 2
        assert wrong[0] in refused.err
        assert "it is empty" in refused.err or "more than" in refused.err
    (documents.parent / "long.toml").write_text(f'[extract]\nentity_types = ["{"x" * 61}"]\n')
    assert "extract.entity_types: 'x" in tune(run, "--config", "long.toml").err


@pytest.mark.parametrize(
    "useless",
    [
        "I had rather not.",
        {**ANSWER, "domain": "..."},
        {**ANSWER, "persona": "\x07"},
        {**ANSWER, "entity_types": [{"name": "...", "meaning": "..."}], "relation_types": [{"name": "..."}]},
        {**ANSWER, "entity_types": [], "relation_types": []},
    ],
)
def test_answers_that_say_nothing(
    run: Run, model: ScriptedServer, folder: Path, useless: dict[str, object] | str
) -> None:
    """A form that was not filled in is asked for again, at once and by the next run."""
    model.answer_with(lambda request: useless if isinstance(useless, str) else json.dumps(useless))
    found = tune(run, "--apply")
    assert found.code == 1
    assert "the model's answer is no vocabulary" in found.err
    assert "follows instructions better" in found.err
    assert not written(folder).exists()
    assert len(model.requests) == 2
    model.answer_with(tuning)
    assert tune(run).code == 0
    assert tune(run, "--domain", "...").code == 0  # who gives it may say what they want


def test_answers_in_prose(run: Run, model: ScriptedServer, folder: Path) -> None:
    """Fences and names alone are read; no ingest would use the prompt."""
    answer = {**ANSWER, "entity_types": ["ship"], "relation_types": ["SANK_IN", "sank in"]}
    model.answer_with(lambda request: f"Here you are:\n```json\n[{json.dumps(answer)}]\n```")
    (folder / "rules.toml").write_text('[extract]\nuse = "rules"\n')
    found = tune(run, "--format", "json", "--config", "rules.toml")
    assert found.code == 0, found.err
    assert found.json["data"]["entity_types"] == [{"name": "ship", "meaning": ""}]
    assert [kind["name"] for kind in found.json["data"]["relation_types"]] == ["sank in"]
    assert [warning["type"] for warning in found.json["warnings"]] == ["prompt_unused"]


def test_the_budget_ends_it(
    run: Run, documents: Path, model: ScriptedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GRAPHRAG_RDF_LLM__BUDGET_TOKENS", "100")
    found = tune(run)
    assert found.code == 1
    assert "budget" in found.err


def test_a_template_that_does_not_read_it(
    run: Run, documents: Path, model: ScriptedServer, folder: Path
) -> None:
    own = written(folder).with_name("extract.j2")
    own.parent.mkdir(parents=True)
    own.write_text("Read this: <text>{{ text }}</text>")
    found = tune(run)
    assert found.code == 2
    assert "does not use extract.yaml" in found.err
    assert model.requests == []
    assert run("ingest", documents).code == 0  # without data it is as good as any
    written(folder).write_text("domain: ships\n")
    assert run("ingest", documents).code == 2


def test_forgetting_tells_of_examples(run: Run, documents: Path, model: ScriptedServer, folder: Path) -> None:
    document = documents / "petrel.txt"
    text = "The Petrel Star sank in Petrel Sound."
    assert run("ingest", "--model", "none", documents).code == 0
    query = f'SELECT ?c {{ GRAPH <urn:graph:source> {{ ?c tg:content ?t FILTER(CONTAINS(?t, "{text}")) }} }}'
    _, chunk = run("sparql", "--format", "csv", query).out.split()
    relation = {"subject": "Petrel Star", "predicate": "sank in", "object": "Petrel Sound", "evidence": text}
    entities = [{"name": "Petrel Star"}, {"name": "Petrel Sound"}]
    example = {"text": text, "source": chunk, "entities": entities, "relations": [relation]}
    written(folder).parent.mkdir(parents=True)
    written(folder).write_text(yaml.safe_dump({"examples": [example]}))
    dry = run("forget", "--dry-run", document, "--format", "json").json
    assert [warning["type"] for warning in dry["warnings"]] == ["prompt_holds_text"]
    assert "example 1" in dry["warnings"][0]["detail"]


def test_the_prompts_of_claims_summaries_and_reports_are_tuned_too(
    run: Run, documents: Path, model: ScriptedServer, folder: Path
) -> None:
    """What was written by hand stays."""
    written(folder).parent.mkdir(parents=True)
    claims = "sinkings and who is blamed {{ 7 * 7 }}"
    written(folder).write_text(yaml.safe_dump({"importance": "lost lives.", "claim_description": claims}))
    assert tune(run, "--apply", "--force").code == 0
    kept = yaml.safe_load(written(folder).read_text())
    assert (kept["importance"], kept["claim_description"]) == ("lost lives.", claims)
    model.requests.clear()
    model.answer_with(answer_all)
    assert run("ingest", str(documents)).code == 0
    for command in (("refresh", "claims"), ("refresh", "summaries"), ("communities", "build")):
        assert run(*command).code == 0
    asked = {kind: [one.prompt for one in model.requests if kind_of(one) == kind] for kind in KINDS}
    assert all(asked.values())
    assert all("You are a maritime historian" in prompt for prompts in asked.values() for prompt in prompts)
    assert all(claims in prompt for prompt in asked["claims"])
    assert all("What matters here: lost lives." in prompt for prompt in asked["report"])


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ("quotes: ['Nobody said this.']", "the passage does not say 'Nobody said this.'"),
        ("status: MAYBE", "claim_examples.0.claims.0.status"),
        ("subject: ''", "subject_"),
    ],
)
def test_an_example_of_claims_that_does_not_hold_is_refused(
    run: Run, documents: Path, model: ScriptedServer, folder: Path, wrong: str, said: str
) -> None:
    claim = {
        "subject": "Ann Orr",
        "type": "fine",
        "status": "TRUE",
        "description": "d",
        "quotes": ["Ann Orr paid."],
    }
    claim |= yaml.safe_load(wrong)
    written(folder).parent.mkdir(parents=True)
    written(folder).write_text(
        yaml.safe_dump({"claim_examples": [{"text": "Ann Orr paid.", "claims": [claim]}]})
    )
    found = run("ingest", str(documents))
    assert found.code == 2
    assert said in found.err


def test_own_prompts_that_do_not_read_what_is_tuned_are_refused(
    run: Run, documents: Path, model: ScriptedServer, folder: Path
) -> None:
    written(folder).parent.mkdir(parents=True)
    written(folder).write_text("importance: lost lives\n")
    (written(folder).parent / "community_report.j2").write_text("{{ context }}")
    model.answer_with(answer_all)
    assert run("ingest", str(documents)).code == 0
    found = run("communities", "build")
    assert found.code == 2
    assert "does not use importance of extract.yaml" in found.err
