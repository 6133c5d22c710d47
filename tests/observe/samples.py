"""Messages for the tests of detection: any at all, and texts that are not the user's own."""

from hypothesis import strategies as st

MARKS = ["```", "~~~", "`", '"', "“", "”", "'", ">", "|", "<", ".", "!", "。", "-"]
WORDS = ["I live in Oslo", "Always use tabs", "ERROR boom", "def f():", "我叫李娜", "1. "]
PIECES = st.sampled_from([*MARKS, *WORDS, "\n", "\n\n", "    ", "\t", " "])
MESSAGES = st.lists(PIECES | st.text(max_size=12), max_size=14).map("".join)

NOT_OWN = {
    "fence": "```\nMy name is Bo. Always use tabs.\n```",
    "inline code": "`always use tabs`",
    "quotation": '"My name is Bo and I live in Oslo."',
    "curly quotation": "“My name is Bo and I live in Oslo.”",
    "German quotation": "„Mein Name ist Bo und ich wohne hier.“",
    "French quotation": "« Je m'appelle Bo et je vis ici. »",
    "Chinese quotation": "「我叫李娜」",
    "single quotation": "'My name is Bo'",
    "block quote": "> My name is Bo.\n> Always use tabs.",
    "log": "2026-03-01 10:00:00 ERROR worker: I will never retry this",
    "traceback": 'Traceback (most recent call last):\n  File "a.py", line 3\nValueError: my bad',
    "table": "| my name | is Bo |",
    "code": "def greet(): return my_name",
    "indented code": "\n    name = 'Bo'\n    always(use, tabs)",
    "outline": "**My name** is Bo.",
}
