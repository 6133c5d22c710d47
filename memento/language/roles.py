"""Read from the role of a message who wrote it, in any spelling of the role. Pure."""

from __future__ import annotations

from unicodedata import normalize

_TOOLS = frozenset(
    """tool tools toolmessage toolresult tooloutput toolresponse function functionmessage
    functionresult functionoutput functionresponse functioncalloutput observation ipython""".split()  # noqa: SIM905 - words read better as one text
)
"""Names of chat formats for what a tool returned: OpenAI's, LangChain's, Llama's and GLM's."""


def is_tools(role: str | None) -> bool:
    """Tell whether a role is that of a tool: case, spaces and invisible characters do not matter.

    >>> is_tools("Tool"), is_tools("function"), is_tools("tool_result"), is_tools("user")
    (True, True, True, False)
    """
    if role is None:
        return False
    folded = normalize("NFKC", role).casefold()
    return "".join(filter(str.isalpha, folded)) in _TOOLS
