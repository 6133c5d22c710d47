"""Three tiers, one question: the shortest way to see memento at work.

Shows ``add`` with a tier, ``add`` without one, ``retrieve``, and a fact that changes.

Prints:

    long   This is a critical fact to remember
    chosen by importance: long
    What may Rami not eat? Rami is allergic to nuts, never offer any
    Where does Rami work? Rami works in Lisbon now
"""

from tempfile import TemporaryDirectory

from memento import MemoryManager

with TemporaryDirectory() as root, MemoryManager(root=root) as memory:
    memory.add("This is a temporary note", "short")
    memory.add("This is somewhat important", "medium")
    memory.add("This is a critical fact to remember", "long")
    memory.flush(wait=True)  # lets search by meaning catch up; search by words needs no wait
    best = memory.retrieve("important fact", k=3)[0]
    print(f"{best.tier:<6} {best.text}")

    # Without a tier, importance decides: "never" asks to be kept.
    allergy = memory.add("Rami is allergic to nuts, never offer any")
    print("chosen by importance:", allergy.tier)

    # A key is a slot. A new value supersedes the old one, which stays in the history.
    memory.add("Rami works in Beirut", key="rami/city")
    memory.add("Rami works in Lisbon now", key="rami/city")

    memory.flush(wait=True)
    for question in ("What may Rami not eat?", "Where does Rami work?"):
        print(question, memory.retrieve(question, k=1)[0].text)
