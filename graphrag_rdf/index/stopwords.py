"""Words too common to search by, after case folding, by ISO 639-1 language."""

from __future__ import annotations

_LISTS = {
    "en": """a about after all also am an and any are as at be because been before being both but by
        can could d did do does doing during each for from further had has have having
        he her here hers him himself his how i if in into is it its itself ll m me more
        most my myself no nor not of off on once only or other our ours out over own re
        s same she should so some such t than that the their theirs them themselves then
        there these they this those through to too under until up ve very was we were
        what when where which while who whom whose why will with would you your yours""",
    "de": """aber alle als also am an auch auf aus bei bin bis bist da damit dann das dass dein dem
        den denn der des die dies diese diesem diesen dieser dieses doch dort du durch
        ein eine einem einen einer eines er es euer für hab habe haben hat hatte hatten
        hier hin ich ihm ihn ihr ihre ihrem ihren ihrer im in ist ja jede jedem jeden
        jeder jedes kein keine keinem keinen keiner können man mein mit nach nicht noch
        nur ob oder ohne sehr sein seine seinem seinen seiner sich sie sind so über um
        und uns unser unter vom von vor war waren warum was weil welche welchem welchen
        welcher welches wenn wer werden wie wir wird wo worden wurde wurden zu zum zur
        zwischen""",
    "fr": """a à ai ainsi après au aucun aussi autre aux avait avant avec avoir c ce ceci cela ces
        cet cette ceux chaque chez comme comment d dans de depuis des donc dont du elle
        elles en encore entre est et était étaient être eu eux fait il ils j je l la
        là le les leur leurs lors lorsque lui m ma mais me même mes moi mon n ne nos
        notre nous on ont ou où par pas pendant plus pour pourquoi qu quand que quel
        quelle quelles quels qui s sa sans se sera ses si son sont sous sur t ta te tes
        toi ton tous tout toute toutes tu un une vos votre vous y""",
    "es": """a al algo ante antes aquel aquella así aún aunque cada como cómo con contra cual cuál
        cuando cuándo de del desde donde dónde durante e el él ella ellas ellos en entre
        era eran es esa ese eso esta está están este esto estos fue fueron ha había han
        hasta hay la las le les lo los más me mi mis mientras muy nada ni no nos
        nosotros o otra otro para pero por porque pues qué que quien quién se sea según
        ser si sí sin sino sobre son su sus también te tiene tu tus un una unas uno unos
        y ya yo""",
    "nl": """aan al als altijd andere ben bij daar dan dat de der deze die dit doch doen door dus een
        en er ge geen had heb hebben heeft hem het hier hij hoe hun iemand iets ik in is
        ja je kan kon kunnen maar me meer men met mij mijn moet na naar niet niets nog
        nu of om omdat onder ons ook op over reeds te tegen toch toen tot tussen u uit
        uw van veel voor waar waarom wanneer want waren was wat we wel welk welke werd
        wie wij wil worden wordt zal ze zelf zich zij zijn zo zonder zou""",
    "it": """a ad agli ai al alla alle allo anche avere aveva c che chi ci come con contro cosa cui d
        da dagli dai dal dalla dalle dallo dei degli del dell della delle dello di dopo
        dove e è ed era erano essere fa fra fu gli ha hanno ho i il in io l la le lei li
        lo loro lui ma mi mia mio ne negli nei nel nella nelle nello noi non nostro o
        per perché però più qual quale quali quando quanto quella quelle quelli quello
        questa queste questi questo s se si sia sono sta stata stato su sua sue sugli
        sui sul sulla sulle sullo suo suoi ti tra tu tutti tutto un una uno v vi voi""",
    "pt": """a à ao aos aquela aquele aquilo as às até com como da das de dela dele deles depois do
        dos e é ela elas ele eles em entre era eram essa esse esta está estão este eu
        foi foram há isso isto já lhe lhes mais mas me mesmo meu meus minha muito na não
        nas nem no nos nós nossa nosso num numa o onde os ou para pela pelas pelo pelos
        por porque porquê pois qual quando quanto que quem são se sem ser seu seus só
        sob sobre sua suas também te tem têm teu tu tua um uma umas uns você vos""",
}

STOP_WORDS: dict[str, frozenset[str]] = {
    language: frozenset(words.split()) for language, words in _LISTS.items()
}
