"""Before a question is asked of a pipeline: what it is asked with, and what its answer will depend on."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from pyoxigraph import NamedNode

from graphrag_rdf import __version__
from graphrag_rdf.components import Components
from graphrag_rdf.errors import UsageError
from graphrag_rdf.i18n import tr
from graphrag_rdf.pipeline import Pipeline, hash_of_folder
from graphrag_rdf.rdf import iris
from graphrag_rdf.steps.search import entities_meant
from graphrag_rdf.steps.state import Context, State
from graphrag_rdf.steps.words import QuestionWords
from graphrag_rdf.store.records import RELATIONS, REPORTS, parameters_of
from graphrag_rdf.trace import citations
from graphrag_rdf.trace.catalogue import find_trace
from graphrag_rdf.trace.citations import Style
from graphrag_rdf.trace.foreign import OWN
from graphrag_rdf.trace.model import Trace
from graphrag_rdf.trace.reader import read_trace
from graphrag_rdf.trace.recorder import TraceRecorder
from graphrag_rdf.trace.reuse import read_turns
from graphrag_rdf.wing import Wing, all_of

if TYPE_CHECKING:
    from graphrag_rdf.index.rerankers import Reranker
    from graphrag_rdf.index.text import TextIndex

_TURNS = 5  # earlier questions of a session that a follow-up question sees
_NAMED = 1000  # names of new sessions that are remembered until their traces can be found
MAX_QUESTION = 20_000
"""Characters of a question."""
_WITH_OVERVIEW = ("graph_rag", "auto", "local", "overview")


def prepare(
    parts: Components,
    pipeline: Pipeline,
    question: str,
    *,
    version: NamedNode | None = None,
    include: Iterable[str] = (),
    exclude: Iterable[str] = (),
    stored: bool = True,
    streamed: bool = True,
    session: str | None = None,
    new_session: bool = False,
    citation_style: Style = "number",
) -> tuple[Context, State]:
    """What a pipeline works with, and what it knows at the beginning.

    Args:
        question: checked.
        version: of the settings in force.
        include, exclude: labels or IRIs of entities that must be, or must not be, followed.
        stored: write the trace.
        streamed: somebody reads its messages.
        session: the trace of an earlier question that this one goes on with.
        new_session: if there is no such trace, the UUID in `session` names this one.
        citation_style: of the answer.

    Raises:
        UsageError: for an unknown entity or session, or an empty store.
    """
    _require_documents(parts)
    store, settings = parts.store, parts.settings
    earlier, run = _session(parts, session, named=new_session) if session else (None, None)
    history = read_turns(store, parts.blobs, earlier, _TURNS) if earlier is not None else ()
    recorder = TraceRecorder(
        store,
        parts.blobs,
        graph=NamedNode(settings.trace.graph),
        detail=settings.trace.detail if stored or streamed else "steps",
        stored=stored,
        settings=version,
        citation_style=citation_style,
        continues=earlier,
        question_types=pipeline.definition.question,
        asked_by=[turn.asked for turn in history[-1:]],
        run=run,
    )
    state = State(question, language_of(parts, question), history)
    index = parts.ready_index(state.warn)
    state.include = entities_meant(include, store, index, state.language)
    state.exclude = entities_meant(exclude, store, index, state.language)
    context = Context(
        store=store,
        blobs=parts.blobs,
        recorder=recorder,
        prompt_folders=pipeline.prompt_folders,
        text_index=index,
        vectors=parts.ready_vectors(state.warn),
        embedder=parts.embedder,
        gateway=parts.gateway if settings.llm.model else None,
        reranker=_reranker(parts, state, index),
        jobs=settings.llm.jobs or settings.extract.jobs,
        section=settings.of,
    )
    return context, state


def _session(parts: Components, name: str, *, named: bool) -> tuple[NamedNode | None, str | None]:
    """The trace of a name, or else the UUID in it, which only one run gets.

    Raises:
        UsageError: for an unknown trace, unless it may be `named`.
    """
    try:
        return find_trace(parts.store, name), None
    except UsageError:
        uuid = iris.uuid_in(name)
        if not named or uuid is None:
            raise
    mine = object()
    if parts.named.setdefault(uuid, mine) is not mine:
        return None, None  # a question that was asked at the same time has it
    if len(parts.named) > _NAMED:
        parts.named.pop(next(iter(parts.named)))
    return None, uuid


def _reranker(parts: Components, state: State, index: TextIndex | None) -> Reranker | None:
    """What looks at the best again; None without one. That by words is of one question."""
    spec = parts.settings.rerank.model
    if spec is None or spec == "none":
        return None
    from graphrag_rdf.index.rerankers import reranker_for

    if spec.startswith("local:"):
        return parts.cross_encoder

    def by_gateway(question: str, texts: Sequence[str], model: str) -> list[float]:
        return parts.gateway.rerank(question, texts, model)  # made only when it is asked

    return reranker_for(
        spec,
        lexical=QuestionWords.of(state.question, state.language, index).coverage,
        embedder=parts.embedder,
        gateway_rerank=by_gateway,
    )


def language_of(parts: Components, question: str) -> str | None:
    """The language of a question: what its script says, else of those that documents are in the one that has
    most of its words as common ones ("waar kwam …"), and of several that of most documents. Where there are
    documents whose language is not known, as of tables, it may be any language that has such words.
    """
    from graphrag_rdf.documents.language import detect_script
    from graphrag_rdf.index.analyse import common_words, spoken_by

    if script := detect_script(question):
        return script
    spoken = parts.languages()
    languages = [language for language in spoken if language != "und"]
    best = max(languages, key=lambda language: common_words(question, language), default=None)
    if len(languages) < len(spoken) and not common_words(question, best):
        return spoken_by(question) or best
    return best


def _require_documents(parts: Components) -> None:
    if not parts.store.ask("system/has-content"):
        where = parts.place.root if parts.place else "in memory"
        raise UsageError(
            tr("the store {where} is empty").format(where=where),
            hint=tr("run: graphrag-rdf ingest DOCUMENTS"),
        )


def depends(
    parts: Components, pipeline: Pipeline, state: State, model: str, citation_style: Style
) -> dict[str, Any]:
    """What an answer depends on, beside the content of the store."""
    llm, own = parts.settings.llm, parts.settings.queries
    parameters = pipeline.parameters(with_model=True)
    relations = parameters_of(parts.store, RELATIONS)
    return {
        "program": __version__,
        "question": state.question,
        "history": state.conversation,
        "language": state.language,
        "pipeline": pipeline.definition.name,
        "pipeline_hash": pipeline.hash,
        "queries_hash": None if own is None else hash_of_folder(own),
        "parameters": parameters,
        "citation_style": citation_style,
        "model": [model, llm.api_base, llm.temperature, llm.max_tokens, llm.seed, *llm.temperatures],
        "embedding_model": parts.settings.embedding.model,
        "rerank_model": [parts.settings.rerank.model, parts.settings.rerank.api_base],
        "include": sorted(entity.value for entity in state.include),
        "exclude": sorted(entity.value for entity in state.exclude),
        "warnings": state.warnings,
        "relations": [relations] if relations else [],
        "reports": _reports_made(parts),
        "wings": {name: getattr(parts.settings, name).model_dump(mode="json") for name in all_of(_sections)},
        # another ontology changes inferences without a change of content: with them, each commit counts
        "inferences": parts.store.commit_number() if _may_infer(parameters) else None,
    }


def _sections(wing: Wing) -> Mapping[str, str]:
    return wing.settings


def _may_infer(parameters: Mapping[str, Any]) -> bool:
    """Whether a step, or one of a called pipeline, may use inferred facts."""
    below = [own for own in parameters.values() if isinstance(own, Mapping)]
    return bool(parameters.get("inferred")) or any(map(_may_infer, below))


def _reports_made(parts: Components) -> str | int | None:
    """With what the reports of communities were made; the commit while some are missing."""
    store = parts.store
    if (parameters := parameters_of(store, REPORTS)) is not None:
        return parameters
    has_reports = store.select("index/report-count")[0]["reports"] > 0
    return store.commit_number() if has_reports else None


def or_overview(question: str, pipeline: str) -> tuple[str, str]:
    """(question, pipeline). An empty question asks the pipeline `overview` what the documents are about."""
    if question.strip() or pipeline not in _WITH_OVERVIEW:
        return question, pipeline
    return tr("What are these documents about?"), "overview"


def check_question(question: str) -> str:
    """The question as it will be asked.

    Raises:
        UsageError: when it is empty, too long, or not text.
    """
    question = question.strip()
    if not question:
        raise UsageError(tr("the question is empty"), hint=tr('graphrag-rdf ask "Who founded the company?"'))
    if any("\ud800" <= character <= "\udfff" for character in question):
        raise UsageError(tr("the question is not valid Unicode"), hint=tr("send it as UTF-8"))
    if len(question) > MAX_QUESTION:
        raise UsageError(
            tr("the question has {count:,} characters, more than {max_question:,}").format(
                count=len(question), max_question=MAX_QUESTION
            ),
            hint=tr("ask about a document after ingesting it"),
        )
    return question


# --- questions of traces -----------------------------------------------------------------------


def asked_trace(parts: Components, name: str) -> Trace:
    """The trace that a name means or, of an answer that was given again, that of the first time.

    Args:
        name: see `find_trace`.

    Raises:
        UsageError: when there is no such trace, another program wrote it, or its question was erased.
    """
    store = parts.store
    trace = read_trace(store, find_trace(store, name), parts.blobs, with_runs=True)
    first = next((reused for step in trace.steps if (reused := step.values.get("reuses"))), None)
    if first is not None:
        trace = read_trace(store, find_trace(store, first.value), parts.blobs, with_runs=True)
    if trace.form != OWN:
        raise UsageError(
            tr("another program wrote this trace, which does not say how to ask its question again"),
            hint=tr('graphrag-rdf ask "…" asks it here'),
        )
    if not trace.question or trace.kind is None:
        raise UsageError(
            tr("the trace {iri} has no question any more").format(iri=trace.iri),
            hint=tr("ask the question again"),
        )
    return trace


def recorded_settings(pipeline: Pipeline, trace: Trace, *, with_model: bool) -> dict[str, str]:
    """Of the recorded parameters those that are otherwise in the pipeline now, as text; what it has no more
    shows as a difference.

    With a model in the place of none, or none in that of one, steps work as the pipeline says for that.

    Args:
        with_model: whether the settings name a model.
    """
    parameters: dict[str, dict[str, Any]] = {}
    ways = {step.name: step.kind.uses for step in pipeline.definition.steps}
    for step in pipeline.definition.steps:
        parameters[step.name] = dict(step.values())
        if with_model == (trace.model is not None) or not step.kind.auto:
            parameters[step.name]["use"] = step.choose(with_model=True)
    answer = trace.answer or ""
    style = {citations.SETTING: citations.style_of(answer)} if citations.cited_numbers(answer) else {}
    return style | {
        f"{step}.{name}": str(value).lower() if isinstance(value, bool) else str(value)
        for step, values in trace.parameters.items()
        if isinstance(values, Mapping) and step in parameters
        for name, value in values.items()
        if name in parameters[step]
        and parameters[step][name] != value
        and (name != "use" or value in ways[step])
    }
