# ruff: noqa: BLE001, PLC0415, PT017, T201 - a program; what it imports depends on the major
"""Use a server with the client of the SDK that is installed: python sdk_tour.py URL | COMMAND...

Prints the version that both agreed on for each way to speak, and fails if an answer is not right.
"""

import asyncio
import sys
from contextlib import asynccontextmanager


@asynccontextmanager
async def one(target):
    """Connect with mcp 1."""
    from mcp import ClientSession, StdioServerParameters
    from mcp.client.stdio import stdio_client
    from mcp.client.streamable_http import streamable_http_client

    if isinstance(target, str):
        opened = streamable_http_client(target)
    else:
        opened = stdio_client(StdioServerParameters(command=target[0], args=target[1:]))
    async with opened as (read, write, *_), ClientSession(read, write) as session:
        print((await session.initialize()).protocolVersion)
        yield session


@asynccontextmanager
async def two(target, mode):
    """Connect with mcp 2, which speaks both eras of the protocol."""
    from mcp import Client
    from mcp.client.stdio import StdioServerParameters, stdio_client

    if not isinstance(target, str):
        target = stdio_client(StdioServerParameters(command=target[0], args=target[1:]))
    async with Client(target, mode=mode) as client:
        print(client.protocol_version)
        yield client


async def tour(session):
    """Use all that there is."""
    tools = (await session.list_tools()).tools
    assert [tool.name for tool in tools] == ["recall", "remember", "correct", "forget"]
    await session.call_tool("remember", {"text": "Rami edits with Helix", "key": "rami/editor"})
    found = await session.call_tool("recall", {"query": "Rami edits"})
    assert "Helix" in found.content[0].text
    bad = await session.call_tool("correct", {"id": "nobody", "text": "x"})
    assert "nobody" in bad.content[0].text
    assert getattr(bad, "isError", None) or getattr(bad, "is_error", None)
    assert len((await session.list_resources()).resources) == 2
    assert (await session.read_resource("memento://recent")).contents[0].text
    assert len((await session.list_prompts()).prompts) == 2
    prompt = await session.get_prompt("recall", {"topic": "Rami"})
    assert "Helix" in prompt.messages[0].content.text
    try:
        await session.call_tool("erase", {})
    except Exception as error:
        assert "unknown tool" in str(error), error
    else:
        raise AssertionError("an unknown tool was called")


async def main(target):
    """Tour the server in each way."""
    try:
        from mcp import Client
    except ImportError:
        async with one(target) as session:
            await tour(session)
        return
    assert Client
    for mode in ("legacy", "auto", "2026-07-28"):
        async with two(target, mode) as session:
            await tour(session)


asyncio.run(main(sys.argv[1] if sys.argv[1].startswith("http") else sys.argv[1:]))
