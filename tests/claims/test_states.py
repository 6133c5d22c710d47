"""States that a later statement takes back, and many more that it must leave alone."""

import pytest

from memento.claims.claim_reader import read
from memento.claims.keys import keys_of
from memento.claims.relation import relation, succeeds
from memento.claims.states import states_of, taken_back

TAKEN = [
    ("My bike is in the cellar.", "I moved my bike from the cellar to the shed."),
    ("I keep my bike in the cellar.", "I moved my bike from the cellar to the shed."),
    ("I store my bike in the cellar.", "I have moved my bike from the cellar to the shed."),
    ("My bike is kept in the cellar.", "My bike was moved from the cellar to the shed."),
    (
        "The place of my bike is the cellar.",
        "I moved my bike from the cellar to the shed yesterday.",
    ),
    ("My bike is in the cellar.", "My bike is in the shed now, not in the cellar any more."),
    ("I keep my bike in the cellar.", "I keep my bike in the shed now instead of the cellar."),
    ("I keep my bike in the cellar.", "My bike is no longer in the cellar."),
    ("My bike is in the cellar.", "I do not keep my bike in the cellar any more."),
    (
        "My bike is in my cellar.",
        "I moved my bike from the cellar to the shed because the cellar is wet.",
    ),
    ("My bike lock is in the cellar.", "I moved the lock of my bike from the cellar to the shed."),
    ("The lock of my bike is in the cellar.", "I moved my bike lock from the cellar to the shed."),
    ("Tom's bike is in the cellar.", "We moved Tom's bike from the cellar to the shed."),
    ("Our skis are in the attic.", "We moved our skis from the attic to the garage."),
    ("The spare key is under the mat.", "The spare key is with Tom now, no longer under the mat."),
    ("The spare key is under the mat.", "We moved the spare key from the mat to the shed."),
    ("Please show prices in pounds.", "Show prices in francs from now on, no longer in pounds."),
    ("Show prices in pounds.", "Switch from pounds to francs for prices."),
    ("Write dates in words.", "Please write dates in numbers from now on, not in words."),
    ("My breakfast is toast.", "I switched my breakfast from toast to eggs."),
    ("For breakfast I have toast.", "I eat eggs for breakfast now instead of toast."),
    ("I have toast for breakfast.", "I have eggs for breakfast now, no longer toast."),
    ("We have soup for dinner.", "We eat salad for dinner now instead of soup."),
    (
        "The order service uses Kafka as its queue.",
        "We moved the order service from Kafka to NATS.",
    ),
    (
        "The queue of the order service is Kafka.",
        "The queue of the order service changed from Kafka to NATS.",
    ),
    (
        "The queue of the order service is Kafka.",
        "The order service uses NATS as its queue now instead of Kafka.",
    ),
    ("The order service runs on Kafka.", "The order service runs on NATS now, no longer on Kafka."),
    ("My phone is a Fairphone.", "I gave away a Fairphone, my phone is a Pixel now."),
    ("I use a Fairphone as my phone.", "I replaced a Fairphone with a Pixel as my phone."),
    ("My evening course is pottery.", "My evening course changed from pottery to welding."),
    (
        "We hold the design review on Monday at 10:00.",
        "The design review moved from Monday at 10:00 to Friday at 11:00.",
    ),
    (
        "We hold the design review on Monday.",
        "The design review is on Friday now, no longer on Monday.",
    ),
    ("My dog is called Rex.", "My dog is called Max now, not called Rex."),
    ("My hobby is chess.", "My hobby is judo now instead of chess."),
    ("The tea is on the top shelf.", "I moved the tea from the top shelf to the drawer."),
    (
        "My daughter's school is the Linden school.",
        "My daughter's school is the Oak school now, not the Linden school.",
    ),
    ("The logs are on the backup disk.", "The logs are no longer on the backup disk."),
    ("I live in Riga, two streets from the market.", "I no longer live in Riga but in Basel."),
    ("The server is on the third shelf.", "The server moved from the third shelf to the rack."),
    (
        "My father's hearing aid is in the drawer.",
        "I moved my father's hearing aid from the drawer to the cupboard.",
    ),
    (
        "We keep the ladder behind the barn.",
        "We keep the ladder in the garage now, not behind the barn.",
    ),
]
"""An older statement, and a later one that names the same thing and takes its value back."""

KEPT = [
    ("The order service uses Kafka for logs.", "We moved the order service from Kafka to NATS."),
    ("My bike is in the cellar.", "I moved my bike pump from the cellar to the shed."),
    ("My bike is in the cellar.", "I moved the pump of my bike from the cellar to the shed."),
    ("My bike is in the cellar.", "I moved a bike from the cellar to the shed."),
    ("My bike is in the cellar.", "I moved the bike from the cellar to the shed."),
    ("My bike is in the cellar.", "I moved my old bike from the cellar to the shed."),
    ("My bike is in the cellar.", "I moved my bikes from the cellar to the shed."),
    ("My red bike is in the cellar.", "I moved my bike from the cellar to the shed."),
    ("My other bike is in the cellar.", "I moved my bike from the cellar to the shed."),
    ("My bikes are in the cellar.", "I moved one of my bikes from the cellar to the shed."),
    ("My books are in the attic.", "I moved some of my books from the attic to the hall."),
    ("My books are in the attic.", "I moved two books from the attic to the hall."),
    ("My books are in the attic.", "I moved half of my books from the attic to the hall."),
    ("Books are in the attic.", "I moved books from the attic to the hall."),
    ("My bike is in the cellar.", "My sister moved her bike from the cellar to the shed."),
    ("My sister's bike is in the cellar.", "I moved my bike from the cellar to the shed."),
    ("My bike is in the cellar.", "My brother's bike is in the shed now, not in the cellar."),
    ("My bike is in the cellar.", "I never moved my bike from the cellar to the shed."),
    ("My bike is in the cellar.", "I did not move my bike from the cellar to the shed."),
    ("My bike is in the cellar.", "I will move my bike from the cellar to the shed."),
    ("My bike is in the cellar.", "I want to move my bike from the cellar to the shed."),
    ("My bike is in the cellar.", "I have to move my bike from the cellar to the shed now."),
    ("My bike is in the cellar.", "I almost moved my bike from the cellar to the shed."),
    ("My bike is in the cellar.", "If I moved my bike from the cellar to the shed, it would rust."),
    ("My bike is in the cellar.", "I dreamt that I moved my bike from the cellar to the shed."),
    ("My bike is in the cellar.", "Tom says I moved my bike from the cellar to the shed."),
    ("My bike is in the cellar.", "I moved my bike from the cellar to the shed and back."),
    ("My bike is in the cellar.", "I moved my bike from the cellar to the shed for the weekend."),
    ("My bike is in the cellar.", "I moved my bike from the cellar to the shed until Friday."),
    ("My bike is in the cellar.", "I moved my bike from the cellar to the shed while we painted."),
    ("My bike is in the cellar.", "I move my bike from the cellar to the shed every evening."),
    ("My bike is in the cellar.", "I used to move my bike from the cellar to the shed."),
    ("My bike is in the cellar.", "In 2019 I moved my bike from the cellar to the shed."),
    ("My bike is in the cellar.", "Last winter I moved my bike from the cellar to the shed."),
    ("My bike is in the cellar.", "I moved my bike from the cellar of Tom to the shed."),
    ("My bike is in the cellar.", "I moved my bike from the hall to the cellar."),
    ("My bike is in the cellar.", "Have I moved my bike from the cellar to the shed?"),
    ("My bike is in the cellar.", "My bike is in the shed now, not only in the cellar."),
    ("My bike is in the cellar.", "My bike is no longer in the cellar at night."),
    ("My bike is in the cellar.", "My bike is no longer in the cellar, except in winter."),
    ("My bike is in the cellar.", "My bike is no longer alone in the cellar."),
    ("My bike is in the cellar.", "My bike lock is in the shed now, not in the cellar."),
    ("My bike is in the cellar.", "I keep my skis in the shed now, not in the cellar."),
    ("My bike is in the cellar in winter.", "I moved my bike from the cellar to the shed."),
    ("In winter I keep my bike in the cellar.", "I moved my bike from the cellar to the shed."),
    ("On Sundays my bike is in the cellar.", "I moved my bike from the cellar to the shed."),
    ("My bike is in the cellar with my skis.", "I moved my bike from the cellar to the shed."),
    (
        "My bike is in the cellar and its lock is 4711.",
        "I moved my bike from the cellar to the shed.",
    ),
    (
        "My bike is in the cellar. The code of its lock is 4711.",
        "I moved my bike from the cellar to the shed.",
    ),
    ("My bike is locked in the cellar.", "I moved my bike from the cellar to the shed."),
    ("My bike is not in the cellar.", "I moved my bike from the cellar to the shed."),
    ("My bike is never in the cellar.", "I moved my bike from the cellar to the shed."),
    ("My bike was in the cellar.", "I moved my bike from the cellar to the shed."),
    ("My bike has been in the cellar for years.", "I moved my bike from the cellar to the shed."),
    ("My bike must be in the cellar at night.", "I moved my bike from the cellar to the shed."),
    ("My bike could be in the cellar.", "I moved my bike from the cellar to the shed."),
    ("Nobody may put my bike in the cellar.", "I moved my bike from the cellar to the shed."),
    ("I repaired my bike in the cellar.", "I moved my bike from the cellar to the shed."),
    ("I lost my bike in the cellar.", "I moved my bike from the cellar to the shed."),
    ("I hate my bike in the cellar.", "I moved my bike from the cellar to the shed."),
    ("My bike rusts in the cellar.", "I moved my bike from the cellar to the shed."),
    ("I put my bike in the cellar in May.", "I moved my bike from the cellar to the shed."),
    ("My bike is too big for the cellar.", "I moved my bike from the cellar to the shed."),
    ("My bike is safe in the cellar.", "I moved my bike from the cellar to the shed."),
    ("My bike is from the cellar sale.", "I moved my bike from the cellar to the shed."),
    ("My bike and my skis are in the cellar.", "I moved my bike from the cellar to the shed."),
    ("Our bike is in the cellar.", "I moved my bike from the cellar to the shed."),
    ("My son is allergic to nuts.", "My son eats nuts in salad now, not in cake."),
    ("My son is allergic to nuts.", "I moved my son from nuts to seeds."),
    ("My son is allergic to nuts and milk.", "My son is no longer allergic to milk."),
    ("I am allergic to eggs.", "I have toast for breakfast now instead of eggs."),
    ("I must not eat eggs.", "I have toast for breakfast now instead of eggs."),
    ("I never eat eggs for breakfast.", "I have toast for breakfast now instead of eggs."),
    ("I do not eat eggs for breakfast.", "I eat toast for breakfast now, not eggs."),
    ("I have eggs for lunch.", "I have toast for breakfast now instead of eggs."),
    ("I have eggs for breakfast on Sundays.", "I have toast for breakfast now instead of eggs."),
    ("On Sundays I have eggs for breakfast.", "I have toast for breakfast now instead of eggs."),
    ("I had eggs for breakfast.", "I have toast for breakfast now instead of eggs."),
    ("I like eggs for breakfast.", "I have toast for breakfast now instead of eggs."),
    ("My daughter has eggs for breakfast.", "I have toast for breakfast now instead of eggs."),
    ("We have eggs for breakfast.", "I have toast for breakfast now instead of eggs."),
    ("I have eggs for breakfast.", "I have toast for breakfast on Sundays now instead of eggs."),
    ("I have eggs for breakfast.", "My son has toast for breakfast now instead of eggs."),
    ("I have fried eggs for breakfast.", "I have toast for breakfast now instead of eggs."),
    ("Never show prices in pounds.", "Show prices in francs from now on, no longer in pounds."),
    ("Do not show prices in pounds.", "Show prices in francs from now on, no longer in pounds."),
    ("Show totals in pounds.", "Show prices in francs from now on, no longer in pounds."),
    ("Show my wife prices in pounds.", "Show prices in francs from now on, no longer in pounds."),
    (
        "Show prices in pounds on invoices.",
        "Show prices in francs from now on, no longer in pounds.",
    ),
    ("Elif wants prices in pounds.", "Show prices in francs now, no longer in pounds."),
    ("Show prices in pounds.", "Show prices in francs to Elif from now on, no longer in pounds."),
    ("The order service uses Kafka.", "The order queue uses NATS now instead of Kafka."),
    ("The order team is in Ghent.", "We moved the order service from Ghent to Turku."),
    (
        "The order service uses Kafka for logs.",
        "The order service uses NATS for orders now instead of Kafka.",
    ),
    ("The search service uses Kafka.", "We moved the order service from Kafka to NATS."),
    ("The order service cannot use Kafka.", "We moved the order service from Kafka to NATS."),
    ("The order service must use Kafka.", "We moved the order service from Kafka to NATS."),
    ("The order service lost data in Kafka.", "We moved the order service from Kafka to NATS."),
    ("The order service was hacked on Kafka.", "We moved the order service from Kafka to NATS."),
    ("The order service is faster than Kafka.", "We moved the order service from Kafka to NATS."),
    ("The order service uses Kafka and Redis.", "We moved the order service from Kafka to NATS."),
    (
        "The docs of the order service are on Kafka.",
        "We moved the order service from Kafka to NATS.",
    ),
    (
        "The order service of the test cluster uses Kafka.",
        "We moved the order service from Kafka to NATS.",
    ),
    ("My phone is a Fairphone.", "My sister's phone is a Pixel now, not a Fairphone."),
    ("My work phone is a Fairphone.", "I gave away a Fairphone, my phone is a Pixel now."),
    ("I repaired a Fairphone.", "I gave away a Fairphone, my phone is a Pixel now."),
    ("My first phone was a Fairphone.", "I replaced a Fairphone with a Pixel as my phone."),
    ("I use a Fairphone as my alarm.", "I replaced a Fairphone with a Pixel as my phone."),
    ("My evening course is pottery.", "My morning course changed from pottery to welding."),
    (
        "My evening course is pottery.",
        "My sister's evening course changed from pottery to welding.",
    ),
    ("The teacher of my evening course is Ana.", "My evening course changed from Ana to Bo."),
    ("My exam is on Monday.", "I moved my driving exam from Monday to Friday."),
    ("My meeting with Tom is on Monday.", "I moved my meeting from Monday to Friday."),
    ("My meeting is on Monday.", "I moved my meeting with Tom from Monday to Friday."),
    ("My dog is afraid of cats.", "My dog is calm now, not afraid."),
    ("My wife is from Ghent.", "My wife moved from Ghent to Turku."),
    ("My wife is famous in Ghent.", "My wife moved from Ghent to Turku."),
    ("My wife's parents are in Ghent.", "My wife moved from Ghent to Turku."),
    ("My wife is a doctor in Ghent.", "My wife moved from Ghent to Turku."),
    (
        "My medicine is in the kitchen, never give it to the dog.",
        "I moved my medicine from the kitchen to the bathroom.",
    ),
    (
        "The medicine of my son is in the kitchen.",
        "I moved my medicine from the kitchen to the bathroom.",
    ),
    ("The spare key is under the mat.", "I moved the key from the mat to the shed."),
    ("The key is under the mat.", "I moved the spare key from the mat to the shed."),
    ("The key is under the mat.", "I moved the key from under the mat to the shed each evening."),
    ("The keys are with Tom.", "I moved the keys from Ana to Bo."),
    ("My car is insured in Lyon.", "My car moved from Lyon to Metz."),
    ("My car is not allowed in Lyon.", "My car moved from Lyon to Metz."),
    ("My gym is closed on Monday.", "I go to the gym on Friday now, not on Monday."),
    ("I keep my bike in the cellar when it rains.", "I moved my bike from the cellar to the shed."),
    (
        "I keep my bike in the cellar because the shed is wet.",
        "My bike is in the flat now, not in the shed.",
    ),
    (
        "I keep paint and tools for my bike in the cellar.",
        "I moved my bike from the cellar to the shed.",
    ),
    ("My neighbour keeps a bike in the cellar.", "I moved my bike from the cellar to the shed."),
    ("I keep a bike in the cellar.", "I moved my bike from the cellar to the shed."),
    ("I keep my bike in the cellar of my aunt.", "I moved my bike from the cellar to the shed."),
    ("I keep my bike in Tom's cellar.", "I moved my bike from the cellar to the shed."),
    ("Is my bike in the cellar?", "I moved my bike from the cellar to the shed."),
    ("Maybe my bike is in the cellar.", "I moved my bike from the cellar to the shed."),
    ("My bike should be in the cellar.", "I moved my bike from the cellar to the shed."),
    ("My wife was born in Ghent.", "My wife moved from Ghent to Turku."),
    ("The key of my bike is in the cellar.", "I moved my bike from the cellar to the shed."),
    (
        "My daughter is allergic to nuts in cake.",
        "My daughter has nuts in salad now, no longer in cake.",
    ),
    (
        "I do not drink coffee in the evening.",
        "I drink coffee in the morning now, not in the evening.",
    ),
    ("I cannot eat cheese at dinner.", "I eat cheese at lunch now, not at dinner."),
    ("I do not eat fish.", "I eat meat now, no longer fish."),
    (
        "I have a dentist appointment on Monday.",
        "I moved my doctor appointment from Monday to Friday.",
    ),
    (
        "My dentist appointment is on Monday.",
        "I moved my son's dentist appointment from Monday to Friday.",
    ),
    ("My bike is in the cellar.", "We moved Tom's bike from the cellar to the shed."),
    ("My bike is in the cellar.", "I moved the lock for my bike from the cellar to the shed."),
    ("I married my wife in Ghent.", "My wife moved from Ghent to Turku."),
    ("We never deploy billing on Friday.", "We moved the deploy of billing from Friday to Monday."),
    ("My bike was stolen from the cellar.", "I moved my bike from the cellar to the shed."),
    ("I meet Anna on Monday.", "I moved the meeting with Anna from Monday to Friday."),
    ("My flight leaves on Monday.", "I moved my flight to Paris from Monday to Friday."),
    ("My server was hacked on AWS.", "I moved my server from AWS to Azure."),
    ("We lost billing data in Postgres.", "We moved billing from Postgres to MySQL."),
    ("I go to yoga on Monday.", "I go to the gym on Friday now, not on Monday."),
    ("I have a flat in Ghent.", "I do not work in Ghent any more, I work in Turku."),
    ("I live in Ghent. My sister is allergic to nuts.", "I moved from Ghent to Turku."),
    ("I live in Ghent, my door code is 4711.", "I moved from Ghent to Turku."),
    ("I live in Ghent and work at Acme.", "I moved from Ghent to Turku."),
    ("I live in Ghent because my mother is ill.", "I moved from Ghent to Turku."),
]
"""The older statement stays: another thing, owner, part or time; the past, a plan, a prohibition,
an allergy; an indefinite thing; or it says more than what is taken back."""


@pytest.mark.parametrize(("old", "new"), TAKEN, ids=range(len(TAKEN)))
def test_a_state_is_taken_back_of_the_thing_of_which_it_was_said(old, new):
    """The attribute may have any name, and the settling pass finds the pair by a number."""
    later, earlier = read(new), read(old)
    by_attribute = relation(later, earlier).kind == "updates"
    assert succeeds(later, earlier) or by_attribute
    assert keys_of(later, 1) & keys_of(earlier, 1)


def test_most_states_are_read_without_a_known_attribute():
    """The others have an attribute, and are read by it."""
    count = sum(succeeds(read(new), read(old)) for old, new in TAKEN)
    assert count >= len(TAKEN) - 2


@pytest.mark.parametrize(("old", "new"), KEPT, ids=range(len(KEPT)))
def test_what_a_change_does_not_take_back_is_never_superseded(old, new):
    """By default only an explicit update supersedes; and no order is changed either."""
    later, earlier = read(new), read(old)
    assert not relation(later, earlier).explicit
    assert not succeeds(later, earlier)


def test_a_state_of_an_unknown_attribute_is_no_conflict():
    """The forms are wide: what they read is placed first, and nothing is hidden or doubted."""
    old, new = (read(text) for text in TAKEN[0])
    assert relation(new, old).kind == "distinct"
    assert succeeds(new, old)
    assert not succeeds(old, new)


def test_without_a_word_of_change_a_denial_takes_nothing_back():
    """It may be about what never was so."""
    flat = "my bike is in the shed , not in the cellar ."
    assert not taken_back(flat, changes=False)
    assert taken_back(flat, changes=True) == states_of("my bike is in the cellar .")
