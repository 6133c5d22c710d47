"""Write ``pairs.jsonl``: statements alike but for their object, the later of which is true now.

    python benchmarks/sets/make_pairs.py

Forty kinds of statement, five of each, filled from the word lists below with a fixed seed. Every
name is made up. A question names what the statement is about and never what it says of it.
"""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import NamedTuple

SEED = 5
EACH = 5
OUT = Path(__file__).with_name("pairs.jsonl")


class Kind(NamedTuple):
    """A kind of statement: ``{s}`` is its subject, ``{o}`` its object; both name a word list."""

    statement: str
    question: str
    subject: str
    object: str


KINDS = (
    Kind("The CEO of {s} is {o}.", "Who is the CEO of {s}?", "firm", "person"),
    Kind("{o} is the head of sales at {s}.", "Who leads sales at {s}?", "firm", "person"),
    Kind("Our contact person at {s} is {o}.", "Who is our contact at {s}?", "firm", "person"),
    Kind("Invoices for {s} go to {o}.", "Where do I send invoices for {s}?", "firm", "mail"),
    Kind("The {s} office is at {o}.", "What is the address of the {s} office?", "firm", "address"),
    Kind("{s} pays within {o} days.", "How quickly does {s} pay?", "firm", "days"),
    Kind("{s} lives in {o}.", "Where does {s} live?", "first", "city"),
    Kind("{s}'s phone number is {o}.", "What is {s}'s phone number?", "first", "phone"),
    Kind("{s} works as {o}.", "What is {s}'s job?", "first", "job"),
    Kind("{s} drives {o} to work.", "What car does {s} drive?", "first", "car"),
    Kind("{s}'s manager is {o}.", "Who is {s}'s manager?", "first", "person"),
    Kind("{s} drinks {o} in the morning.", "What does {s} drink in the morning?", "first", "drink"),
    Kind("{s} is learning {o}.", "Which language is {s} learning?", "first", "language"),
    Kind("{s} plays {o} in the band.", "What does {s} play in the band?", "first", "instrument"),
    Kind("{s} orders {o} for lunch on Fridays.", "What is {s}'s Friday lunch?", "first", "dish"),
    Kind("Call {s} only after {o}.", "When can I call {s}?", "first", "time"),
    Kind("For {s}'s birthday we buy {o}.", "What do we get {s} as a birthday present?", "first",
         "gift"),
    Kind("The {s} standup is at {o}.", "When is the {s} standup?", "team", "time"),
    Kind("The {s} team meets in {o}.", "Which room does the {s} team meet in?", "team", "room"),
    Kind("The tech lead of the {s} team is {o}.", "Who leads the {s} team?", "team", "person"),
    Kind("The {s} team releases every {o}.", "On which day does the {s} team release?", "team",
         "weekday"),
    Kind("The {s} service listens on port {o}.", "What port does {s} use?", "service", "port"),
    Kind("The {s} service is owned by {o}.", "Who owns the {s} service?", "service", "person"),
    Kind("The timeout of {s} is set to {o} seconds.", "What is the timeout of {s}?", "service",
         "number"),
    Kind("{s} stores its data in {o}.", "Which database does {s} use?", "service", "database"),
    Kind("Logs of {s} are kept for {o} days.", "How long are the logs of {s} kept?", "service",
         "number"),
    Kind("{o} is on call for {s} this week.", "Who is on call for {s}?", "service", "person"),
    Kind("We run version {o} of {s} in production.", "Which version of {s} is in production?",
         "software", "version"),
    Kind("I use the {o} theme in {s}.", "Which theme do I like in {s}?", "software", "theme"),
    Kind("The licence for {s} costs {o} euros a year.", "What do we pay for {s}?", "software",
         "amount"),
    Kind("The shortcut for search in {s} is {o}.", "How do I open search in {s}?", "software",
         "shortcut"),
    Kind("The deadline of the {s} project is {o}.", "When is {s} due?", "project", "date"),
    Kind("The budget of the {s} project is {o} euros.", "How much money does the {s} project have?",
         "project", "amount"),
    Kind("The {s} project is sponsored by {o}.", "Who sponsors {s}?", "project", "firm"),
    Kind("The design of {s} is kept in {o}.", "Where is the design of {s}?", "project", "place"),
    Kind("The key to the {s} hangs {o}.", "Where is the key to the {s}?", "spot", "where"),
    Kind("The wifi password in the {s} is {o}.", "What is the wifi password in the {s}?", "spot",
         "password"),
    Kind("The {s} is painted {o}.", "What colour is the {s}?", "spot", "colour"),
    Kind("My favourite {s} is {o}.", "Which {s} do I like best?", "taste", "fancy"),
    Kind("The bus to {s} leaves from platform {o}.", "Where does the bus to {s} leave?", "city",
         "platform"),
)  # fmt: skip


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.split("|" if "|" in text else None))


WORDS: dict[str, tuple[str, ...]] = {
    "firm": _words("Arvento|Brightmoor|Calderon & Sons|Dunmere|Elvane Foods|Fjordline Optics|Galtee"
                  " Press|Hexhaven|Ildara|Juniper Freight|Kolvane|Lumora Glass"),
    "first": _words("Adaeze Birgit Callum Daria Emre Farid Greta Hamish Ilse Jorge Katya Leila Milo"
                   " Nadia Oskar Petra Quentin Rosalind Stefan Tamsin Umut Vera Wim Yusuf"),
    "person": _words("Lena Ruiz|Tom Adeyemi|Ingrid Halloran|Piotr Zielinski|Amara Diallo|Hugo"
                    " Lindqvist|Mei Tanaka|Rashid Karimov|Clara Benedetti|Owen Prichard|Sunita"
                    " Rao|Marek Dvorak"),
    "mail": ("billing@kolvane.example", "accounts@ostrava.example", "ap@northmill.example",
             "rechnung@galtee.example", "finance@ildara.example"),
    "address": ("14 Mill Lane", "Unit 7, Harbour Court", "220 Aldgate Road", "3 Rue des Tilleuls",
                "Lindenstraße 48", "9 Chapel Yard"),
    "days": ("ten", "fourteen", "thirty", "sixty", "ninety"),
    "city": _words("Oslo Trieste Ghent Coimbra Gdynia Leiden Malaga Tampere Ulm Varna"),
    "phone": ("555 0143", "555 0178", "555 0121", "555 0196", "555 0109"),
    "job": ("a nurse", "a structural engineer", "a florist", "a tram driver", "a court interpreter",
            "an editor at a small press"),
    "car": ("an old Saab", "a grey Skoda", "a small electric Renault", "a pickup", "a hybrid"),
    "drink": ("black coffee", "green tea", "hot chocolate", "warm lemon water", "a double espresso",
              "oat milk"),
    "language": _words("Norwegian Korean Basque Swahili Czech Greek"),
    "instrument": ("bass", "drums", "the accordion", "lead guitar", "keyboards", "trombone"),
    "dish": ("lentil soup", "a tuna sandwich", "mushroom risotto", "pad thai", "two tacos"),
    "time": ("9:15", "10 am", "half past four", "11:30", "2 pm", "8:45"),
    "gift": ("a pair of gloves", "a fountain pen", "theatre tickets", "a cookbook", "a jigsaw"),
    "team": ("Payments", "Mobile", "Data", "Platform", "Search", "Security", "Growth"),
    "room": ("the Elm room", "the attic", "room 204", "the library", "the small kitchen"),
    "weekday": _words("Monday Tuesday Wednesday Thursday Friday"),
    "service": ("billing-api", "geocoder", "mail-relay", "image-proxy", "auth-gateway", "scheduler",
                "audit-log"),
    "port": ("8080", "9443", "5001", "7070", "6120", "3300"),
    "number": ("5", "30", "45", "90", "120", "14"),
    "database": ("Postgres", "MariaDB", "SQLite", "Cassandra", "DuckDB"),
    "software": ("Grafton", "Inkwell", "Terrano", "Quillpad", "Vaultis", "Nimbra", "Ostler"),
    "version": ("2.4.1", "3.0.0", "1.18.2", "4.7", "5.2.9", "3.1.4"),
    "theme": ("dark", "light", "solarised", "high-contrast", "sepia"),
    "amount": ("1,200", "8,500", "14,000", "600", "32,000", "4,750"),
    "shortcut": ("Ctrl+K", "Ctrl+Shift+F", "the slash key", "F3", "Alt+S"),
    "project": ("Bluebell", "Cormorant", "Driftwood", "Eastgate", "Foxglove", "Granite"),
    "date": ("3 March", "the end of June", "15 September", "next Friday", "1 December"),
    "place": ("the shared drive", "Figma", "the wiki", "a binder in the lab", "the repository"),
    "spot": ("boathouse", "garden shed", "guest flat", "cellar", "archive", "darkroom", "studio"),
    "where": ("behind the door", "on the hook by the stairs", "in the blue cupboard",
              "next to the fuse box", "at the reception desk"),
    "password": ("maple-7731", "teapot-1188", "lantern-4052", "pebble-9017", "walnut-2263"),
    "colour": ("dark green", "white", "pale yellow", "brick red", "navy blue"),
    "taste": ("bakery", "board game", "hiking trail", "restaurant", "radio show"),
    "fancy": ("the Copper Kettle", "Hollow Moon", "Saltmarsh", "the Ninth Bridge", "Old Ferry"),
    "platform": ("2", "4", "7", "11", "12", "15"),
}  # fmt: skip


def pairs(seed: int = SEED) -> list[dict[str, str]]:
    """Make the pairs: what was said first, what was said later, and the question."""
    pick = random.Random(seed)
    made: list[dict[str, str]] = []
    for kind in KINDS:
        for subject in pick.sample(WORDS[kind.subject], EACH):
            known = [word for word in WORDS[kind.object] if word != subject]
            older, newer = pick.sample(known, 2)
            made.append(
                {
                    "older": kind.statement.format(s=subject, o=older),
                    "newer": kind.statement.format(s=subject, o=newer),
                    "question": kind.question.format(s=subject),
                }
            )
    return made


def main() -> None:
    """Write the file."""
    lines = (json.dumps(pair, ensure_ascii=False) for pair in pairs())
    OUT.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
