"""Irregular forms, which no stemmer brings together: "sank" is found by "sink".

A line is a base form and the forms that stand for it. Forms that are common words of another meaning
("left", "ground", "saw", "lay" of "lie") stay apart on purpose.
"""

from __future__ import annotations

_ENGLISH = """
arise arose arisen
awake awoke awoken
bear bore borne
beat beaten
become became
begin began begun
bend bent
bind bound
bite bit bitten
bleed bled
blow blew blown
break broke broken
breed bred
bring brought
build built
burn burnt
buy bought
catch caught
choose chose chosen
cling clung
come came
creep crept
deal dealt
dig dug
do did done does
draw drew drawn
dream dreamt
drink drank drunk
drive drove driven
dwell dwelt
eat ate eaten
fall fell fallen
feed fed
feel felt
fight fought
flee fled
fly flew flown
forbid forbade forbidden
forget forgot forgotten
forgive forgave forgiven
freeze froze frozen
get got gotten
give gave given
go went gone
grow grew grown
hang hung
hear heard
hide hid hidden
hold held
keep kept
kneel knelt
know knew known
lead led
leap leapt
learn learnt
lend lent
lose lost
make made
mean meant
meet met
overcome overcame
overtake overtook overtaken
pay paid
prove proven
ride rode ridden
ring rang rung
rise rose risen
run ran
say said
seek sought
sell sold
send sent
sew sewn
shake shook shaken
shine shone
shoot shot
show shown
shrink shrank shrunk
sing sang sung
sink sank sunk sunken
sit sat
sleep slept
slide slid
speak spoke spoken
spend spent
spin spun
spring sprang sprung
stand stood
steal stole stolen
stick stuck
strike struck stricken
string strung
strive strove striven
swear swore sworn
sweep swept
swim swam swum
swing swung
take took taken
teach taught
tear tore torn
tell told
think thought
throw threw thrown
undergo underwent undergone
understand understood
undertake undertook undertaken
wake woke woken
wear wore worn
weave wove woven
weep wept
win won
withdraw withdrew withdrawn
withstand withstood
write wrote written
child children
foot feet
goose geese
man men
mouse mice
ox oxen
person people
tooth teeth
wife wives
woman women
life lives
"""


def _table(text: str) -> dict[str, str]:
    rows = (line.split() for line in text.split("\n") if line)
    return {form: base for base, *forms in rows for form in forms}


IRREGULAR: dict[str, dict[str, str]] = {"en": _table(_ENGLISH)}
"""By language: form → base form."""
