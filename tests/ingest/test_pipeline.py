"""The pipeline of the ingest: declarations of stages, the shipped file, and copies of it that are changed."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
import pytest
from pyoxigraph import DefaultGraph, Quad

from graphrag_rdf.cli.refresh import refresh_command
from graphrag_rdf.config import Settings, flat_values
from graphrag_rdf.errors import ConfigError
from graphrag_rdf.ingest.estimate import estimate
from graphrag_rdf.ingest.files import AFTER_DOCUMENTS
from graphrag_rdf.ingest.stages import Stage, ingest_pipeline, model_stages, plain_stages, stages
from graphrag_rdf.pipeline import load_pipeline, pipeline_names
from graphrag_rdf.rdf import iris
from graphrag_rdf.rdf.namespaces import DCTERMS
from graphrag_rdf.resources import folder
from graphrag_rdf.sparql.library import QueryTemplate
from graphrag_rdf.sparql.render import Renderer
from tests.ingest.conftest import MakeEngine, answer_of, by_model, chunk_in, everything, facts
from tests.support.scripted_server import ScriptedServer

SHIPPED = folder("pipelines") / "ingest"
KEYS = flat_values(Settings())
TWICE = "Rhoda Tennant built the Petrel in Port Merrin. The Petrel sank in Skell Sound in 1911.\n"

NO_RELATIONS = '{"relations": []}'

MakePipeline = Callable[..., Path]


@pytest.fixture
def own(tmp_path: Path) -> MakePipeline:
    """Makes a folder of pipelines with a copy of ours in which some text is replaced."""

    def make(*changes: tuple[str, str]) -> Path:
        shutil.copytree(SHIPPED, tmp_path / "pipelines" / "ingest")
        file = tmp_path / "pipelines" / "ingest" / "pipeline.yaml"
        text = file.read_text("utf-8")
        for old, new in changes:
            assert old in text
            text = text.replace(old, new)
        file.write_text(text, "utf-8")
        return tmp_path / "pipelines"

    return make


def paragraph(stage: str) -> str:
    """What our file says of a stage."""
    text = (SHIPPED / "pipeline.yaml").read_text("utf-8")
    return next(part for part in text.split("\n\n") if part.startswith(f"  - stage: {stage} "))


@pytest.fixture
def rendered(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The templates that are run from now on, in order."""
    found: list[str] = []
    render = QueryTemplate.render

    def recorded(self: QueryTemplate, renderer: Renderer, **values: Any) -> str:
        found.append(self.name)
        return render(self, renderer, **values)

    monkeypatch.setattr(QueryTemplate, "render", recorded)
    return found


STAGES = [*stages().values()]


@pytest.mark.parametrize("stage", STAGES, ids=lambda stage: stage.name)
def test_a_stage_is_declared_whole(stage: Stage) -> None:
    names = [one.name for one in STAGES]
    assert all(names.index(need) < names.index(stage.name) for need in stage.needs)
    assert {*stage.settings} <= KEYS.keys()
    if stage.chooses:
        assert len(stage.ways) > 1
        assert stage.ways[0] == KEYS[stage.chooses]
    else:
        assert not stage.ways


def test_the_shipped_file_lists_what_is_declared() -> None:
    listed = list(ingest_pipeline(Settings()).entries())
    assert [entry.stage for entry in listed] == [stage.name for stage in STAGES]
    for entry, stage in zip(listed, STAGES, strict=True):
        for template in entry.templates or ():
            assert any((folder("queries") / f"{template}{suffix}").is_file() for suffix in (".rq", ".ru"))
        assert entry.use == (stage.ways[0] if stage.ways else None)
        assert entry.parameters == {}


def test_all_prompts_and_settings_belong_to_a_stage() -> None:
    prompts = {name for entry in ingest_pipeline(Settings()).entries() for name in entry.prompts or ()}
    assert {path.name for path in SHIPPED.glob("*.j2")} == prompts
    obeyed = {key for stage in STAGES for key in (*stage.settings, stage.chooses)}
    assert {key for key in KEYS if key.startswith(("documents.", "extract.", "relations."))} <= obeyed


def test_optional_stages_at_the_end_have_a_function() -> None:
    optional = {stage.name for stage in STAGES if stage.part == "end" and stage.optional}
    with_model = {kind.stage.name for kind in model_stages()}
    plain = {name for name, one in plain_stages().items() if one.after}
    assert {*AFTER_DOCUMENTS, *plain} == {*optional, "authority"} - with_model


def test_what_can_be_refreshed_is_a_stage() -> None:
    """But for inferences, which follow from facts and ontologies and are made by that command only."""
    commands = refresh_command.list_commands(click.Context(refresh_command))
    assert {*commands} - {"inferences"} == {stage.refresh for stage in STAGES if stage.refresh}


def test_a_run_uses_only_templates_that_the_file_lists(
    docs: Path, engine_of: MakeEngine, scripted_server: ScriptedServer, rendered: list[str], tmp_path: Path
) -> None:
    synonyms = tmp_path / "synonyms.txt"
    synonyms.write_text("Petrel = The Bird; SS Petrel\n")
    (docs / "a.md").write_text(f"# The Petrel\n\n{TWICE}\nOrr met Rhoda Tennant.\n")
    (docs / "b.csv").write_text("ship,town\nPetrel,Tarn\nMerlin,Lint\n")
    (docs / "c.md").write_text(TWICE)
    scripted_server.answer_with(lambda request: answer_of(request) if chunk_in(request) else NO_RELATIONS)
    shared: dict[str, Any] = {"extract__synonyms": str(synonyms), "relations__build": True}
    engines = [engine_of(**shared), engine_of(**by_model(scripted_server, **shared))]
    rendered.clear()
    for change in (
        lambda: None,
        lambda: (docs / "a.md").write_text(f"# The Petrel\n\nLi Hua met LiHua.\n\n{TWICE}"),
        (docs / "c.md").unlink,
    ):
        change()
        for engine in engines:
            engine.ingest([docs])
    listed = {name for entry in ingest_pipeline(Settings()).entries() for name in entry.templates or ()}
    assert {name for name in rendered if not name.startswith("settings/")} <= listed
    assert {"ingest/chunk-places", "labels/elect", "derived/shared-entities"} <= {*rendered}


def test_the_pipeline_of_the_ingest_answers_no_questions() -> None:
    folders = [folder("pipelines")]
    assert "ingest" not in pipeline_names(folders)
    with pytest.raises(ConfigError, match="no pipeline named 'ingest'"):
        load_pipeline("ingest", folders)


def test_an_optional_stage_that_is_left_out_does_not_run(
    docs: Path, engine_of: MakeEngine, own: MakePipeline, rendered: list[str]
) -> None:
    text = f"---\ntitle: The Petrel\nauthor: Ada Venn\n---\n{TWICE}LiHua met Li Hua.\n"
    (docs / "a.md").write_text(text)
    (docs / "b.md").write_text(text)
    whole = engine_of("whole")
    assert [warning["type"] for warning in whole.ingest([docs]).warnings] == ["duplicate_documents"]
    assert "ingest/speakers" in rendered
    rendered.clear()
    folders = own(*((paragraph(name), "") for name in ("metadata", "duplicates", "written_together")))
    less = engine_of("less", pipelines=str(folders))
    assert less.ingest([docs]).warnings == []
    assert "ingest/speakers" not in rendered
    author = Quad(iris.entity("the-petrel"), DCTERMS.creator, iris.entity("ada-venn"), DefaultGraph())
    assert author in everything(whole)
    assert author not in everything(less)
    assert facts(whole) == facts(less) != set()


def test_the_last_stages_run_in_the_order_of_the_file(
    docs: Path, engine_of: MakeEngine, own: MakePipeline, rendered: list[str]
) -> None:
    (docs / "a.txt").write_text(TWICE)
    duplicates = paragraph("duplicates")
    folders = own(
        (f"{duplicates}\n\n", ""), ("  - stage: relations", f"{duplicates}\n\n  - stage: relations")
    )
    for pipelines, expected in (({}, True), ({"pipelines": str(folders)}, False)):
        rendered.clear()
        engine_of(**pipelines).ingest([docs])
        first = rendered.index("documents/shared-chunks") < rendered.index("ingest/names-in-documents")
        assert first == expected


def test_parameters_take_the_place_of_defaults_and_what_is_given_wins(
    docs: Path, engine_of: MakeEngine, own: MakePipeline
) -> None:
    (docs / "a.txt").write_text("The Petrel sank in Skell Sound in 1911. " * 10)
    said = "  - stage: chunk \n    parameters: {documents.chunk_overlap: 60, documents.chunk_size: 4000}\n  #"
    folders = own(("  - stage: chunk ", said))
    engine = engine_of(pipelines=str(folders))  # given: documents.chunk_size
    assert engine.settings.documents.chunk_overlap == 60
    assert engine.settings.documents.chunk_size == 120
    overlapping = engine.ingest([docs]).chunks.added
    assert overlapping > engine_of().ingest([docs]).chunks.added
    engine.live.set("documents.chunk_overlap", "0")
    assert engine.ingest([docs]).documents.read_again == 1
    assert engine.settings.documents.chunk_overlap == 0


def test_a_way_of_the_file_counts_unless_the_setting_is_given(
    docs: Path, engine_of: MakeEngine, own: MakePipeline, scripted_server: ScriptedServer
) -> None:
    scripted_server.answer_with(answer_of)
    (docs / "a.txt").write_text(TWICE)
    folders = str(own(("    use: auto                     # rules |", "    use: rules  #")))
    with_model = by_model(scripted_server, pipelines=folders)
    assert engine_of(**with_model).ingest([docs]).llm.calls == 0
    assert engine_of(**with_model, extract__use="llm").ingest([docs]).llm.calls > 0


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("stage: chunk ", "stage: chunks ", "'chunks' is unknown"),
        ("stage: sentences ", "stage: chunk ", "'chunk' belongs to another part"),
        ("stage: evidence ", "stage: filter ", "'filter' is listed twice"),
        ("  - stage: evidence ", "  #", "'write' needs 'evidence' before it"),
        ("  - stage: discover ", "  #", "'plan' needs 'discover' before it"),
        ("  - stage: links ", "  - stage: index\n  - stage: names\n  #", "'index' is listed twice"),
        ("use: auto                     # rules", "use: magic # rules", "'extract' has no way 'magic'"),
        ("[relations.j2]", "[mine.j2]", "'relations' has no prompt 'mine.j2'"),
        ("[ingest/names-in-chunk]", "[ingest/failures]", "'mentions' has no template 'ingest/failures'"),
        (
            "- stage: read ",
            "- stage: read\n    parameters: {llm.model: x} #",
            "'read' has no setting 'llm.model'",
        ),
        (
            "- stage: chunk ",
            "- stage: chunk\n    parameters: {documents.chunk_size: 3} #",
            "'chunk': documents.chunk_size: ",
        ),
        (
            "- stage: index ",
            "- stage: index\n    parameters: {embedding.model: openai/small} #",
            "'index': embedding.model needs trust: documents and questions are sent there",
        ),
        (
            "use: auto                     # rules",
            "parameters: {llm.model: openai/x} #",
            "llm.model needs trust",
        ),
        ("summary: ", "sumary: ", "sumary"),
        ("begin: ", "begin: [", "pipeline.yaml"),
    ],
)
def test_mistakes_are_errors_that_name_the_file(own: MakePipeline, old: str, new: str, message: str) -> None:
    folders = own((old, new))
    with pytest.raises(ConfigError, match=message) as refused:
        ingest_pipeline(Settings(pipelines=folders))
    assert str(folders / "ingest" / "pipeline.yaml") in str(refused.value)


def test_a_mistake_stops_an_ingest_and_its_estimate(
    docs: Path, engine_of: MakeEngine, own: MakePipeline
) -> None:
    (docs / "a.txt").write_text(TWICE)
    engine = engine_of(pipelines=str(own(("stage: chunk ", "stage: chunks "))))
    with pytest.raises(ConfigError, match="'chunks' is unknown"):
        engine.ingest([docs])
    with pytest.raises(ConfigError, match="'chunks' is unknown"):
        estimate(engine, [docs])


def test_a_required_stage_must_be_listed(own: MakePipeline) -> None:
    with pytest.raises(ConfigError, match="'links' is missing") as refused:
        ingest_pipeline(Settings(pipelines=own((paragraph("links"), ""))))
    assert (
        "synonyms, metadata, boilerplate, duplicates, written_together, aliases, vocabularies, validate"
        in (refused.value.hint or "")
    )


def test_a_folder_with_prompts_alone_keeps_our_stages(tmp_path: Path) -> None:
    (tmp_path / "ingest").mkdir()
    shutil.copy(SHIPPED / "extract.j2", tmp_path / "ingest")
    assert ingest_pipeline(Settings(pipelines=tmp_path)) == ingest_pipeline(Settings())
