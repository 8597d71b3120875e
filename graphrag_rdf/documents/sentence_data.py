"""Words that decide whether a full stop ends a sentence. Data only, in lower case, without the last stop."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Rules:
    """One language's words. Single letters count in the case in which they are given, words in any.

    Args:
        never: abbreviations that something always follows (titles, "e.g.").
        often: abbreviations that may end a sentence: they do if a starter follows.
        numbered: abbreviations only before a number ("No. 5", "sec. XIX").
        starters: words that begin sentences and hardly ever are part of a name.
        speech: verbs that follow a quotation and the name of its speaker ("Why?" Mary asked).
        ordinals: whether "3." before a word is an ordinal number ("3. Mai").
    """

    never: frozenset[str]
    often: frozenset[str]
    numbered: frozenset[str]
    starters: frozenset[str]
    speech: frozenset[str] = frozenset()
    ordinals: bool = False


def _rules(
    never: str, often: str, numbered: str, starters: str, *, speech: str = "", ordinals: bool = False
) -> Rules:
    def words(text: str) -> frozenset[str]:
        return frozenset(text.split())

    return Rules(words(never), words(often), words(numbered), words(starters), words(speech), ordinals)


_COMMON = _rules(
    "dr prof mr mrs ms st vs cf viz ibid ca approx circ chr th ph wm geo chas thos edw benj joh",
    "inc ltd corp co jr sr etc al bros ph.d b.sc m.sc",
    "no nr fig p pp vol ch sec art c b d fl aft bef abt",
    "",
)

_LANGUAGES = {
    "en": _rules(
        "messrs mmes rev hon gen col maj capt cmdr lt sgt gov sen rep pres supt fr sir mt e.g i.e eg ie "
        "incl excl esp resp orig transl translit lit pron v adm brig cpl pvt pfc insp atty msgr aka",
        "dept est univ assn ave blvd rd mass calif conn jan feb mar apr jun jul aug sep sept oct nov dec "
        "a.m p.m u.s u.k u.n e.u d.c b.c a.d ft hrs oz lbs fla minn wis penn tenn ariz "
        "okla intl natl govt mfg",
        "nos pg figs eq eqs eqn sect chap tab para ex ref refs op",
        "the a an it he she they we you i this that these those there here in on at by for from with as but "
        "and or if when while after before since although though however moreover furthermore thus "
        "therefore then his her its their our my your what who why how where which one some many most all "
        "no not both each every another other during under over because so yet also to of according today "
        "later meanwhile instead despite until once between through among such is are was were do does did "
        "can",
        speech="said says asked asks replied replies answered cried exclaimed whispered shouted added "
        "returned murmured muttered called continued began remarked observed explained agreed announced "
        "demanded inquired sighed laughed repeated insisted admitted warned told thought wrote screamed "
        "yelled responded suggested declared retorted interrupted",
    ),
    "de": _rules(
        "hr fr frl dipl ing med phil jur rer nat habil d.h z.b u.a i.d.r s.o s.u v.a o.g sog bzw vgl evtl "
        "ggf inkl exkl insb bspw zzgl abzgl geb gest hrsg gen u d h z b i a fa gegr verh gesch ehem einschl "
        "allg bzgl kath röm griech lat engl franz ital hl dt amtl urspr lt verst verw gez bearb übers mitgl "
        "ausg zit prof.dr o.ä",
        "usw usf u.s.w str bd bde jh jhd jhdt mio mrd tsd gmbh jan feb mär apr jun jul aug sept okt nov dez "
        "n.chr v.chr chr jr sen jun ff tel min std stk zt z.zt abt hbf pl",
        "s abb kap abs tab anm ziff rn aufl nrn art hs bl sp z nr",
        "der die das den dem des ein eine einen er sie es wir ich ihr in im am an auf bei mit nach von vor "
        "zu zur zum aus für und oder aber wenn als da dann doch so auch seit während nachdem obwohl diese "
        "dieser dieses damit dabei danach dort hier heute später jedoch man was wer wie wo warum alle viele "
        "einige beide sein seine ihre mein nur noch schon nicht kein keine durch über unter zwischen",
        ordinals=True,
    ),
    "nl": _rules(
        "dhr mevr mw drs ir mr ing bijv d.w.z m.a.w o.a m.b.t i.v.m t.a.v nl incl excl resp vgl ong zgn ds "
        "mgr jhr geb overl o.l.v i.p.v t.o.v d.m.v h.m z.m n.a.v t.b.v bv afd gem prov",
        "enz e.d e.a n.v b.v jan feb mrt apr jun jul aug sept okt nov dec v.chr n.chr mln mld str",
        "blz hfdst afb tab par art dl",
        "de het een hij zij ze we wij ik jij u dit dat deze die er in op bij met na van voor door uit en of "
        "maar als toen dan ook sinds tijdens nadat hoewel omdat daarom daar hier nu later echter men wat "
        "wie hoe waar waarom alle veel sommige beide zijn haar hun mijn niet geen over onder tussen volgens",
    ),
    "fr": _rules(
        "m M mm mme mmes mlle mlles me mgr c.-à-d p.ex ex env éd trad gén cdt lt ste bd hab mss cie",
        "av janv févr avr juil sept oct nov déc s.a apr j.-c ap tél coll univ ets col cap",
        "n art chap t vol p pp s fol l al",
        "le la les un une des l d il elle ils elles on nous vous je tu ce cet cette ces c dans en sur à au "
        "aux par pour de du avec sans mais et ou si quand lorsque après avant depuis bien cependant "
        "toutefois ainsi donc alors puis son sa ses leur leurs mon notre que qui quoi pourquoi comment où "
        "tout tous toutes ici là plus ne selon",
    ),
    "es": _rules(
        "sr sra sres srta d D dª dña dra ud uds vd vds p.ej ej aprox av avda gral ee hno hnos mons lic ing "
        "arq fr sto sta cnel tte excmo excma ilmo ntra",
        "ee.uu uu s.a s.l a.c d.c feb abr ago sept oct nov dic cía tel dpto univ edo",
        "núm pág págs cap n s ss vol art fig t p",
        "el la los las un una unos unas él ella ellos ellas yo nosotros usted este esta estos estas ese esa "
        "eso esto en con por para de del al a desde hasta sin pero y o si cuando después antes aunque sin "
        "embargo además así entonces luego su sus mi nuestro que qué quién cómo dónde por todo todos todas "
        "aquí allí no se según son es era fue",
    ),
    "it": _rules(
        "sig sigg sig.ra sig.na dott dott.ssa avv ing arch on mons es p.es ecc.za prof.ssa rag geom magg "
        "card cfr c.d c.so v.le p.zza",
        "ecc s.p.a s.r.l gen feb mar apr mag giu lug ago set ott nov dic a.c d.c tel",
        "n pag pagg cap sec s art fig vol nn par comma p pp",
        "il lo la i gli le un uno una egli lui lei essi loro io noi questo questa questi quello quella in "
        "nel nella con per di del della da dal al alla a su tra fra ma e o se quando dopo prima anche però "
        "tuttavia così quindi poi suo sua che chi come dove perché tutto tutti qui non si secondo",
    ),
    "pt": _rules(
        "sr sra srs dra eng exmo exma p.ex ex aprox av D d.ª prof.ª profa cel maj mons sto sta trav lda",
        "s.a ltda e.u.a fev abr mai ago set out nov dez a.c d.c cia tel univ dept",
        "núm n pág págs cap séc sécs art fig vol t p pp fl",
        "o a os as um uma ele ela eles elas eu nós você este esta isto isso esse essa em no na nos nas com "
        "por para de do da desde até sem mas e ou se quando depois antes embora porém contudo além assim "
        "então seu sua que quem como onde todo todos aqui ali não segundo",
    ),
    "pl": _rules(
        "np m.in tzn tj tzw ul al pl os św ks bp abp kard gen płk ppłk mjr kpt por hab inż mgr lek ur zm "
        "wg ww zob por oprac tłum prof doc o pn płn płd wsch zach woj pow gm ang niem łac",
        "itd itp r w tys mln mld godz p.n.e n.e zł gr sp z.o.o jr tel ok im ob",
        "nr str s rys tab rozdz art ust pkt poz t",
        "w na do z od po przy dla i a ale oraz lecz jednak jest są był była było były nie to ten ta te tym "
        "on ona ono oni jego jej ich który która które gdy kiedy jeśli ponieważ dlatego potem następnie tam "
        "tu wtedy później jako także również po za pod nad przed między każdy wszystkie",
        ordinals=True,
    ),
    "ru": _rules(
        "т.е т.н ул пр просп пл пер наб кв корп стр обл р-н пос дер с г проф акад доц св тов гр ок напр "
        "см ср англ нем фр лат греч рус род ум ред пер изд гл чл ген полк кап бул респ ст",
        "г гг в вв т.д т.п др пр н.э руб коп тыс млн млрд мин ч сек см км кг гос тел им",
        "рис табл гл с стр п пп т кн вып ст № д кв",
        "в на с к по из от до для за при и а но или что как это этот эта эти он она оно они его её их мы вы "
        "я там тут здесь затем потом после когда если так также однако поэтому где кто который не был была "
        "было были во со об о у над под между все каждый после перед",
    ),
}
# languages that write ordinals with a full stop, and whose other words are not in the table
_ORDINALS = frozenset(
    {"cs", "da", "et", "fi", "hr", "hu", "is", "lv", "nb", "nn", "no", "sk", "sl", "sr", "tr"}
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
        speech=own.speech,
        ordinals=own.ordinals or primary in _ORDINALS,
    )
