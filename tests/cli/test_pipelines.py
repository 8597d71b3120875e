"""`pipelines`: what there is, and what --set takes."""

from __future__ import annotations

from pathlib import Path

from tests.support.commands import Run


def test_list_and_show(run: Run) -> None:
    names = [one["name"] for one in run("pipelines", "list", "--format", "json").json]
    assert {"graph_rag", "hybrid_rag", "hops_rag"} <= set(names)
    for name in names:
        shown = run("pipelines", "show", name, "--format", "json").json
        assert shown["name"] == name
        for step in shown["steps"]:
            assert step["use"] in step["uses"]
            assert all(one["about"] and one["takes"] for one in step["parameters"])
    told = run("pipelines", "show", "hops_rag").out
    assert "exploration.max_path_length" in told
    assert "(only llm, chunks)" in told
    found = run("pipelines", "show", "hop_rag")
    assert found.code == 2
    assert "hops_rag" in found.err


def test_a_pipeline_of_ones_own_is_listed(run: Run, tmp_path: Path) -> None:
    mine = tmp_path / "mine" / "strict"
    mine.mkdir(parents=True)
    mine.joinpath("pipeline.yaml").write_text(
        "name: strict\nsummary: Facts alone.\nflow: sequence\nlabel: GraphRAG\n"
        "question: [tg:GraphRagQuestion]\n"
        "prompts_of: graph_rag\nsteps:\n  - {name: grounding, step: ground}\n"
        "  - {name: exploration, step: hops, parameters: {edge_limit: 5}}\n"
        "  - {name: focus, step: focus}\n  - {name: synthesis, step: synthesise}\n"
    )
    (tmp_path / "mine.toml").write_text(f'pipelines = "{mine.parent}"\n')
    shown = run("pipelines", "show", "strict", "--config", tmp_path / "mine.toml", "--format", "json").json
    limit = next(one for one in shown["steps"][1]["parameters"] if one["name"] == "edge_limit")
    assert (limit["value"], limit["default"]) == (5, 25)
