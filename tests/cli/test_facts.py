"""`facts`: removing and correcting by hand on the command line."""

from __future__ import annotations

import subprocess
from pathlib import Path

from tests.support.commands import Run, environment, program

BORN = ["Andrew Orr", "was born in", "Arnhythe"]


def test_remove_list_and_undo(run: Run, store: Path) -> None:
    dry = run("facts", "remove", *BORN, "--dry-run", "--format", "json").json
    assert dry["dry_run"]
    assert dry["removed"] == {"chunks": 0, "facts": 1, "entities": 0}
    assert "Nothing was written" in run("facts", "remove", *BORN, "--dry-run").out
    made = run("facts", "remove", *BORN, "--reason", "misread", "--by", "R. T.", "--format", "json").json
    assert (made["kept_facts"], len(made["sentences"])) == (0, 1)
    [listed] = run("facts", "decisions", "--format", "json").json
    assert made["decisions"] == [listed]
    assert listed["reason"] == "misread"
    assert listed["by"].startswith("urn:graphrag-rdf:person:")
    assert "(Andrew Orr, was born in, Arnhythe)" in run("facts", "decisions").out
    again = run("facts", "remove", *BORN)
    assert (again.code, again.out) == (0, "it is removed already\n")
    assert run("check", "--shapes").code == 0
    [source] = run("source", "fact", *BORN, "--format", "json").json
    assert source["removed"]["iri"] == listed["iri"]
    assert "Does not hold: removal by R. T." in run("source", "fact", *BORN).out
    undone = run("facts", "undo", listed["iri"], "--format", "json").json
    assert undone["asserted"] == [listed["fact"]]
    assert run("facts", "decisions", "--format", "json").json == []
    assert "undone" in run("facts", "decisions", "--all").out
    assert run("facts", "undo", listed["iri"]).code == 2
    assert run("check").code == 0


def test_correct_and_undo(run: Run, store: Path) -> None:
    how = ["--object", "Tarnay", "--with-sentences", "--format", "json"]
    made = run("facts", "correct", *BORN, *how).json
    assert made["asserted"][0]["o"] == "<http://trustgraph.ai/e/tarnay>"
    answer = run("ask", "Where was Andrew Orr born?", "--format", "json").json
    titles = {source["title"] for source in answer["sources"]}
    assert "correction by hand" in titles
    shown = run("source", "fact", "Andrew Orr", "was born in", "Tarnay")
    assert "correction by hand" in shown.out
    assert run("check", "--shapes").code == 0
    assert "added: (Andrew Orr, was born in, Arnhythe)" in run("facts", "correct", "--undo", *BORN).out
    assert run("facts", "remove", "--undo", *BORN).code == 2
    assert run("check").code == 0


def test_questions_still_use_the_sentence_and_are_told_so(run: Run, store: Path) -> None:
    assert "--with-sentences" in run("facts", "remove", *BORN).err
    run("facts", "remove", "--undo", *BORN)
    assert run("facts", "remove", *BORN, "--with-sentences").err == ""
    assert "Arnhythe" not in run("ask", "Where was Andrew Orr born?").out


def test_the_sentences_of_a_decision_are_left_out_later(store: Path, folder: Path) -> None:
    """Each command is a process of its own."""

    def call(*arguments: str) -> subprocess.CompletedProcess[str]:
        command = program(*arguments)
        how = {"capture_output": True, "text": True, "cwd": folder, "env": environment()}
        return subprocess.run(command, check=False, **how)

    question = ("ask", "Where was Andrew Orr born?")
    nothing_stands = call("facts", "correct", *BORN, "--with-sentences")
    assert nothing_stands.returncode == 2
    assert "the correction equals the fact" in nothing_stands.stderr
    call("facts", "correct", *BORN, "--object", "Tarnay")
    said = call(*question).stdout
    assert "Arnhythe" not in said or said.index("Tarnay") < said.index("Arnhythe")
    assert "left out in answers: 1" in call("facts", "correct", *BORN, "--with-sentences", "--dry-run").stdout
    assert 'with_sentences": false' in call("facts", "decisions", "--format", "json").stdout
    other = call("facts", "correct", *BORN, "--object", "Leeds", "--with-sentences")
    assert (other.returncode, "was removed before" in other.stderr) == (2, True)
    later = call("facts", "correct", *BORN, "--with-sentences")
    assert (later.returncode, later.stderr) == (0, "")
    assert "left out in answers: 1" in later.stdout
    assert 'with_sentences": true' in call("facts", "decisions", "--format", "json").stdout
    said = call(*question).stdout
    assert "Tarnay" in said
    assert "Arnhythe" not in said
    again = call("facts", "correct", *BORN, "--object", "Tarnay", "--with-sentences")
    assert again.stdout == "its sentences are left out already\n"
    assert call("check", "--shapes").returncode == 0
    call("facts", "correct", "--undo", *BORN)
    assert "Arnhythe" in call(*question).stdout


def test_the_sentences_of_a_removed_fact_are_left_out_later(run: Run, store: Path) -> None:
    run("facts", "remove", *BORN)
    assert "Arnhythe" not in run("ask", "Where was Andrew Orr born?").out
    assert "left out in answers: 1" in run("facts", "remove", *BORN, "--with-sentences").out
    assert "Arnhythe" not in run("ask", "Where was Andrew Orr born?").out
    assert run("facts", "remove", *BORN, "--with-sentences").out == "it is removed already\n"


def test_names_regardless_of_case_and_what_is_meant(run: Run, store: Path) -> None:
    assert run("facts", "remove", "andrew ORR", "Was Born In", "arnhythe", "--dry-run").code == 0
    assert run("source", "fact", "andrew orr", "designed", "drumlaw head lighthouse").code == 0
    near = run("source", "fact", "Andrw Orr", "designed", "x")
    assert near.code == 2
    assert "did you mean “Andrew Orr”?" in near.err
    near = run("facts", "remove", "Andrew Orr", "was born at", "Arnhyte")
    assert near.code == 2
    assert "there is: (Andrew Orr, was born in, Arnhythe)" in " ".join(near.err.split())


def test_several_facts_are_named(run: Run, store: Path, folder: Path) -> None:
    (folder / "more.nt").write_text(
        '<urn:orr> <http://www.w3.org/2000/01/rdf-schema#label> "Andrew Orr" .\n'
        "<urn:orr> <http://trustgraph.ai/r/was-born-in> <http://trustgraph.ai/e/arnhythe> .\n"
    )
    run("import", "more.nt")
    found = run("facts", "remove", *BORN)
    assert found.code == 2
    assert "names 2 facts" in found.err
    assert "'<urn:orr>' '<http://trustgraph.ai/r/was-born-in>'" in " ".join(found.err.split())
    assert run("facts", "remove", "urn:orr", *BORN[1:]).code == 0
    assert run("facts", "remove", *BORN).code == 0


def test_wrong_usage(run: Run, store: Path) -> None:
    assert "--object" in run("facts", "correct", *BORN).err
    assert run("facts", "remove", "--undo", *BORN, "--reason", "x").code == 2
    assert "no decision about" in run("facts", "remove", "--undo", *BORN).err
    assert run("facts", "correct", *BORN, "--subject", '"a text"').code == 2
    date = ["Drumlaw Head Lighthouse", "http://trustgraph.ai/r/x", '"1"']
    assert run("facts", "remove", *date).code == 2
    assert run("facts", "decisions").out == "no decisions\n"


def test_a_trace_takes_the_decision_with_it(run: Run, store: Path) -> None:
    how = ["--object", "Tarnay", "--with-sentences", "--reason", "the register", "--by", "R. T."]
    run("facts", "correct", *BORN, *how)
    assert "Tarnay" in run("ask", "Where was Andrew Orr born?").out
    for form in ("trig", "turtle", "nquads", "prov-n", "prov-json", "provx", "jsonld", "html"):
        assert "correction by R. T." in run("trace", "export", "last", "--format", form).out, form
    trig = run("trace", "export", "last").out
    assert "rag:assertsInstead" in trig
    assert "the register" in trig


def test_labels_that_look_like_terms(run: Run, store: Path, folder: Path) -> None:
    label = "<http://www.w3.org/2000/01/rdf-schema#label>"
    (folder / "more.nt").write_text(
        f'<urn:a> {label} "<unknown>" .\n<urn:b> {label} "\\"Skell\\" yard" .\n<urn:c> {label} "\\"Q\\"" .\n'
        f'<urn:built> {label} "built" .\n<urn:a> <urn:built> <urn:b> .\n<urn:c> <urn:built> <urn:c> .\n'
    )
    run("import", "more.nt")
    for fact in (["<unknown>", "built", '"Skell" yard'], ['"Q"', "built", '"Q"']):
        assert run("facts", "remove", *fact, "--dry-run").code == 0
    corrected = run("facts", "correct", '"Q"', "built", '"Q"', "--object", '"Skell" yard', "--dry-run")
    assert 'added: ("Q", built, "Skell" yard)' in corrected.out
    nothing = run("facts", "remove", "<http://nowhere", "built", "x")
    assert (nothing.code, "N-Triples" in nothing.err or "<http://…>" in nothing.err) == (2, True)
    assert run("facts", "correct", '"Q"', "built", '"Q"', "--object", "<http://no where>").code == 2
