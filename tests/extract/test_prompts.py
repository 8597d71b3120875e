"""What the extraction prompt is told of documents: read, checked, filled in, and never run."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from graphrag_rdf.errors import ConfigError
from graphrag_rdf.extract.llm import LlmExtractor
from graphrag_rdf.extract.prompts import (
    NO_DATA,
    ExampleEntity,
    ExampleRelation,
    Kind,
    PromptData,
    WorkedExample,
    as_yaml,
    read_prompt_data,
)
from graphrag_rdf.llm.model import fenced
from graphrag_rdf.resources import folder

PROMPTS = folder("pipelines") / "ingest"
TEXT = "Mary Hale opened the Lindow Mill\nin Tarn. It had 40 looms."

texts = st.text(min_size=1, max_size=80)
jinja = st.lists(
    st.sampled_from(
        ["{{", "}}", "{%", "%}", "{#", "#}", " raw ", " endraw ", "-", "7*7", "tuned", "</text>", "x"]
    )
    | st.characters(codec="utf-8"),
    min_size=1,
    max_size=20,
).map("".join)


def example(text: str = TEXT, **changes: Any) -> dict[str, Any]:
    relation = {
        "subject": "Mary Hale",
        "predicate": "opened",
        "object": "Lindow Mill",
        "evidence": "Mary Hale opened",
    }
    return {
        "text": text,
        "entities": [{"name": "Mary Hale", "type": "person"}, {"name": "Lindow Mill"}],
        "relations": [{**relation, **changes}],
    }


def prompt(data: PromptData, **options: Any) -> str:
    extractor = LlmExtractor(PROMPTS, model="openai/test-model", data=data, **options)
    return extractor.prompt("THE PASSAGE", language="en", title="THE TITLE")


def key(data: PromptData, prompts: Path = PROMPTS) -> str:
    return LlmExtractor(prompts, model="openai/test-model", data=data).key


def test_a_chunk_in_chinese_comes_with_an_example_in_chinese() -> None:
    extractor = LlmExtractor(PROMPTS, model="openai/test-model", data=NO_DATA)
    prompt = extractor.prompt("正文", language="zh-Hant", title="标题")
    _, _, rest = prompt.partition("Example 1. From the passage: ")
    text, _, rest = rest.partition("\n")
    answer = json.loads(rest.partition("\n\nExample 2")[0])
    names = [entity["name"] for entity in answer["entities"]]
    assert all(name in text for name in names)
    assert all(one["subject"] in names and one["evidence"] in text for one in answer["relations"])
    assert not any(one["predicate"].isascii() for one in answer["relations"])


def test_the_prompt_with_and_without() -> None:
    plain = prompt(NO_DATA)
    assert "such as person, organisation" in plain
    assert "Mary Hale opened the Lindow Mill (known to all as Old Wheel)" in plain
    data = PromptData.model_validate(
        {
            "domain": "mills",
            "persona": "You are a miller.",
            "entity_types": [{"name": "mill", "meaning": "a house with looms"}],
            "relation_types": [{"name": "opened"}],
            "examples": [example()],
        }
    )
    tuned = prompt(data)
    assert tuned.startswith("You are a miller.\n\nYou turn a passage")
    for told in (
        "about: mills.",
        '- "mill": a house with looms\n',
        '- "opened"\n',
        f"From the passage: {TEXT}",
    ):
        assert told in tuned
    assert "Old Wheel" not in tuned
    assert "such as person" not in tuned
    # types of the settings are a demand, and win
    held = prompt(data, entity_types=["weaver"])
    assert "one of: weaver. Leave out" in held
    assert "a house with looms" not in held


def test_what_the_key_depends_on() -> None:
    data = PromptData(domain="mills")
    assert key(NO_DATA) == LlmExtractor(PROMPTS, model="openai/test-model").key
    assert key(data) != key(NO_DATA)
    assert key(data) == key(PromptData(domain="mills", tuned_by="urn:tuning:1"))
    assert key(data) != key(PromptData(domain="weavers"))
    assert PromptData(tuned_by="urn:tuning:1").is_empty
    taken = [
        PromptData.model_validate({"examples": [{**example(), "source": s}]}) for s in (None, "urn:chunk:1")
    ]
    assert key(taken[0]) == key(taken[1])  # where an example is from says nothing to a model


@given(jinja, jinja)
def test_nothing_in_it_is_taken_for_a_template(one: str, other: str) -> None:
    """Each text is in the prompt as it is, but for tags; and the rest of the prompt stays."""
    try:
        data = PromptData(
            domain=one,
            persona=other,
            language="x" + one[:50],
            entity_types=(Kind(name="x" + other[:50], meaning=one),),
            examples=(
                WorkedExample(
                    text=f"Ann met Bob. x{one}x",
                    entities=(ExampleEntity(name="Ann"), ExampleEntity(name="Bob", definition=f"x{other}x")),
                    relations=(
                        ExampleRelation(
                            subject="Ann", predicate="met", object="Bob", evidence=f"Bob. x{one}x"
                        ),
                    ),
                ),
            ),
        )
    except ValidationError:  # control characters, or nothing but blanks
        return
    found = prompt(data)
    assert found.endswith("<title>THE TITLE</title>\n<text>\nTHE PASSAGE\n</text>")
    assert found.count("<text>") == found.count("</text>") == 1
    for text in (data.domain, data.persona, data.entity_types[0].meaning, data.examples[0].text):
        assert fenced(text or "") in found
    assert fenced(data.examples[0].answer()) in found


@given(texts, texts, texts)
def test_the_file_gives_back_what_was_written(one: str, other: str, third: str) -> None:
    try:
        data = PromptData(
            domain=one,
            persona=other,
            relation_types=(Kind(name=third[:50], meaning=one),),
            examples=(
                WorkedExample(
                    text=f"{one}\n{other}\n Ann met Bob.\n\n{third}",
                    source="urn:chunk:1",
                    entities=(ExampleEntity(name="Ann", aliases=("A",)), ExampleEntity(name="Bob")),
                    relations=(
                        ExampleRelation(
                            subject="Ann", predicate="met", object="Bob", evidence=f"{other}\n Ann"
                        ),
                    ),
                ),
            ),
        )
    except ValidationError:
        return
    assert PromptData.model_validate(yaml.safe_load(as_yaml(data))) == data


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ("domain: [a", "not valid YAML"),
        ("- a", "the whole: not a mapping"),
        ("subject: mills", "subject: unknown key"),
        ("domain: 5", "domain: not a text"),
        ("examples: 3", "examples: not a list"),
        ("entity_types: [5]", "entity_types.0: not a mapping"),
        ("entity_types: [{meaning: a house}]", "entity_types.0.name: it is missing"),
        (f"persona: {'x' * 401}", "persona: more than 400"),
        ("entity_types: [{name: '  '}]", "entity_types.0.name: it is empty"),
        ("tuned_by: no iri", "tuned_by: not an absolute IRI"),
        (yaml.safe_dump({"examples": [example(evidence="Mary opened")]}), "does not say 'Mary opened'"),
        (yaml.safe_dump({"examples": [example(object="Tarn")]}), "'Tarn' is not among its entities"),
        (yaml.safe_dump({"examples": [example(object="Mary Hale")]}), "self_relation"),
        (yaml.safe_dump({"examples": [example(text="Mary Hale opened\x07")]}), "control characters"),
        (yaml.safe_dump({"examples": [{**example(), "relations": []}]}), "examples.0.relations"),
        (
            yaml.safe_dump({"examples": [example(object="x", object_is_entity=False, datatype="date")]}),
            "datatype_mismatch",
        ),
        (
            yaml.safe_dump({"examples": [{**example(), "entities": [{"name": "Mary Hale"}] * 2}]}),
            "examples.0",
        ),
    ],
)
def test_what_is_wrong_is_told(tmp_path: Path, said: str, told: str) -> None:
    path = tmp_path / "extract.yaml"
    path.write_text(said)
    with pytest.raises(ConfigError, match=r"extract\.yaml") as raised:
        read_prompt_data(path)
    assert told in raised.value.message
    assert "Value error" not in raised.value.message
    assert "tune-prompts.md" in (raised.value.hint or "")


def test_a_name_alone_is_a_type(tmp_path: Path) -> None:
    path = tmp_path / "extract.yaml"
    path.write_text("entity_types: [mill, {name: weaver, meaning: who weaves}]\nrelation_types:\n- opened\n")
    found = read_prompt_data(path)
    assert found.entity_types == (Kind(name="mill"), Kind(name="weaver", meaning="who weaves"))
    assert found.relation_types == (Kind(name="opened"),)


def test_an_empty_file_is_no_data(tmp_path: Path) -> None:
    path = tmp_path / "extract.yaml"
    path.write_text("# nothing yet\n")
    assert read_prompt_data(path) == NO_DATA
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ConfigError, match="cannot be read"):
        read_prompt_data(path)


def test_the_example_of_the_page_holds(tmp_path: Path) -> None:
    page = (Path(__file__).parents[2] / "docs" / "how-to" / "tune-prompts.md").read_text("utf-8")
    path = tmp_path / "extract.yaml"
    path.write_text(page.partition("```yaml\n")[2].partition("```")[0], encoding="utf-8")
    found = read_prompt_data(path)
    assert found.examples
    assert "Take one of these" in prompt(found)
