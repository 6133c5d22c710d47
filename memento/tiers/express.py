"""Embed, in a thread of its own, the short texts that questions wait for.

The indexer may be in the middle of a long text, which nothing can interrupt. This thread has
nothing else to do: a question waits for its own texts and never for another's document. Questions
take turns, and long texts are left to the indexer.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from queue import Empty, SimpleQueue
from typing import Protocol

from memento.errors import StoreClosed
from memento.ledger import owing
from memento.ledger.contract import Ledger
from memento.ledger.vectors import Owed
from memento.tiers.refused import Refused
from memento.tiers.turns import within
from memento.tiers.waiting import SHORT, Wishes
from memento.tiers.work import UNFIT, Work


class Overseer(Protocol):
    """The part of the indexer that this thread uses."""

    def may_embed(self) -> bool: ...  # noqa: D102 - see Indexer

    def failed(self, where: str, error: BaseException) -> None: ...  # noqa: D102 - see Indexer

    def works(self, where: str) -> None: ...  # noqa: D102 - see Indexer


class Express:
    """Serves the wishes in one daemon thread, started with the first of them.

    Args:
        ledger: The ledger with the backlog.
        work: Embeds and stores.
        wishes: The questions that wait.
        refused: The texts that the embedder refused.
        take_up: Puts the new memories of some namespaces on the backlog.
        overseer: Pauses this thread and records its failures.
        texts: Most texts embedded in one batch, >= 1.

    Attributes:
        turn: Held during each batch; a caller that holds it pauses this thread.
        loading: Whether it loads the model, so that no work is lost if the process ends.
        thread: The thread, once there is one.
    """

    def __init__(
        self,
        ledger: Ledger,
        work: Work,
        wishes: Wishes,
        refused: Refused,
        *,
        take_up: Callable[[Sequence[int]], None],
        overseer: Overseer,
        texts: int,
    ) -> None:
        self._ledger = ledger
        self._work = work
        self._wishes = wishes
        self._refused = refused
        self._take_up = take_up
        self._overseer = overseer
        self._texts = texts
        self._bell: SimpleQueue[None] = SimpleQueue()
        self._lock = threading.Lock()
        self._stopping = False
        self.turn = threading.Lock()
        self.loading = False
        self.thread: threading.Thread | None = None

    def start(self) -> None:
        """Start the thread if it does not run, and tell it that a question waits."""
        if self.thread is None or not self.thread.is_alive():
            with self._lock:
                if not self._stopping and (self.thread is None or not self.thread.is_alive()):
                    self.thread = threading.Thread(
                        target=self._run, name="memento-express", daemon=True
                    )
                    self.thread.start()
        self._bell.put(None)

    def stop(self) -> None:
        """Let the thread end after its current batch; does not wait for that."""
        with self._lock:
            self._stopping = True
        self._bell.put(None)

    def _run(self) -> None:
        self._ledger.commit_separately()
        while not self._stopping:
            try:
                if self._serve():
                    continue
            except StoreClosed:
                return
            except UNFIT as error:
                self._overseer.failed("embedder", error)
            except BaseException as error:  # noqa: BLE001 - recorded; the thread must go on
                self._overseer.failed("store", error)
            self._listen()

    def _listen(self) -> None:
        """Wait until somebody rings, however often it was."""
        self._bell.get()
        try:
            while True:
                self._bell.get_nowait()
        except Empty:
            return

    def _serve(self) -> bool:
        """Do one batch of what questions wait for; tell whether there may be more."""
        if not self._wishes or not self._overseer.may_embed():
            return False
        with self.turn:
            self._take_up_wishes()
            docids = self._wishes.next(self._texts, long=False)
            if lines := self._lines(docids):
                self._work.do(self._ready(), lines)
                self._overseer.works("embedder")
        return bool(docids)

    def _ready(self) -> int:
        self.loading = True
        try:
            return self._work.ready()
        finally:
            self.loading = False

    def _take_up_wishes(self) -> None:
        new = self._wishes.not_taken_up()
        if new:
            self._take_up(list(dict.fromkeys(wish.ns for wish in new)))
        for wish in new:
            wish.taken_up = True

    def _lines(self, docids: Sequence[int]) -> list[Owed]:
        """Read a batch of short texts; the rest of them stay for the next one."""
        lines = self._ledger.read(lambda c: owing.lines_of(c, docids, ("embed",)))
        lines = [line for line in lines if line not in self._refused]
        self._wishes.embedded(set(docids).difference(line.docid for line in lines))
        return within(lines, SHORT)
