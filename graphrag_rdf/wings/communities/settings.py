"""The settings of communities, claims and merged descriptions."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from graphrag_rdf.section import NONE_IS_A_WAY, Section


class ClaimSection(Section):
    """[claims] - claims that a model finds in chunks."""

    build: bool = Field(default=False, description="read the claims of new chunks in each ingest")
    description: str = Field(
        default="what is reported, alleged or denied of a named person, organisation, place or thing.",
        min_length=1,
        description="what a claim is, as the model is told",
    )
    gleaning_rounds: int = Field(
        default=0, ge=0, le=5, description="number of times to ask the model for missed claims"
    )


class SummarySection(Section):
    """[summaries] - merged descriptions of entities and facts that several texts describe."""

    build: bool = Field(
        default=False, description="merge descriptions after each ingest that changes something"
    )
    use: Literal["auto", "extractive", "llm"] = Field(
        default="auto",
        description="auto: by a model, if one is set; extractive: the most central texts, no model",
    )
    sentences: int = Field(
        default=3, ge=1, le=50, description="texts of a description without a model, at most"
    )
    max_texts: int = Field(
        default=200, ge=2, description="texts that a model reads for one description, the most central"
    )
    input_tokens: int = Field(
        default=4000,
        ge=500,
        description="maximum number of tokens that a model reads at once; the rest follows in further calls",
    )
    max_words: int = Field(
        default=150, ge=10, le=2000, description="words of a description, as the model is told"
    )


class CommunitySection(Section):
    """[communities] - groups of entities that belong together."""

    auto: bool = Field(
        default=False, description="build communities after each ingest that changes something"
    )
    resolution: float = Field(
        default=1.0,
        gt=0,
        le=100,
        description="above 1: more and smaller communities; below: fewer and larger",
    )
    max_size: int = Field(
        default=10, ge=2, le=10_000, description="larger communities are divided into those of the next level"
    )
    seed: int = Field(default=0, ge=0, description="of the random numbers of the clustering")
    statement_weight: float = Field(
        default=1.0, ge=0, le=1000, description="of each source of a fact between two entities"
    )
    sentence_weight: float = Field(
        default=0.5, ge=0, le=1000, description="of each sentence that names two entities"
    )
    topic_weight: float = Field(
        default=0.25, ge=0, le=1000, description="of each chunk about one entity that names the other"
    )
    reports: Annotated[Literal["auto", "extractive", "llm", "none"], NONE_IS_A_WAY] = Field(
        default="auto",
        description="reports of communities; auto: by a model, if one is set; extractive: quotes, no model",
    )
    report_tokens: int = Field(
        default=8000, ge=500, description="maximum number of tokens that a report is written from"
    )
