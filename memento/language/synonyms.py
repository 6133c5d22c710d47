"""Other words for everyday things: a question about the "boss" means the "manager". Pure.

A small vector model places such words near each other only in some sentences, and a short note
offers it little else. The table holds words of daily life that people exchange; it is not a
thesaurus. A match by another word counts half. English only.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import permutations

# Words of a line are exchanged freely. The word before a colon stands for any of those after it,
# and each of those for it: a "pet" is a dog or a cat, but a dog is no cat.
_GROUPS = """
boss, manager, supervisor, team lead, head of
colleague, coworker, workmate, teammate
job, position, role, employer, occupation, profession
salary, wage, income, paycheck, pay, compensation
earn: salary, wage, income, paycheck, pay
raise, pay rise, promotion
company, firm, employer, business, startup
office, workplace
meeting: appointment, call, standup, sync, catch up
shift, rota, roster, on call, on duty, standby
holiday, vacation, leave, time off, day off, trip
resign, quit, gave notice, hand in
hire, recruit, employ, take on
fire, dismiss, let go, lay off, redundant
retire, pension
deadline, due date, due
kid, child
kid: son, daughter, baby, toddler
child: son, daughter, baby, toddler
parent: mother, father, mum, dad, mom
mother, mum, mom, mummy
father, dad, daddy
grandmother, grandma, granny, nan, gran
grandfather, grandpa, grandad, granddad
sibling: brother, sister
husband: spouse, partner
wife: spouse, partner
partner: boyfriend, girlfriend, fiance, fiancee, spouse
relative: aunt, uncle, cousin, niece, nephew
friend, mate, buddy, pal
married, wedding, marry, engaged
split, divorce, separated, broke up
funeral, burial, died, passed away
born, birthday, birth
neighbour, neighbor, next door
pet: dog, cat, hamster, rabbit, puppy, kitten
puppy, dog
kitten, cat
vet, veterinarian, animal clinic
doctor, gp, physician, surgery, practice
dentist: dental, hygienist, orthodontist
hospital: clinic, emergency, ward
medicine, medication
medicine: pill, tablet, drug, prescription, antibiotic
medication: pill, tablet, drug, prescription, antibiotic
ill, sick, unwell
ill: flu, cold, fever
pain, ache, hurt, sore
broken, break, broke, fracture, crack
injury: injure, hurt, wound, sprain, fracture
surgery, operation, op, procedure
vaccine, vaccination, jab, shot, injection
allergy, allergic, intolerant
glasses, spectacles, lens, optician, eyesight
sight, eyesight, vision, eyes
therapist, counsellor, counselor, psychologist
therapy, physio, physiotherapy
pregnant, expecting, baby
sleep: bed, bedtime, nap
tired, exhausted, worn out
exercise, workout
exercise: gym, training
run, jog, marathon
weight: weigh, kilo
home: house, flat, apartment, place
flat, apartment, condo
landlord, owner, landlady, letting agent
tenant, renter, lodger
rent, lease, tenancy
mortgage, home loan
move, relocate
address, street, live
living room, lounge
sofa, couch, settee
tv, telly, television
fridge, refrigerator, freezer
cooker, oven, stove, hob
tap, faucet
toilet, bathroom, loo, restroom, wc
heating: boiler, heater, radiator, thermostat
plumber: leak, pipe
electricity, power, energy, electric
wifi, internet, broadband, router
bin, rubbish, trash, garbage, waste
rubbish: recycling
cleaner, cleaning lady, clean, housekeeper, maid
babysitter, nanny, childminder, sitter, au pair
babysit, look after, mind
carer, caregiver, nurse, care worker
gardener: garden, lawn, mow
repair, fix, mend
builder: contractor, handyman, roofer, joiner, carpenter
broke down, failed, faulty
key, spare key, fob
lock, padlock
alarm, siren
code, pin, password, passcode
password, passphrase, login, credential, passcode
username, login, account
car: vehicle, drive
vehicle: car, van, truck, lorry
lorry, truck
bike, bicycle, cycle
motorbike, motorcycle, scooter
garage, mechanic, workshop
mot, inspection, service
fuel: petrol, gas, diesel
licence, license
parking, car park, park
train, railway, rail
plane, flight, fly, airline
luggage, suitcase, baggage, bag
airport, terminal
hotel, hostel, bed and breakfast, accommodation, airbnb
ticket, booking, reservation
book, reserve
passport, visa
abroad, overseas
phone, mobile, cell, smartphone, handset
laptop: notebook, computer, pc, macbook
computer: laptop, pc, desktop
screen, monitor, display
photo, picture, pic, snapshot
film, movie
series, show, programme
song, track, tune
band, group
concert, gig, show
instrument: piano, guitar, violin, drum, flute, cello, trumpet
book: novel, read
author, writer, wrote
game, match
football, soccer
swim: pool
hobby, pastime, spare time
school: primary, kindergarten, nursery, college
headteacher, head, principal, headmaster
teacher, tutor, instructor
lesson: class, course
student, pupil
university, uni, college
degree, diploma
exam, test, assessment
grade, mark, score
lecturer: professor, tutor
thesis, dissertation
homework, assignment, coursework
library, librarian
eat: food, meal, dish, diet
drink, beverage
breakfast, morning meal
lunch, midday
dinner, supper, evening meal
restaurant, cafe, diner, bistro
recipe, cook, bake
vegetarian, veggie, meat
vegan, plant based
beer, lager, ale
alcohol: drink, sober, wine, beer
sweet: candy, chocolate, dessert
biscuit, cookie
chips, fries
aubergine, eggplant
courgette, zucchini
groceries, shopping, supermarket
shop, store
price, cost, charge, fee
expensive, pricey
cheap, inexpensive, bargain
buy: bought, purchase, order
sell, sold
pay: paid, spend, spent
bill, invoice
refund, money back, reimburse
owe: debt, loan, lend, borrow
bank: account, iban
card: credit card, debit card
insurance, policy, insurer, cover
tax, revenue, hmrc
savings, save
budget, allowance
present, gift
party, celebration, do
guest, visitor, attend
invite, invitation
clothes, clothing, outfit, wear
jumper, sweater, pullover
trousers, pants, jeans
trainers, sneakers, shoes
coat, jacket
size, measurement
haircut, hairdresser, barber
colour, color
hate, dislike, can't stand, loathe
love, like, favourite, favorite, enjoy, prefer
favourite, favorite, prefer
avoid, forbidden, not allowed, must not
afraid, scared, fear, phobia
angry, upset, annoyed
happy, glad, pleased
worry, worried, anxious, concern, nervous
nickname, called
begin, start
end, finish, over
finish, complete, done
stop, end, cease
cancel, call off
postpone, put off, delay
late, delay
choose, chose, decide, pick, settle
decide, decision, agreed
plan, intend
remind, reminder, remember
phone, ring, telephone
contact, reach, ring, get hold of
email, mail
letter: post, mail
parcel, package, delivery
deliver, delivery, courier
lost, missing, mislaid
stolen, theft, steal, nick
police: crime
lawyer, solicitor, attorney
contract, agreement
document, paper, form
volunteer, charity, donate
church: mass, parish
vote, election
weather: forecast, rain
town, city
village, hamlet
country, nation
bug, defect, issue, error, fault
error, exception, failure, crash
outage, downtime, incident
server, host, machine, box
release, deploy, deployment, ship, rollout
database, db, postgres, mysql
repository, repo
branch, fork
review, pull request, pr
customer, client
supplier, vendor, provider
staff, employee, team
responsible, in charge, owner, looks after
chief, ceo, director, head
money, cash, fund
kilometre, km, mile
temperature: degree
"""


def _forms() -> dict[str, tuple[tuple[str, ...], ...]]:
    """Return each word with what else may be said instead of it, as tuples of words."""
    found: dict[str, dict[tuple[str, ...], None]] = {}
    for line in _GROUPS.strip().splitlines():
        for one, other in _pairs(line.replace("'", " ")):
            if len(one) == 1:
                found.setdefault(one[0], {})[other] = None
    return {word: tuple(ways) for word, ways in found.items()}


def _pairs(line: str) -> Iterator[tuple[tuple[str, ...], tuple[str, ...]]]:
    """Yield a way to say something and another way, both as tuples of words."""
    head, _, rest = line.rpartition(":")
    ways = [tuple(way.split()) for way in rest.split(",")]
    if head:
        for way in ways:
            yield (head,), way
            yield way, (head,)
    else:
        yield from permutations(ways, 2)


_OTHERS = _forms()
_ENDINGS = ("s", "es", "d", "ed", "ing", "er")


def _bases(word: str) -> Iterator[str]:
    """Yield a word and what may be its base form."""
    yield word
    if word.endswith("ies"):
        yield f"{word[:-3]}y"
    for ending in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) > 2:  # noqa: PLR2004 - "is" is no plural
            yield word[: -len(ending)]
            if ending == "ing":
                yield f"{word[:-3]}e"


def others(word: str) -> tuple[tuple[str, ...], ...]:
    """Return other ways to say a folded word, each a tuple of words; none for most words.

    >>> ("manager",) in others("boss"), others("quark")
    (True, ())
    """
    return next((_OTHERS[base] for base in _bases(word) if base in _OTHERS), ())
