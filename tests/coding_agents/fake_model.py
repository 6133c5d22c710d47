"""A language model on loopback for tests of whole agents: it notes what it is sent.

It speaks the dialects of Anthropic, OpenAI (both) and Gemini. Its answer is "Noted.", unless the
user's last words are ``TOOL:name:words``: then it calls that tool once, with these words as query.
"""

from __future__ import annotations

import json
import re
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

SAID = "Noted."
TOOL = re.compile(r"TOOL:([\w.-]+):([\w ]+)")
ANSWERED = ("tool_result", "function_call_output", '"role": "tool"', "functionResponse")


@contextmanager
def fake_model():
    """Yield the address of a model, and the list of what it is sent: one text a request."""
    seen = []

    class Handler(_Handler):
        requests = seen

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}", seen
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    requests = ()

    def log_message(self, *words):
        """Keep the output of the tests clean."""

    def _reply(self, text, kind="application/json"):
        self.send_response(200)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(text.encode())))
        self.end_headers()
        self.wfile.write(text.encode())

    def do_HEAD(self):
        self._reply("")

    def do_GET(self):
        model = {"id": "fake", "object": "model", "type": "model", "display_name": "fake"}
        self._reply(json.dumps({"object": "list", "data": [model], "models": []}))

    def do_POST(self):
        raw = self.rfile.read(int(self.headers.get("content-length") or 0))
        if self.headers.get("content-encoding") == "zstd":
            import zstandard  # noqa: PLC0415 - few agents compress what they send

            raw = zstandard.ZstdDecompressor().decompressobj().decompress(raw)
        body = json.loads(raw or b"{}")
        spelt = json.dumps(body, ensure_ascii=False)
        self.requests.append(spelt)
        asked = None if any(mark in spelt for mark in ANSWERED) else TOOL.findall(_words(body))
        tool = (asked[-1][0], {"query": asked[-1][1]}) if asked else None
        path = self.path.partition("?")[0]
        if path.endswith("/count_tokens"):
            self._reply('{"input_tokens": 1}')
        elif "enerateContent" in path:
            whole = json.dumps(_gemini(tool))
            stream = "stream" in path
            self._reply(
                f"data: {whole}\r\n\r\n" if stream else whole, *["text/event-stream"] * stream
            )
        else:
            events, whole = _DIALECTS[path.rpartition("/")[2]](tool)
            if body.get("stream"):
                lines = (f"event: {kind}\ndata: {json.dumps(data)}\n\n" for kind, data in events)
                ending = "data: [DONE]\n\n" if path.endswith("completions") else ""
                self._reply("".join(lines) + ending, "text/event-stream")
            else:
                self._reply(json.dumps(whole))


def _words(body):
    """Join the texts of the turns of a request."""
    found = []

    def look(value):
        if isinstance(value, str):
            found.append(value)
        for one in value.values() if isinstance(value, dict) else value:
            if isinstance(one, dict | list) or (isinstance(value, dict) and isinstance(one, str)):
                look(one)

    for name in ("messages", "input", "contents"):
        if isinstance(body.get(name), list):
            look(body[name])
    return "\n".join(found)


def _messages(tool):
    """Anthropic's."""
    block = {"type": "text", "text": SAID}
    delta = {"type": "text_delta", "text": SAID}
    if tool:
        block = {"type": "tool_use", "id": "toolu_1", "name": tool[0], "input": tool[1]}
        delta = {"type": "input_json_delta", "partial_json": json.dumps(tool[1])}
    empty = {**block, "input": {}} if tool else {**block, "text": ""}
    usage = {"input_tokens": 1, "output_tokens": 1}
    reason = "tool_use" if tool else "end_turn"
    whole = {
        "id": "msg_1", "type": "message", "role": "assistant", "model": "fake", "content": [block],
        "stop_reason": reason, "stop_sequence": None, "usage": usage,
    }  # fmt: skip
    steps = [
        {"type": "message_start", "message": {**whole, "content": [], "stop_reason": None}},
        {"type": "content_block_start", "index": 0, "content_block": empty},
        {"type": "content_block_delta", "index": 0, "delta": delta},
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "usage": usage, "delta": {"stop_reason": reason}},
        {"type": "message_stop"},
    ]
    return [(one["type"], one) for one in steps], whole


def _responses(tool):
    """OpenAI's newer one, as Codex speaks it."""
    content = [{"type": "output_text", "text": SAID, "annotations": []}]
    item = {"type": "message", "id": "m_1", "role": "assistant", "content": content}
    if tool:
        space, _, name = tool[0].rpartition(".")
        item = {"type": "function_call", "id": "fc_1", "call_id": "call_1", "name": name}
        item |= {"arguments": json.dumps(tool[1])} | ({"namespace": space} if space else {})
    base = {"id": "resp_1", "object": "response", "output": [], "model": "fake"}
    usage = {"input_tokens": 1, "output_tokens": 1, "total_tokens": 2}
    whole = {**base, "status": "completed", "output": [item], "usage": usage}
    steps = [
        {"type": "response.created", "response": base},
        {"type": "response.output_item.added", "output_index": 0, "item": item},
        {"type": "response.output_item.done", "output_index": 0, "item": item},
        {"type": "response.completed", "response": whole},
    ]
    return [(one["type"], one) for one in steps], whole


def _completions(tool):
    """OpenAI's older one, which many speak."""
    message = {"role": "assistant", "content": None if tool else SAID}
    if tool:
        call = {"name": tool[0], "arguments": json.dumps(tool[1])}
        message["tool_calls"] = [{"index": 0, "id": "call_1", "type": "function", "function": call}]
    base = {"id": "c1", "created": 1, "model": "fake"}
    ends = "tool_calls" if tool else "stop"
    usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
    choice = {"index": 0, "message": message, "finish_reason": ends}
    whole = {**base, "object": "chat.completion", "choices": [choice], "usage": usage}
    part = {**base, "object": "chat.completion.chunk"}
    steps = [
        {**part, "choices": [{"index": 0, "delta": message, "finish_reason": None}]},
        {**part, "choices": [{"index": 0, "delta": {}, "finish_reason": ends}], "usage": usage},
    ]
    return [("message", one) for one in steps], whole


def _gemini(tool):
    part = {"functionCall": {"name": tool[0], "args": tool[1]}} if tool else {"text": SAID}
    content = {"role": "model", "parts": [part]}
    usage = {"promptTokenCount": 1, "candidatesTokenCount": 1, "totalTokenCount": 2}
    one = {"content": content, "finishReason": "STOP", "index": 0}
    return {"candidates": [one], "usageMetadata": usage, "modelVersion": "fake"}


_DIALECTS = {"messages": _messages, "responses": _responses, "completions": _completions}
