"""One namespace of a ledger, used through the contract: what the tests of this folder work on."""

from __future__ import annotations

from memento.admit.draft import admit
from memento.base.clock import from_micros
from memento.config import Config
from memento.ledger import namespaces
from memento.ledger.contract import Rules, Work
from memento.types import Draft
from memento.write import remember

START = 1_750_000_000_000_000
"""A moment, microseconds; the benches' clock begins here."""


class Bench:
    """One namespace of a ledger, with a clock that is set by hand."""

    def __init__(self, ledger, labels=("default",)):
        self.ledger, self.labels = ledger, labels
        self.ns = ledger.write(lambda s: namespaces.number(s, labels))
        self.now = START

    def of(self, *labels):
        """Return a bench of another namespace of the same ledger."""
        return Bench(self.ledger, labels)

    def entry(self, text="a note", status="active", trust=None, parents=None, **fields):
        """Accept a memory; ``status`` is given to its row as the rules above would."""
        given = {"tier": "medium", "importance": 0.5} | fields
        for name in ("occurred_at", "valid_until"):
            if isinstance(given.get(name), int):
                given[name] = from_micros(given[name])
        config = Config()
        draft = Draft(text, **given)
        made = admit(draft, now=self.now, limits=config.limits)
        if status != "active":
            made.row.status = status
        if trust is not None:
            made.row.trust = trust
        if parents is not None:
            made.row.source_parents = "[" + ", ".join(f'"{one}"' for one in parents) + "]"
        made.row.seal()
        return made

    def add(self, *entries, ring=20):
        """Add texts, mappings of fields, or entries in one job; returns their rows."""
        made = [self._made(one) for one in entries]
        return self.change(remember.insert_or_fold, made, ring=ring)

    def one(self, text="a note", ring=20, **fields):
        """Add one memory; returns its row."""
        return self.add({"text": text, **fields}, ring=ring)[0]

    def work(self, session, ring=20):
        """Describe a write to this namespace in a transaction."""
        return Work(session, self.ns, self.now, Rules(ring=ring, untrusted=()))

    def change(self, job, *args, ring=20):
        """Run a step of the write path on this namespace, durably."""
        return self.ledger.write(lambda s: job(self.work(s, ring), *args), spaces=(self.ns,))

    def write(self, job, *args, **options):
        """Run a function of the shared text on this namespace, durably."""
        return self.ledger.write(lambda s: job(s, self.ns, *args, **options), spaces=(self.ns,))

    def read(self, job, *args, **options):
        """Run a function of the shared text on this namespace, in one snapshot."""
        return self.ledger.read(lambda s: job(s, self.ns, *args, **options), space=self.ns)

    def words(self, ask):
        """Ask the full text in one snapshot."""
        return self.ledger.read(lambda s: ask(s.words), space=self.ns)

    def index(self):
        """Let the full text catch up with this namespace."""
        self.ledger.write(lambda s: s.words.catch_up(self.ns), spaces=(self.ns,))

    def find(self, *matches, limit=100):
        """Return the seqs that each expression matches, of one expression alone its own."""
        found = [a.tolist() for a in self.words(lambda w: w.postings(self.ns, matches, limit))]
        return found[0] if len(found) == 1 else found

    def _made(self, one):
        if isinstance(one, str):
            return self.entry(one)
        return self.entry(**one) if isinstance(one, dict) else one


def seqs(rows):
    """Return the places of rows in their namespace."""
    return [row.docid & ((1 << 40) - 1) for row in rows]
