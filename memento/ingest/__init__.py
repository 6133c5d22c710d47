"""Files become drafts: notes, documents and conversations, for ``memento ingest FILE``.

reader         read, detect: the file's format, and each draft's identity and trust
formats        Format: the formats that can be read, one line each
documents      text and Markdown
pages          HTML and CSV
markup         the tags and the text of a web page, without hidden text
conversations  OpenAI messages, ShareGPT, LoCoMo
drafts         JSON objects with the fields of a draft
fields         the values of a JSON record, checked
source         lines, JSON values and places of a file
parts          a long text in parts
sections       a document in parts that keep their headings and their order
"""

from memento.ingest.formats import Format
from memento.ingest.reader import detect, read

__all__ = ["Format", "detect", "read"]
