"""Words of names that say what kind of thing is named, or nothing: folded, without accents."""

from __future__ import annotations

_LEGAL_FORMS = """
ab ag as asa bhd bv co company corp corporation cv eg ev gmbh inc incorporated kg kgaa limited llc llp ltd lp
mbh nv ohg oy oyj plc pte pty sa sarl sas se spa srl ug vof
"""
_HEADS = """
academy airport association bank bay bridge castle cathedral chapel church club college committee council
county court dam district factory farm festival foundation garden gardens hall harbor harbour hospital
hotel house island isle lake library lighthouse line lock mill mine mountain museum observatory office
palace park pier port press prison railway river road school society square station street team theatre
theater tower trust union university valley village works bahnhof brauerei brucke bruecke burg club dom
fluss gesellschaft hafen hof insel kirche kreis museum platz schule schloss see strasse turm
universitat universitaet verein werft werk werke brug eiland fabriek haven kasteel kerk meer rivier
straat toren universiteit vereniging
"""
_TITLES = """
admiral capt captain col colonel doctor dr gen general judge justice lieutenant lt major prof professor rev
reverend sergeant sir hauptmann kapitan kapitein kolonel oberst
"""
_ARTICLES = "the a an der die das ein eine de het een le la les el los il"

LEGAL_FORMS = frozenset(_LEGAL_FORMS.split())
"""Last words of a firm's name that say what kind of firm it is, punctuation removed."""

HEADS = frozenset(_HEADS.split())
"""Last words of a name that say what kind of thing it is: "Lintie Station" is not Lintie."""

TITLES = frozenset(_TITLES.split())
"""First words of a person's name that it may have or not, of whatever sex."""

ARTICLES = frozenset(_ARTICLES.split())
"""First words that a name may have or not."""
