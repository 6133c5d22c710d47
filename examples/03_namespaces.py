"""One store, several users: no call sees the memories of another user.

Shows ``of`` for another namespace, and ``scope`` for where a memory applies within one.

Prints:

    rami finds: ['Rami prefers tea']
    lina finds: ['Lina prefers coffee']
    an id of rami's, asked for by lina: no memory in this namespace
    in project/alpha: ['Deploy on Fridays only with a second pair of eyes', 'Use tabs']
    in project/beta: ['Deploy on Fridays only with a second pair of eyes', 'Use four spaces']
"""

from tempfile import TemporaryDirectory

from memento import MemoryManager
from memento.errors import NotFound

with TemporaryDirectory() as root, MemoryManager(root, embedder=None) as memory:
    rami, lina = memory.of("acme", "rami"), memory.of("acme", "lina")
    tea = rami.add("Rami prefers tea")
    lina.add("Lina prefers coffee")
    for name, view in (("rami", rami), ("lina", lina)):
        print(f"{name} finds:", [hit.text for hit in view.retrieve("prefers")])
    try:
        lina.get(tea.id)
    except NotFound:
        print("an id of rami's, asked for by lina: no memory in this namespace")

    team = memory.of("acme")
    team.add("Deploy on Fridays only with a second pair of eyes", kind="rule", scope="project")
    team.add("Use tabs", kind="rule", scope="project/alpha")
    team.add("Use four spaces", kind="rule", scope="project/beta")
    for scope in ("project/alpha", "project/beta"):
        print(f"in {scope}:", [rule.text for rule in team.list(kind="rule", scope=scope)])
