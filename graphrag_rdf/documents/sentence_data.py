"""Words that decide whether a full stop ends a sentence. Data only, in lower case, without the last stop."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Rules:
    """One language's words.

    Args:
        never: abbreviations that something always follows (titles, "e.g.").
        often: abbreviations that may end a sentence: they do if a starter follows.
        numbered: abbreviations only before a number ("No. 5").
        starters: words that begin sentences and hardly ever are part of a name.
        ordinals: whether "3." before a word is an ordinal number ("3. Mai").
    """

    never: frozenset[str]
    often: frozenset[str]
    numbered: frozenset[str]
    starters: frozenset[str]
    ordinals: bool = False


def _rules(never: str, often: str, numbered: str, starters: str, *, ordinals: bool = False) -> Rules:
    def words(text: str) -> frozenset[str]:
        return frozenset(text.split())

    return Rules(words(never), words(often), words(numbered), words(starters), ordinals)


_COMMON = _rules(
    "dr prof mr mrs ms st vs cf viz ibid ca approx circ",
    "inc ltd corp co jr sr etc al bros ph.d b.sc m.sc",
    "no nr fig p pp vol ch sec art c b d fl aft bef abt",
    "",
)

_LANGUAGES = {
    "en": _rules(
        "messrs mmes rev hon gen col maj capt cmdr lt sgt gov sen rep pres supt fr sir mt ft e.g i.e eg ie "
        "incl excl esp resp orig transl",
        "dept est univ assn ave blvd rd mass calif conn jan feb mar apr jun jul aug sep sept oct nov dec "
        "a.m p.m u.s u.k u.n e.u d.c b.c a.d",
        "nos figs eq eqs eqn sect chap tab para ex ref refs op",
        "the a an it he she they we you i this that these those there here in on at by for from with as but "
        "and or if when while after before since although though however moreover furthermore thus "
        "therefore then his her its their our my your what who why how where which one some many most all "
        "no not both each every another other during under over because so yet also to of according today "
        "later meanwhile instead despite until once between through among such is are was were do does did "
        "can",
    ),
    "de": _rules(
        "hr fr frl dipl ing med phil jur rer nat habil d.h z.b u.a i.d.r s.o s.u v.a o.g sog bzw vgl evtl "
        "ggf inkl exkl insb bspw zzgl abzgl geb gest hrsg gen u d h z b i a",
        "usw usf u.s.w str bd jh jhd mio mrd tsd gmbh jan feb mär apr jun jul aug sept okt nov dez n.chr "
        "v.chr chr",
        "s abb kap abs tab anm ziff rn aufl nrn",
        "der die das den dem des ein eine einen er sie es wir ich ihr in im am an auf bei mit nach von vor "
        "zu zur zum aus für und oder aber wenn als da dann doch so auch seit während nachdem obwohl diese "
        "dieser dieses damit dabei danach dort hier heute später jedoch man was wer wie wo warum alle viele "
        "einige beide sein seine ihre mein nur noch schon nicht kein keine durch über unter zwischen",
        ordinals=True,
    ),
    "nl": _rules(
        "dhr mevr mw drs ir mr ing bijv d.w.z m.a.w o.a m.b.t i.v.m t.a.v nl incl excl resp vgl ong zgn",
        "enz e.d e.a n.v b.v jan feb mrt apr jun jul aug sept okt nov dec",
        "blz hfdst afb tab par",
        "de het een hij zij ze we wij ik jij u dit dat deze die er in op bij met na van voor door uit en of "
        "maar als toen dan ook sinds tijdens nadat hoewel omdat daarom daar hier nu later echter men wat "
        "wie hoe waar waarom alle veel sommige beide zijn haar hun mijn niet geen over onder tussen volgens",
    ),
    "fr": _rules(
        "m mm mme mmes mlle mlles me mgr c.-à-d p.ex ex env éd trad",
        "av janv févr avr juil sept oct nov déc s.a",
        "n art chap t vol p pp",
        "le la les un une des l d il elle ils elles on nous vous je tu ce cet cette ces c dans en sur à au "
        "aux par pour de du avec sans mais et ou si quand lorsque après avant depuis bien cependant "
        "toutefois ainsi donc alors puis son sa ses leur leurs mon notre que qui quoi pourquoi comment où "
        "tout tous toutes ici là plus ne selon",
    ),
    "es": _rules(
        "sr sra sres srta d dª dña dra ud uds vd vds p.ej ej aprox av avda gral",
        "ee.uu s.a s.l a.c d.c feb abr ago sept oct nov dic",
        "núm pág págs cap n",
        "el la los las un una unos unas él ella ellos ellas yo nosotros usted este esta estos estas ese esa "
        "eso esto en con por para de del al a desde hasta sin pero y o si cuando después antes aunque sin "
        "embargo además así entonces luego su sus mi nuestro que qué quién cómo dónde por todo todos todas "
        "aquí allí no se según",
    ),
    "it": _rules(
        "sig sigg sig.ra dott avv ing arch on mons es p.es ecc.za",
        "ecc s.p.a s.r.l gen feb mar apr mag giu lug ago set ott nov dic",
        "n pag pagg cap",
        "il lo la i gli le un uno una egli lui lei essi loro io noi questo questa questi quello quella in "
        "nel nella con per di del della da dal al alla a su tra fra ma e o se quando dopo prima anche però "
        "tuttavia così quindi poi suo sua che chi come dove perché tutto tutti qui non si secondo",
    ),
    "pt": _rules(
        "sr sra srs dra eng exmo exma p.ex ex aprox av",
        "s.a ltda e.u.a fev abr mai ago set out nov dez",
        "núm n pág págs cap",
        "o a os as um uma ele ela eles elas eu nós você este esta isto isso esse essa em no na nos nas com "
        "por para de do da desde até sem mas e ou se quando depois antes embora porém contudo além assim "
        "então seu sua que quem como onde todo todos aqui ali não segundo",
    ),
}
# languages that write ordinals with a full stop, and whose other words are not in the table
_ORDINALS = frozenset(
    {"cs", "da", "et", "fi", "hr", "hu", "is", "lv", "nb", "nn", "no", "pl", "sk", "sl", "sr", "tr"}
)
_FALLBACK = "en"


def rules_for(language: str | None) -> Rules:
    """The rules of a language; unknown ones get the common abbreviations and English ones.

    Args:
        language: BCP 47 tag or None.
    """
    primary = (language or _FALLBACK).partition("-")[0].lower()
    own = _LANGUAGES.get(primary, _LANGUAGES[_FALLBACK])
    return Rules(
        never=_COMMON.never | own.never,
        often=_COMMON.often | own.often,
        numbered=_COMMON.numbered | own.numbered,
        starters=own.starters,
        ordinals=own.ordinals or primary in _ORDINALS,
    )
