"""Coding agents: the supported ones, setting up their configuration, and answering their hooks.

table    what each agent wants: its files, events and the form of an answer; ``AGENTS``, ``SECONDS``
setup    what is written to an agent's configuration, and what is removed again; ``BACKUP``
splice   where in a JSON or TOML text a value goes, so that every other byte stays
hook     what an event stores, and what it shows beside a message: ``TOKENS``, ``MOST``, ``NEAR``,
         ``FEWEST_WORDS``; where memento keeps out: ``IGNORE``
project  the scope of the project that an agent works in; ``LONGEST``
onboard  what is read of a repository: ``COMMITS``, ``FEWEST_WORDS``, ``DOCUMENTS``
examine  what keeps an agent from its memory, for ``memento doctor --agents``; ``SLOW``
"""
