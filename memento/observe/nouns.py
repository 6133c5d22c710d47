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
PLACES = frozenset(
    """aberdeen accra adelaide aleppo algiers almaty amman amsterdam ankara antalya antwerp asunción
    athens atlanta auckland austin baghdad baku baltimore bamako bangalore bangkok barcelona
    basel beijing beirut belfast belgrade bengaluru bergen berlin bern bilbao birmingham bogotá
    bogota bologna bordeaux boston brasília brasilia bratislava bremen brighton brisbane bristol
    brno bruges brussels bucharest budapest bursa busan cairo calgary cambridge canberra caracas
    cardiff casablanca chengdu chennai chicago cologne colombo columbus copenhagen cork cracow
    curitiba dakar dallas damascus delft delhi denver detroit dhaka doha dortmund dresden dubai
    dublin dundee durban dubrovnik düsseldorf edinburgh edmonton eindhoven essen évora evora
    florence frankfurt fukuoka galway gdansk gdańsk geneva genoa ghent glasgow gothenburg
    granada graz grenoble groningen guangzhou guatemala guayaquil haarlem haifa halifax hamburg
    hanoi hanover harare havana heidelberg helsinki hiroshima hobart houston hyderabad innsbruck
    istanbul izmir jaipur jakarta jeddah jerusalem johannesburg kampala karachi kathmandu
    kharkiv kigali kingston kinshasa kolkata krakow kraków kyiv kyoto lagos lahore leeds
    leicester leiden leipzig leuven liège lille lima linz lisbon liverpool ljubljana london
    louisville luanda lucerne lund lusaka lviv lyon lyons maastricht madrid málaga malaga malmö
    manchester manila mannheim maputo marrakesh marseille medellín melbourne memphis metz miami
    milan milwaukee minneapolis minsk monterrey montevideo montpellier montreal montréal moscow
    mumbai munich münster münchen nagoya nairobi nantes naples nashville newcastle nice nicosia
    nottingham novosibirsk nuremberg oakland odesa odessa orlando osaka oslo ottawa oxford padua
    palermo paris perth philadelphia pittsburgh plovdiv podgorica portland porto prague pretoria
    pristina pune quito rabat reykjavik riga rio riyadh rome rosario rotterdam rouen sacramento
    salzburg santiago sapporo sarajevo seattle seoul seville shanghai sheffield shenzhen
    singapore skopje sofia southampton split stavanger stockholm strasbourg stuttgart sydney
    taipei tallinn tampa tampere tashkent tbilisi tehran thessaloniki tilburg timișoara tirana
    tokyo toronto toulouse trieste trondheim tunis turin turku uppsala utrecht valencia valletta
    valparaíso vancouver venice verona vienna vilnius warsaw washington wellington winnipeg
    wrocław wroclaw wuhan yerevan york yokohama zagreb zaragoza zurich zürich afghanistan
    albania algeria angola argentina armenia australia austria azerbaijan bangladesh belarus
    belgium bolivia bosnia botswana brazil bulgaria cambodia cameroon canada chile china
    colombia croatia cuba cyprus czechia denmark ecuador egypt england estonia ethiopia finland
    france georgia germany ghana greece hungary iceland india indonesia iran iraq ireland israel
    italy jamaica japan jordan kazakhstan kenya kosovo kuwait laos latvia lebanon libya
    lithuania luxembourg macedonia madagascar malaysia malta mexico moldova mongolia montenegro
    morocco mozambique myanmar namibia nepal netherlands nigeria norway oman pakistan panama
    paraguay peru philippines poland portugal qatar romania russia rwanda scotland senegal
    serbia slovakia slovenia somalia spain sudan sweden switzerland syria taiwan tanzania
    thailand tunisia turkey uganda ukraine uruguay venezuela vietnam wales yemen zambia zimbabwe
    alabama alaska arizona california catalonia colorado connecticut florida hawaii idaho
    illinois indiana iowa kansas kentucky louisiana maryland massachusetts michigan minnesota
    montana nebraska nevada ohio oklahoma oregon pennsylvania tennessee texas utah vermont
    virginia wisconsin wyoming bavaria brittany normandy tuscany sicily""".split()  # noqa: SIM905 - as above
) | frozenset({
    "abu dhabi", "addis ababa", "buenos aires", "cape town", "costa rica", "el salvador",
    "fort worth", "hong kong", "ho chi minh city", "kuala lumpur", "las vegas", "los angeles",
    "mexico city", "new delhi", "new jersey", "new orleans", "new york", "new york city",
    "new zealand", "north carolina", "nova scotia", "panama city", "phnom penh", "port louis",
    "porto alegre", "rio de janeiro", "salt lake city", "san antonio", "san diego",
    "san francisco", "san josé", "san jose", "santa fe", "são paulo", "sao paulo",
    "saudi arabia", "south africa", "south korea", "sri lanka", "st. gallen", "st. louis",
    "tel aviv", "the hague", "united kingdom", "united states",
})  # fmt: skip
"""Large cities, countries and some regions in English: to move there is to live there."""
