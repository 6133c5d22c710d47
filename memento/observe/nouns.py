"""Nouns of the slots: languages, occupations, kin, and things of which people have one."""

from __future__ import annotations

TONGUES = tuple(
    """english german french spanish italian portuguese dutch danish swedish norwegian finnish
    icelandic polish czech slovak hungarian romanian bulgarian greek turkish russian ukrainian
    serbian croatian slovenian lithuanian latvian estonian irish welsh scottish catalan basque
    galician arabic hebrew persian farsi hindi urdu bengali punjabi tamil telugu malayalam kannada
    marathi gujarati nepali sinhala thai vietnamese indonesian malay tagalog filipino japanese
    korean mandarin cantonese chinese swahili amharic yoruba igbo hausa zulu afrikaans latin
    esperanto albanian armenian georgian kazakh uzbek mongolian""".split()  # noqa: SIM905 - a list of words reads better as text
)
OCCUPATIONS = tuple(
    """accountant actor actress analyst animator anesthetist archaeologist architect artist
    astronomer auditor author baker banker barber barista bartender biologist bookkeeper bricklayer
    builder butcher carpenter cashier chef chemist cleaner clerk coach composer consultant cook
    copywriter curator dancer dentist designer detective developer dietician dietitian director
    doctor dramaturg driver ecologist economist editor electrician engineer entrepreneur farmer
    firefighter florist founder freelancer gardener geologist hairdresser historian hydrologist
    illustrator instructor interpreter investigator investor janitor journalist judge lawyer
    lecturer librarian linguist locksmith logistician machinist manager mason mathematician mechanic
    meteorologist midwife miner musician nurse optician painter paralegal paramedic pastor
    pediatrician pharmacist photographer physician physicist physiotherapist pianist pilot plumber
    poet politician postdoc potter principal producer professor programmer psychiatrist psychologist
    publisher radiologist realtor receptionist recruiter researcher retiree roofer sailor salesman
    salesperson scientist sculptor secretary singer sociologist soldier statistician student surgeon
    surveyor sysadmin tailor teacher technician therapist trader trainer translator tutor undertaker
    upholsterer vet veterinarian waiter waitress webmaster welder writer zoologist""".split()  # noqa: SIM905 - as above
)
KIN = tuple(
    """mother father mum mom dad sister brother wife husband partner girlfriend boyfriend fiance
    fiancee fiancé fiancée son daughter grandmother grandfather grandma grandpa stepmother
    stepfather manager boss supervisor landlord landlady flatmate roommate mentor assistant
    therapist doctor dentist gp""".split()  # noqa: SIM905 - as above
)
"""Persons of whom the user mostly has one, by the word the user calls them."""
POSSESSIONS = (
    *"""laptop computer desktop machine workstation tablet car bike bicycle motorbike scooter
    monitor printer camera router wifi height weight nationality religion hometown school
    university college major degree bank salary rent commute dog cat username handle github website
    blog surname nickname desk office""".split(),  # noqa: SIM905 - as above
    "blood type", "shoe size", "ring size", "last name", "middle name", "star sign", "internet",
)  # fmt: skip
OURS = (
    *"""database budget ci repo repository monorepo stack backend frontend api registry vpn domain
    website logo tagline license licence framework orm cloud hosting region wiki tracker chat
    bundler formatter linter deadline cache queue mascot standup retro""".split(),  # noqa: SIM905 - as above
    "default branch", "main branch", "release branch", "package manager", "style guide",
    "code style", "sprint length", "fiscal year", "time zone", "event store", "test framework",
    "design system", "rate limit", "staging server", "production server",
)  # fmt: skip
