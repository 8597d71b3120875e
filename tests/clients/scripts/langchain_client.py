"""LangChain: its ChatOpenAI against our server, and our retriever over the server and over a store."""

import asyncio
import json
import os

from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.runnables import RunnableLambda
from langchain_openai import ChatOpenAI

from graphrag_rdf import Engine
from graphrag_rdf.integrations.langchain import GraphRagRetriever

GIVEN = json.loads(os.environ["GIVEN"])
QUESTION = GIVEN["question"]


def chat():
    model = ChatOpenAI(
        base_url=f"{GIVEN['url']}/v1", api_key=GIVEN["token"], model="graph_rag", temperature=0.3
    )
    answer = model.invoke(QUESTION)
    talk = [HumanMessage(QUESTION), AIMessage(answer.content), HumanMessage(GIVEN["follow_up"])]
    chunks = list(model.stream(talk))
    return {
        "answer": answer.content,
        "finish_reason": answer.response_metadata["finish_reason"],
        "follow_up": "".join(chunk.content for chunk in chunks),
        "batch": len(model.batch([QUESTION, QUESTION])),
    }


def documents(found):
    return [{"id": each.id, "text": each.page_content, **each.metadata} for each in found]


def retrieved():
    remote = GraphRagRetriever(server=GIVEN["url"], token=GIVEN["token"], k=3, trace=True)
    with Engine.open(GIVEN["store"]) as engine:
        local = GraphRagRetriever(engine=engine, k=3)
        chain = local | RunnableLambda(lambda found: found[0].metadata["title"])
        return {
            "server": documents(remote.invoke(QUESTION)),
            "engine": documents(local.invoke(QUESTION)),
            "async": documents(asyncio.run(local.ainvoke(QUESTION))),
            "chain": chain.invoke(QUESTION),
        }


print(
    json.dumps({**chat(), **retrieved(), "shown": repr(GraphRagRetriever(server="http://x", token="secret"))})
)
