"""LlamaIndex: our retriever over the server and over a store."""

import asyncio
import json
import os

from llama_index.core.llms import MockLLM
from llama_index.core.query_engine import RetrieverQueryEngine
from llama_index.core.schema import MetadataMode

from graphrag_rdf import Engine
from graphrag_rdf.integrations.llama_index import GraphRagRetriever

GIVEN = json.loads(os.environ["GIVEN"])
QUESTION = GIVEN["question"]


def nodes(found):
    return [{"id": each.node_id, "text": each.text, **each.metadata, "score": each.score} for each in found]


remote = GraphRagRetriever(server=GIVEN["url"], token=GIVEN["token"], k=3, trace=True)
with Engine.open(GIVEN["store"]) as engine:
    local = GraphRagRetriever(engine, k=3)
    found = local.retrieve(QUESTION)
    answered = RetrieverQueryEngine.from_args(local, llm=MockLLM()).query(QUESTION)
    print(
        json.dumps(
            {
                "server": nodes(remote.retrieve(QUESTION)),
                "engine": nodes(found),
                "async": nodes(asyncio.run(local.aretrieve(QUESTION))),
                "prompt": found[0].get_content(MetadataMode.LLM),
                "sources": [each.node_id for each in answered.source_nodes],
            }
        )
    )
