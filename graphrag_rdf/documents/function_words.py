"""Words that texts in a language use, whatever they are about. Tables, code and lists of names use few."""

from __future__ import annotations

from collections.abc import Mapping

FUNCTION_WORDS: Mapping[str, frozenset[str]] = {
    language: frozenset(words.split())
    for language, words in {
        "af": "die het van nie en is was wat vir met word ook deur hulle ons sy aan om se",
        "az": "və bir bu da də üçün ilə ki nə kimi olan daha çox deyil necə harada",
        "bg": "на да се и не за от по със как къде мен че са това той тя към при или",
        "ca": "el la els les i amb per que és una dels del com on està més aquest són però va",
        "cs": "a se na je že to v s z do jak kde si by jsou pro ale jako nebo ve podle také byl",
        "cy": "y yr yn a i o ac ar mae wedi gan am sut ble fod oedd eu ei",
        "da": "og i at det en er til på som med for af den hvordan hvor ikke jeg har var vi blev fra",
        "de": "der die das und ist ein eine zu den dem des mit für von auf nicht wie wo ich sie wir im hat "
        "sich auch bei wird nach aus oder an als es werden wurde wurden sind zum zur",
        "en": "the of and to that it with for not from is was are in a an by this how where my i you we on "
        "at be have or as were has which their its should does do what who",
        "es": "el la los las de y que en un una es por con para del se cómo dónde mi su al lo no más como "
        "fue son sus entre",
        "et": "ja on ei et see oma kui kuidas kus mis ka oli või seda mille tema aga",
        "eu": "eta da bat ez du dira hau zen non nola baina ere zuen dute",
        "fi": "ja on ei että se oli miten missä kun myös hän ovat tämä mutta joka sekä",
        "fr": "le la les de des et un une est à du que qui dans pour sur pas comment où mon je nous au aux "
        "en par il elle avec ce sont ou ses son plus été",
        "ga": "agus an na is ar tá bhí le go i a sé conas cá ag do",
        "gl": "o a os as e de que un unha é en con para do da como onde non foi polo pola",
        "hr": "i je u na se da za od su s kako gdje ne koji što to o kao ili bio",
        "hu": "a az és hogy nem van egy is volt hogyan hol ez meg de mint vagy azt csak",
        "id": "yang dan di ke dari untuk dengan ini itu tidak pada adalah bagaimana mana saya dalam kita",
        "is": "og í að er á það sem en við um til hvernig hvar ekki ég var með fyrir",
        "it": "il la lo i gli le di e che un una è per con del della nel come dove mio non si da sono "
        "più al alla dei delle anche ha ho",
        "la": "est sunt esse erat quae quod qui cum sed ut atque enim etiam autem neque ab",
        "lt": "ir yra kad su į iš kaip kur ne buvo tai bet už per arba savo dėl",
        "lv": "un ir ka ar uz no kā kur nav bija tas bet par vai pie savu",
        "ms": "yang dan di ke dari untuk dengan ini itu tidak pada adalah bagaimana mana saya dalam kita",
        "mt": "u li ta huwa hija minn għal kif fejn kien dan lil dik",
        "nl": "de het een en van is op te dat die in met voor niet hoe waar je ik we mijn aan zijn er naar "
        "ook bij door om werd wordt uit als of was",
        "no": "og i at det en er til på som med for av den hvordan hvor ikke jeg har var vi ble fra",
        "pl": "i w na z się nie do jest że jak gdzie to o za od po dla przez są był czy oraz mój",
        "pt": "o a os as e de que em um uma é por com para do da no na como onde meu não se ao foi mais são "
        "dos das pela pelo",
        "ro": "și în de la cu pe nu este un o care din pentru că cum unde sau mai a fost sunt prin",
        "ru": "и в на не что с как где по из за от к у о мой я это для он она был или при его мы нам",
        "sk": "a sa na je že to v s z do ako kde si by sú pre ale alebo vo podľa tiež bol",
        "sl": "in je v na se da za z so kako kje ne ki to o kot ali bil po",
        "sq": "dhe në të e një për me që nuk është si ku nga ka janë por ky",
        "sr": "и је у на се да за од су са како где не који што то",
        "sv": "och i att det en ett är till på som med för av den så hur var inte jag vi har du från om vid",
        "sw": "na ya wa kwa ni katika za la cha jinsi wapi si kama hii huyo",
        "tl": "ang ng sa mga na ay at ko ito paano saan hindi para kung siya",
        "tr": "ve bir bu da de için ile ne nasıl nerede çok daha gibi olarak olan artık ben değil var",
        "uk": "і в на не що з як де по із за від до у о мій я це для він вона був або та його",
        "vi": "và của là có không được trong một cho với các này để những ở như đã tôi",
    }.items()
}
