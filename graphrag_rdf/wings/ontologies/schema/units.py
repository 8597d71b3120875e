"""Units of values: which unit a text names, and whether two names are of one unit, or of one dimension.

An ontology names the unit of a property by an IRI (QUDT), a code (UN/CEFACT, schema:unitCode) or a word. The
table has the names and codes of common units; others are compared by their names.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

Fit: TypeAlias = Literal["same", "dimension", "other"]
"""The unit itself, another one of its dimension, or one of another or unknown dimension."""

_QUANTITY = re.compile(r"\s*([+-]?\d[\d.,\u00a0\u202f]*)\s*(\D.*?)\s*\Z", re.DOTALL)
_GROUPED = re.compile(r"[+-]?\d{1,3}(?:,\d{3})+(?:\.\d+)?\Z")
_SEPARATED = re.compile(r"[+-]?\d{1,3}(?:[\u00a0\u202f]\d{3})+(?:\.\d+)?\Z")
_PLAIN = re.compile(r"[+-]?\d+(?:\.\d+)?\Z")

_UNITS: Mapping[str, Mapping[str, str]] = {
    "length": {
        "metre": "m|M|MTR|meter|metres|meters|metern|米",
        "kilometre": "km|KiloM|KMT|kilometer|kilometres|kilometers|kilometern|公里|千米",
        "centimetre": "cm|CentiM|CMT|centimeter|centimetres|centimeters|zentimeter|厘米",
        "millimetre": "mm|MilliM|MMT|millimeter|millimetres|millimeters|毫米",
        "foot": "ft|FT|FOT|feet|voet|fuß",
        "inch": "in|IN|INH|inches|zoll|duim",
        "mile": "mi|MI|SMI|miles|meile|meilen|mijl|英里",
        "nautical mile": "nmi|MI_N|NMI|nautical miles|seemeile|seemeilen|zeemijl",
        "yard": "yd|YD|YRD|yards",
    },
    "mass": {
        "kilogram": "kg|KiloGM|KGM|kilograms|kilogramme|kilogramm|公斤|千克",
        "gram": "g|GM|GRM|grams|gramm|克",
        "tonne": "t|TONNE|TON_Metric|TNE|tonnes|tonnen|metric ton|metric tons|吨",
        "ton": "tons|TON|TON_SHORT|TON_LONG|LTN|STN|long ton|long tons|short ton|short tons",
        "pound": "lb|lbs|LB|LBR|pounds|pfund",
        "ounce": "oz|OZ|ONZ|ounces",
    },
    "time": {
        "second": "s|SEC|sec|seconds|sekunde|sekunden|seconde|seconden|秒",
        "minute": "min|MIN|minutes|minuten|minuut|分钟",
        "hour": "h|HR|HUR|hours|stunde|stunden|uur|uren|小时",
        "day": "d|DAY|days|tag|tage|dag|dagen|天",
        "week": "WK|WEE|weeks|woche|wochen|weken|周",
        "month": "MO|MON|months|monat|monate|maand|maanden|月",
        "year": "YR|ANN|years|jahr|jahre|jaar|年",
    },
    "temperature": {
        "degree celsius": "°C|DEG_C|CEL|celsius|degrees celsius|grad celsius|摄氏度",
        "degree fahrenheit": "°F|DEG_F|FAH|fahrenheit|degrees fahrenheit",
        "kelvin": "K|KEL|kelvins",
    },
    "speed": {
        "knot": "kn|kt|KN|KNT|knots|knoten|knopen|节",
        "kilometre per hour": "km/h|KiloM-PER-HR|KMH|kph|kilometres per hour|kilometers per hour",
        "mile per hour": "mph|MI-PER-HR|HM|miles per hour",
        "metre per second": "m/s|M-PER-SEC|MTS|metres per second|meters per second",
    },
    "area": {
        "square metre": "m²|m2|M2|MTK|square metres|square meter|square meters|quadratmeter|平方米",
        "square kilometre": "km²|km2|KiloM2|KMK|square kilometres|square kilometers|平方公里",
        "hectare": "ha|HA|HAR|hectares|hektar|公顷",
        "acre": "ac|AC|ACR|acres",
        "square mile": "sq mi|MI2|MIK|square miles",
    },
    "volume": {
        "litre": "l|L|LTR|liter|litres|liters|升",
        "cubic metre": "m³|m3|M3|MTQ|cubic metres|cubic meter|cubic meters|kubikmeter|立方米",
        "barrel": "bbl|BBL|BLL|barrels|fass|fässer",
        "gallon": "gal|GAL_US|GLL|gallons",
    },
    "power": {
        "watt": "W|WTT|watts",
        "kilowatt": "kW|KiloW|KWT|kilowatts",
        "megawatt": "MW|MegaW|MAW|megawatts",
        "horsepower": "hp|HP|BHP|horse power|PS|pferdestärken",
    },
    "money": {
        "US dollar": "USD|$|US$|dollar|dollars|us dollars|美元",
        "euro": "EUR|€|euros|欧元",
        "pound sterling": "GBP|£|pounds sterling",
        "yuan": "CNY|¥|RMB|renminbi|人民币|元",
        "yen": "JPY|japanese yen|日元",
        "Swiss franc": "CHF|swiss francs|franken",
    },
    "ratio": {"per cent": "%|PERCENT|P1|percent|prozent|procent|percentage"},
}  # fmt: skip
"""Dimension → unit → its symbols, codes and names in English, German, Dutch and Chinese."""

_EXACT: dict[str, tuple[str, str]] = {}
_FOLDED: dict[str, tuple[str, str]] = {}
for _dimension, _units in _UNITS.items():
    for _unit, _names in _units.items():
        for _name in (_unit, *_names.split("|")):
            _EXACT.setdefault(_name, (_unit, _dimension))
            if len(_name) > 2:  # "Mm" is no "mm", and "M" no "m"
                _FOLDED.setdefault(_name.casefold(), (_unit, _dimension))


@dataclass(frozen=True, slots=True)
class Unit:
    """A unit.

    Attributes:
        name: in English; of an unknown unit, as it is written.
        dimension: None of an unknown unit.
    """

    name: str
    dimension: str | None


def unit_of(name: str) -> Unit:
    """The unit with a name, symbol or code."""
    name = " ".join(name.split()).rstrip(".")
    unit = _EXACT.get(name) or _FOLDED.get(name.casefold())
    return Unit(*unit) if unit else Unit(name.casefold(), None)


def read_quantity(text: str) -> tuple[str, str] | None:
    """Number and unit of a text, such as "1,200 tonnes"; None for other texts."""
    match = _QUANTITY.match(text)
    number = number_of(match[1]) if match else None
    return (number, match[2]) if match and number else None


def number_of(text: str) -> str | None:
    """A number without separators of thousands; None for other texts."""
    if _GROUPED.match(text):
        return text.replace(",", "")
    if _SEPARATED.match(text):
        return re.sub(r"[\u00a0\u202f]", "", text)
    return text if _PLAIN.match(text) else None


def compare(unit_name: str, declared: Iterable[str]) -> Fit:
    """Whether a unit is one of the declared ones, or of their dimension.

    Args:
        declared: their names, codes and ends of IRIs.
    """
    unit, wanted = unit_of(unit_name), [unit_of(name) for name in declared]
    if unit in wanted:
        return "same"
    alike = unit.dimension is not None and any(unit.dimension == each.dimension for each in wanted)
    return "dimension" if alike else "other"
