"""One module for each family of files: how it is recognised, and how it is read.

common         shared by the readers: options, turns, times, removal of an agent's additions
chatgpt        exports of ChatGPT and of claude.ai
agents         transcripts of Claude Code, Codex, Gemini CLI, Copilot CLI and opencode
slack          exports of Slack
telegram       exports of Telegram
whatsapp       chats of WhatsApp
mail           mail folders
memories       exports of mem0, MemPalace and the MCP server "memory"
notes          Markdown, as it stands, of Obsidian and of basic-memory
tables         CSV, and JSON with the names of its fields
pages          HTML
conversations  OpenAI messages, ShareGPT, LoCoMo, and speakers before a colon
drafts         JSON objects with the fields of a draft
unread         files that are recognised but not read, with what to do instead
"""
