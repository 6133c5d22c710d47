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
newspaper: paper, magazine, journal
news: headline, paper
canine, dog
feline, cat
fish: aquarium, trout, salmon
horse, pony
chicken: hen, poultry
pharmacy, chemist, drugstore
pharmacist, chemist
inhaler: asthma, puffer
blood pressure, hypertension
cardiologist: heart doctor, cardiology, heart
cardiac: heart
dermatologist: skin
ophthalmologist: eye, optician
midwife: birth, maternity
paediatrician: pediatrician, doctor
checkup, check up, examination
appointment: slot, consultation, booked
diagnosis: diagnosed, result
diabetes, diabetic, insulin
stomach, belly, tummy
injection: needle, jab
bandage: plaster, dressing, cast
crutch: walking stick, cane
wheelchair: walker, rollator
hearing aid, deaf
spouse, wife
spouse, husband
fiance, fiancee, engaged
newborn: baby, infant
infant, baby
toddler, little one
grandchild: grandson, granddaughter
grandchildren: grandson, granddaughter, grandkids
in law: mother in law, father in law
godmother, godfather, godparent
widow, widower, late husband, late wife
roommate, flatmate, housemate
acquaintance, contact
deceased: died, passed away, late
wedding: married, ceremony
anniversary: married, wedding
honeymoon, wedding trip
birthplace, born, hometown
surname, last name, family name
mobile: smartphone, handset
cellphone, mobile, phone
headphones, earphones, earbuds, headset
charger, charging cable, power bank
camera, lens, photograph
tablet: ipad
internet: provider, fibre
network: wifi, router
subscription, membership, plan
streaming: netflix, spotify
website, site, web page
backup, copy, hard drive
vehicle: motorbike, bike, bus, suv
automobile, car
tyre, tire, wheel
breakdown, broke down, tow
plate: registration, number plate
commute: train, bus, tram, cycle, drive
bus: coach, tram
underground, subway, metro
taxi, cab, uber
ferry, boat, ship
sail, boat, yacht
driver: drive, chauffeur
luggage: rucksack, backpack
backpack, rucksack
journey, trip, travel
itinerary: route, schedule
timetable, schedule
residence: live, home, flat
dwelling: house, home, flat
lodging: room, hotel, hostel
basement, cellar
attic, loft
hallway, corridor, hall
staircase, stairs, steps
storey, floor
balcony, terrace, patio
yard, garden, backyard
fence, hedge, wall
shed, outbuilding, hut
curtain, blind
carpet, rug
wardrobe, closet, cupboard
drawer, cabinet
lamp, light, bulb
stopcock, water main, mains
washing machine, laundry
laundry: washing
dryer, tumble
dishwasher: dishes
hoover, vacuum
kettle, boil
stove, cooker
pan, pot
chimney, flue, fireplace, sweep
roofer, roof
plumber, plumbing
electrician, electrics, wiring
painter: paint, decorator
locksmith, lock
landline: phone
downstairs: below, ground floor
upstairs: above, top floor
noise, noisy, loud
odour, smell, stink
leak, drip
mould, damp
mouse, mice, rat
insect: wasp, bee, ant
tool: drill, hammer, saw
ladder, steps
meter: reading
utility: gas, electricity, water
supplier: energy
moving, relocation, removal
estate agent, realtor
purchaser, buyer
vendor, seller
bid, offer, offered
bought, purchase, acquire
auction, ebay
discount, voucher, coupon, sale
receipt, invoice
deposit, down payment
installment, instalment, monthly
loan, credit, mortgage
cash, coins
currency: euro, dollar, pound
iban, account number
inheritance, inherit, legacy
scholarship, grant, bursary
fine, penalty, ticket
allowance: pocket money
tip, gratuity
profession: work, job
vocation, career
interview, application
applicant, candidate
apprentice, trainee, intern
internship, placement
supervisor: advisor, professor
mentor, coach, trainer
department, ward, team
overtime, extra hours
night shift, nights
uniform, scrubs
badge, id card, pass
locker, padlock
canteen, cafeteria
conference, congress, workshop
presentation, talk, slides
report, write up, documentation
assignment: essay, paper
essay, paper
dissertation, thesis
semester, term
tuition: fee, lesson
lecture, class, course
seminar, tutorial
campus, university
dorm, dormitory, hall, residence
flat share, shared flat, roommate
graduate, graduation
exam: midterm, final
resit, retake
laboratory, lab
kindergarten, nursery, daycare, preschool
teacher: lecturer
caretaker, janitor, concierge
choir, sing
singer, sing, vocalist
musician: guitar, violin, piano, drum
orchestra, band
rehearsal, rehearse, practice
theatre, theater, play
cinema, film, movie
museum, gallery, exhibition
painting, paint, canvas
knit, crochet, wool
sew, sewing, tailor
pottery, ceramic, clay
chess, board game
club, society, association
gym, fitness
yoga, pilates
climb, bouldering
hike, walk, trek
ski, snowboard
tennis, badminton, squash
cyclist, cycle, bike
race, marathon, competition
coach: trainer
team: squad
angling, fish
hunting, shoot
camping, tent, campsite
beverage: coffee, tea, juice
tea, cuppa, brew
coffee: espresso, cappuccino, latte
soft drink, soda, cola
wine: red, white
pub, bar
bakery, baker, bread
butcher, meat
greengrocer, vegetables, veg
vegetable: carrot, potato, tomato, onion
fruit: apple, banana, berry, orange
nut: peanut, hazelnut, cashew, almond
dairy, lactose, milk, cheese
seafood, fish, shellfish, prawn
gluten, coeliac, celiac, wheat
sweets, candy
starter, appetizer
leftovers, rest
spice, chilli, curry
pudding, dessert
cake, birthday cake, bake
takeaway, delivery, pizza
diet, eat
hungry, appetite
spectacles, glasses
jewellery, jewelry, ring, necklace
watch, clock
shoe: boot, sandal, trainers
dress, gown, skirt
umbrella, rain
handbag, purse, bag
wallet, purse
sunscreen, sun cream
toothbrush, toothpaste
tattoo, piercing
beard, shave
makeup, cosmetics
rain: storm, wet
snow, hail, ice
sunny, sun
hot, heat, warm
cold, freezing, chilly
storm, gale, thunder
flood, flooded
weather: snow, hail, storm, sunny, hot
scared, frightened, afraid
frighten, scare, terrify
frighten: scared, terrified, afraid
nervous, stressed
sad, down, depressed
proud, pride
grumpy, cross, moody
argue, argument, quarrel, row
apologise, sorry
promise, swear
secret, surprise, confidential
rumour, gossip
joke, laugh
religion, church, mosque, temple
priest, vicar, pastor, imam
pray, prayer
fast: fasting
christening, baptism, baptised
citizenship, nationality
embassy, consulate
border, customs
permit, licence
residence permit, visa
election, vote
mayor, council
charity: donation, donate
neighbourhood, area, district
square, market
bridge, river
forest, wood, woods
seaside, beach, coast
mountain, hill
island, isle
foreign, abroad
language: english, french, spanish, german
translate, translation
speak, talk, conversation
write: wrote, letter
message, text
phone call, rang, called
voicemail, answering machine
signature, sign
form: application
certificate, diploma
insurer, insurance
accident, crash, collision
burglar, break in, burglary
witness, saw
court, judge, trial
emergency: ambulance, urgent
fire brigade, firefighter
heavy: weight, kg, kilo, weigh
tall, height
long: length
deep, depth
fast: speed, quick
record: best, personal best
large, big, huge
small, little, tiny
repair: garage, workshop, mechanic
mechanic, repair
fee: price, cost
rate, price
spare, extra
duplicate, copy
sibling: twin
quit: stop, give up
smoke: cigarette, smoking
cigarette, tobacco
absent, away
attend, join
host, invite
arrive, arrival, get there
depart, departure, leave
location: address, place
keep: store, kept
hide, hidden
locate: find, kept
prohibit, forbid, ban
prohibited, banned, forbidden
permitted, allowed
mandatory, must, compulsory
require, need
recommend, suggest
opinion, think
regret, wish
success, succeed, pass
fail, failed
improve, better
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
