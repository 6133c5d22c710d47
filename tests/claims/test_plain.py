"""A plain change takes back all of an older statement, and only that may supersede it."""

import pytest

from memento.claims.claim_reader import read
from memento.claims.relation import relation
from memento.claims.takes_back import is_value

PLAIN = [
    ("I live in Ghent", "I moved from Ghent to Turku"),
    ("I live in Ghent", "I no longer live in Ghent, I live in Turku now."),
    ("I live in Riga.", "I no longer live in Riga but in Basel."),
    ("My home is in Ghent.", "I moved from Ghent to Turku last week because of a new job."),
    ("My boss is Anna", "My boss is Ines now, no longer Anna"),
    ("My boss is Anna.", "Well, my boss is Ines now instead of Anna."),
    ("I work at Acme.", "I left Acme and work at Bluefin now."),
    ("I work at Acme.", "I changed jobs from Acme to Bluefin."),
    ("I drive a Fiat Panda.", "I sold a Fiat Panda and drive a Volvo V60 now."),
    ("My car is a Fiat Panda.", "I swapped a Fiat Panda for a Volvo V60."),
    ("My editor is Vim.", "I don't use Vim any more, my editor is Helix now."),
    ("I use Vim as my editor.", "I switched from Vim to Helix."),
    ("I am vegan.", "I'm not vegan any more, I am vegetarian now."),
    ("The standup is at 9:00.", "The standup moved from 9:00 to 10:00."),
    ("The standup is at 9:00.", "The standup is at 10:00 now, not at 9:00."),
    ("Our flight is on Monday.", "We moved our flight from Monday to Friday."),
    ("My gym day is Monday.", "I moved my gym day from Monday to Friday."),
    ("I go to the gym on Monday.", "I go to the gym on Friday now instead of Monday."),
    ("The billing service uses MySQL.", "We migrated the billing service from MySQL to DuckDB."),
    ("The budget of Heron is 40 euros.", "The Heron budget was raised from 40 euros to 50 euros."),
    ("The budget of Heron is 40 euros.", "The budget of Heron is 50 euros, not 40 euros any more."),
    ("The deploy branch is main.", "The deploy branch changed from main to stable."),
    ("We deploy from main.", "We deploy from stable now instead of main."),
    ("Please answer me in German.", "Answer me in Polish from now on, no longer in German."),
    ("Reply to me in German, please.", "Switch my replies from German to Polish."),
    ("Ana leads the audit team.", "Bo took over the audit team from Ana."),
    ("My address is Elm street.", "My address changed from Elm street to Oak street."),
    ("My password is hunter2.", "I changed my password from hunter2 to swordfish."),
    ("My sister lives in Ghent.", "My sister moved from Ghent to Turku."),
    ("I live in Ghent.", "I no longer live in Ghent."),
    ("Ich wohne in Graz.", "Ich wohne nicht mehr in Graz."),
    ("Ich wohne in Graz.", "Ich bin von Graz nach Linz umgezogen."),
    ("Moro em Braga.", "Já não moro em Braga, moro em Faro."),
]
"""A statement that says one thing, and a change that takes it back for good."""

OFFICE, BOSS, STANDUP = "My office is in Ghent.", "My boss is Anna.", "The standup is at 9."
FLIGHT, HOME, KAFKA = "My flight is on Monday.", "I live in Ghent.", "The app uses Kafka."
KEPT = [
    # an exception of a day, or for a time
    (OFFICE, "My office is in Turku today, not in Ghent."),
    (OFFICE, "My office is in Turku tomorrow instead of Ghent."),
    (OFFICE, "My office is in Turku this week instead of Ghent."),
    (OFFICE, "My office is in Turku for now, no longer in Ghent."),
    (OFFICE, "My office is in Turku Mondays now instead of Ghent."),
    (OFFICE, "My office is temporarily in Turku now, not in Ghent."),
    (OFFICE, "My office is in Turku now, not in Ghent, until May."),
    (OFFICE, "My office is in Turku now, not in Ghent, on Sundays."),
    (OFFICE, "My office is in Turku now, not in Ghent, at least at night."),
    (OFFICE, "Currently my office is in Turku, no longer in Ghent."),
    (OFFICE, "My office is in Turku at the moment, no longer in Ghent."),
    (OFFICE, "Usually my office is in Turku now, not in Ghent."),
    (OFFICE, "My office is in Turku now, not in Ghent, because it is closed for a week."),
    (BOSS, "My boss is Ines tonight instead of Anna."),
    (BOSS, "My boss is Ines this month, no longer Anna."),
    (BOSS, "My boss is Ines while Anna is ill, no longer Anna."),
    (STANDUP, "The standup is at 10 today instead of 9."),
    (STANDUP, "The standup is at 10 Monday instead of 9."),
    (STANDUP, "The standup is at 10 on Monday now instead of 9."),
    (STANDUP, "The standup moved from 9 to 10 tomorrow."),
    (STANDUP, "We moved the standup from 9 to 10 once."),
    (STANDUP, "We moved the standup from 9 to 10 for the week."),
    (FLIGHT, "My flight moved from Monday to Friday this week."),
    ("My seat is 12A.", "My seat changed from 12A to 14C today."),
    ("My rent is 700 euros.", "My rent is 750 euros this month instead of 700 euros."),
    # not only
    (OFFICE, "My office is in Turku now, not just in Ghent."),
    (OFFICE, "My office is in Turku now, not only in Ghent."),
    (OFFICE, "My office is in Turku now, not merely in Ghent."),
    (OFFICE, "My office is in Turku now, not actually in Ghent."),
    (OFFICE, "My office is no longer just in Ghent."),
    (OFFICE, "My office is no longer exclusively in Ghent."),
    ("My diet is vegan.", "My diet is no longer just vegan."),
    ("The app runs on Linux.", "The app runs on Windows now, not just on Linux."),
    ("My team uses Slack.", "My team uses Teams now, not just Slack."),
    # a request
    (FLIGHT, "Switch my flight from Monday to Friday."),
    (FLIGHT, "Please change my flight from Monday to Friday."),
    (FLIGHT, "Change my flight from Monday to Friday and tell me the price."),
    (FLIGHT, "Move my flight from Monday to Friday."),
    ("My address is Elm street.", "Please change my address from Elm street to Oak street."),
    ("My boss is Anna.", "Switch my boss from Anna to Ines."),
    # hearsay, a dream, a guess or a mistake
    (OFFICE, "My office is allegedly no longer in Ghent."),
    (OFFICE, "My office is in Turku now, not in Ghent, Tom claims."),
    (OFFICE, "Tom claims my office is in Turku now, not in Ghent."),
    (OFFICE, "I dreamt my office is in Turku now, not in Ghent."),
    (OFFICE, "My office is possibly in Turku now, no longer in Ghent."),
    (FLIGHT, "My flight was moved from Monday to Friday by mistake."),
    (FLIGHT, "My flight was moved from Monday to Friday, they claim."),
    (BOSS, "My boss is Ines now, no longer Anna, in theory."),
    # another sentence takes it back again
    (FLIGHT, "We moved my flight from Monday to Friday. It failed."),
    (FLIGHT, "We moved my flight from Monday to Friday. Tom undid it."),
    (FLIGHT, "My flight was moved from Monday to Friday. That was a mistake."),
    (FLIGHT, "We moved my flight from Monday to Friday! Just kidding."),
    (HOME, "I moved from Ghent to Turku. No, I did not."),
    (BOSS, "Tom wrote this. My boss is Ines now, no longer Anna."),
    # a part, or a value of another kind
    (KAFKA, "We moved the app from Kafka to NATS partially."),
    (KAFKA, "We moved the app from Kafka to NATS in staging."),
    (KAFKA, "We moved the app from Kafka to NATS, in staging."),
    (KAFKA, "The app uses NATS tests now instead of Kafka."),
    (KAFKA, "The app uses NATS for logs now instead of Kafka."),
    ("My car is an Audi.", "I sold an Audi and my car is red."),
    ("My meeting is at 10.", "My meeting moved from 10 to 12 people."),
    ("My number is 555.", "My number is 556 at work now, not 555."),
    # the older one says more
    ("My diet is vegan because I am allergic to milk.", "My diet is vegetarian now, not vegan."),
    (
        "The app runs on Kafka because auditors ask.",
        "The app runs on NATS now, no longer on Kafka.",
    ),
    ("I live in Ghent so that my mother has help.", "I moved from Ghent to Turku."),
    ("I live in Ghent for my asthma.", "I moved from Ghent to Turku."),
    ("I live in Ghent, door code 4711.", "I moved from Ghent to Turku."),
    ("I live in Ghent and Lyon.", "I moved from Ghent to Turku."),
    ("I live in Ghent with two cats.", "I moved from Ghent to Turku."),
    ("I live in Ghent in winter.", "I moved from Ghent to Turku."),
    ("My office is in Ghent, ring twice.", "My office is in Turku now, not in Ghent."),
    ("My boss is Anna, allergic to nuts.", "My boss is Ines now, no longer Anna."),
    ("My doctor is Anna for my heart.", "My doctor is Ines now, no longer Anna."),
    ("My boss is Anna, born on 4 May.", "My boss is Ines now, no longer Anna."),
    ("My gun is locked because of Leo.", "My gun is no longer locked because of Leo."),
    # another thing, or a value of another kind
    (HOME, "I had moved from Ghent to Turku."),
    (HOME, "I have not moved from Ghent to Turku."),
    (HOME, "I moved from Ghent to Turku, and no longer live in Turku."),
    (HOME, "I moved from the Ghent office to the Turku office."),
    (HOME, "My office moved from Ghent to Turku."),
    (HOME, "I work in Turku now, no longer in Ghent."),
    (BOSS, "My boss is in Ghent now, no longer Anna."),
    ("Our flat is in Ghent.", "My flat is in Turku now, not in Ghent."),
    ("My current address is Elm street.", "My main address is Oak street now, not Elm street."),
    ("My daily limit is 10.", "My weekly limit is 20 now, not 10."),
    ("The main office is in Ghent.", "The office is in Turku now, not in Ghent."),
    (KAFKA, "The new app uses NATS now instead of Kafka."),
    (KAFKA, "The app uses NATS as a test now instead of Kafka."),
    ("The standup is at 9 on Monday.", "The standup moved from 9 to 10."),
    (STANDUP, "The standup is at 10 now, not at 9, on Mondays."),
    # for the moment only
    ("My office is in Ghent.", "My office is not in Ghent now."),
    ("The shop is open.", "The shop is no longer open this week."),
    # other languages
    ("Ich wohne in Graz.", "Ich wohne heute nicht mehr in Graz."),
    ("Ich wohne in Graz.", "Ich wohne nicht mehr nur in Graz."),
    ("Ich wohne in Graz wegen der Kinder.", "Ich wohne nicht mehr in Graz."),
    ("Ich wohne in Graz.", "Ich wohne angeblich nicht mehr in Graz."),
    ("Moro em Braga.", "Hoje já não moro em Braga, moro em Faro."),
    ("我住在上海", "我暂时不再住在上海"),
]
"""The older one may still be true, or says what the later one does not take back."""

VIM, BUDGET, GYM = "My editor is Vim.", "The budget of Heron is 40 euros.", "My gym day is Monday."
MYSQL = "The billing service uses MySQL."
OTHER_KIND = [
    # a time, a weekday, a month
    ("The standup is at 9:00.", "The standup moved from 9:00 to Teams."),
    ("The standup is at 9:00.", "The standup moved from 9:00 to Monday."),
    ("The standup is at 9:00.", "The standup is in Turku now, not at 9:00."),
    ("The standup is on Monday.", "The standup moved from Monday to 10:00."),
    ("The standup is on Monday.", "The standup moved from Monday to Turku."),
    (FLIGHT, "We moved my flight from Monday to Turku."),
    (FLIGHT, "My flight moved from Monday to March."),
    (GYM, "I moved my gym day from Monday to 10:00."),
    (GYM, "I moved my gym day from Monday to Anna."),
    (GYM, "My gym day is May now, no longer Monday."),
    # an amount
    (BUDGET, "The Heron budget was raised from 40 euros to Anna."),
    (BUDGET, "The Heron budget was raised from 40 euros to 50 dollars."),
    (BUDGET, "The Heron budget was raised from 40 euros to 50."),
    (BUDGET, "The Heron budget was raised from 40 euros to 9:00."),
    (BUDGET, "The Heron budget was raised from 40 euros to Friday."),
    ("The budget of Heron is €40.", "The Heron budget was raised from €40 to $50."),
    ("The budget of Heron is 40%.", "The Heron budget was raised from 40% to 50."),
    ("My rent is 700 euros.", "My rent is 750 francs now, not 700 euros."),
    ("My weight is 80 kg.", "My weight is 180 pounds now, not 80 kg."),
    ("My password is 4711.", "I changed my password from 4711 to swordfish."),
    # a tool, a language
    (VIM, "I switched from Vim to German."),
    (VIM, "I switched from Vim to 9:00."),
    (VIM, "I switched from Vim to Monday."),
    (VIM, "I switched from Vim to Turku."),
    (VIM, "I switched from Vim to MySQL."),
    (VIM, "My editor is Polish now, not Vim."),
    ("Reply to me in German, please.", "Switch my replies from German to Vim."),
    ("Reply to me in German, please.", "Switch my replies from German to 9:00."),
    (MYSQL, "We migrated the billing service from MySQL to Anna."),
    (MYSQL, "We migrated the billing service from MySQL to Friday."),
    # a common noun
    (HOME, "I moved from Ghent to bed."),
    (HOME, "I moved from Ghent to work."),
    (HOME, "I moved from Ghent to nowhere."),
    (HOME, "I moved from Ghent to Peace."),
    (HOME, "I no longer live in Ghent but in Peace."),
    (HOME, "I no longer live in Ghent, I live in Hiding now."),
    (HOME, "I no longer live in Ghent but in 9:00."),
    (HOME, "I no longer live in Ghent but in German."),
    (HOME, "I moved from Ghent to German."),
    (HOME, "I moved from Ghent to Monday."),
    (HOME, "I moved from Ghent to 50 euros."),
    (HOME, "I Moved From Ghent To Sofa."),
    (BOSS, "My boss is Somebody now, no longer Anna."),
    (BOSS, "My boss is Friday now, no longer Anna."),
    ("My car is a Fiat Panda.", "I swapped a Fiat Panda for freedom."),
    ("Ich wohne in Graz.", "Ich bin von Graz nach Hause umgezogen."),
    ("The deploy branch is main.", "The deploy branch changed from main to Anna."),
    ("The deploy branch is main.", "The deploy branch changed from main to 10:00."),
]
"""A change to a value of another kind."""
OTHER_THING = [
    (MYSQL, "The billing team no longer uses MySQL."),
    (MYSQL, "The billing app no longer uses MySQL."),
    (MYSQL, "The billing project no longer uses MySQL."),
    (MYSQL, "We migrated the billing team from MySQL to DuckDB."),
    (MYSQL, "We migrated the billing system from MySQL to DuckDB."),
    (MYSQL, "The billing office no longer uses MySQL."),
    ("The billing team uses MySQL.", "The billing service uses DuckDB now, not MySQL."),
    ("The billing app uses MySQL.", "The billing service uses DuckDB now, not MySQL."),
    ("Heron uses MySQL.", "The Heron team no longer uses MySQL."),
    ("Heron uses MySQL.", "The Heron app uses DuckDB now instead of MySQL."),
    ("Ana leads the audit team.", "Bo took over the audit project from Ana."),
    (
        "The Heron project budget is 40 euros.",
        "The Heron team budget is 50 euros now, not 40 euros.",
    ),
    ("My flat is in Ghent.", "My house is in Turku now, not in Ghent."),
    ("My office is in Ghent.", "My room is in Turku now, not in Ghent."),
    ("My boss is Anna.", "My manager is Ines now, no longer Anna."),
    ("Das Reiher Team nutzt MySQL.", "Das Reiher System nutzt jetzt DuckDB statt MySQL."),
]
"""A change of another thing that shares a name with it."""
KEPT += OTHER_KIND + OTHER_THING


@pytest.mark.parametrize(("old", "new"), PLAIN, ids=range(len(PLAIN)))
def test_a_plain_change_supersedes_what_it_takes_back(old, new):
    """Every word of both is accounted for."""
    verdict = relation(read(new), read(old))
    assert (verdict.kind, verdict.explicit) == ("updates", True)


@pytest.mark.parametrize(("old", "new"), KEPT, ids=range(len(KEPT)))
def test_a_statement_that_may_still_be_true_is_not_superseded(old, new):
    """It is flagged at most: a superseded memory is no longer shown."""
    assert not relation(read(new), read(old)).explicit


@pytest.mark.parametrize("more", ["xyzzy", "in xyzzy", ", xyzzy", ". Xyzzy", "for Tom", "by Tom"])
@pytest.mark.parametrize(("old", "new"), PLAIN[:29:7], ids=range(5))
def test_a_word_that_is_not_accounted_for_forbids_it(old, new, more):
    """Any word, and in each of the two statements."""
    longer = [f"{text.rstrip('.')} {more}." for text in (old, new)]
    assert not relation(read(longer[1]), read(old)).explicit
    assert not relation(read(new), read(longer[0])).explicit


@pytest.mark.parametrize(
    ("value", "before", "spoken", "right"),
    [
        ("turku", "ghent", "in turku", True),
        ("50 euros", "40 euros", "to 50 euros", True),
        ("oak street", "elm street", "to the oak street", True),
        ("friday 10:00", "monday 9:00", "to friday at 10:00", True),
        ("turku tom", "ghent", "to turku for tom", False),
        ("12 people", "10", "to 12 people", False),
        ("10 monday", "9", "to 10 monday", False),
        ("friday", "monday", "to friday", True),
    ],
)
def test_a_new_value_is_one_word_or_a_name(value, before, spoken, right):
    """Other words of it may say when, where or how much it holds."""
    names = {"turku", "tom", "50", "oak", "12", "10", "friday", "10:00"}
    assert is_value(value.split(), before.split(), spoken.split(), names) == right
