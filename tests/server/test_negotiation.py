"""Accept headers (RFC 9110 §12.5.1) and Content-Type."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphrag_rdf.server.http.negotiation import (
    DATASETS,
    GRAPHS,
    RESULTS,
    content_type,
    negotiate,
    parse_accept,
    takes_gzip,
)

RANGES = st.sampled_from(
    [name for f in (*RESULTS, *GRAPHS) for name in f.accepted] + ["*/*", "text/*", "a/b"]
)


@pytest.mark.parametrize(
    ("header", "expected"),
    [
        (None, "text/turtle"),
        ("", "text/turtle"),
        ("*", "text/turtle"),
        ("text/plain", "application/n-triples"),
        ("application/json", "application/ld+json"),
        ("text/*;q=0.5, application/rdf+xml;q=0.4", "text/turtle"),
        ("application/rdf+xml;q=0.5;level=1, */*;q=0.1", "application/rdf+xml"),
        ("text/turtle;q=0, */*;q=0.2", "application/n-triples"),
        ("text/turtle;q=2, application/trig", "application/trig"),
        ('text/turtle;a="b,c;q=0", application/trig;q=0.5', "text/turtle"),
        ("nonsense, application/trig", "application/trig"),
        ("image/png", None),
    ],
)
def test_the_favourite_is_found(header: str | None, expected: str | None) -> None:
    found = negotiate(header, GRAPHS)
    assert (found.format.media_type if found else None) == expected


def test_versions_are_kept_or_refused() -> None:
    old = negotiate("text/turtle;version=1.1", GRAPHS)
    assert old is not None
    assert old.dialect == "classic"
    assert old.content_type == "text/turtle; charset=utf-8; version=1.1"
    new = negotiate('application/trig; version="1.2"', DATASETS)
    assert new is not None
    assert new.dialect == "rdf12"
    assert negotiate("text/turtle;version=3", GRAPHS) is None
    json_ld = negotiate("application/ld+json", GRAPHS)
    assert json_ld is not None
    assert json_ld.dialect == "classic"


@given(st.text(max_size=200))
def test_no_header_breaks_it(header: str) -> None:
    assert all(0 <= media_range.quality <= 1 for media_range in parse_accept(header))
    negotiate(header, RESULTS)
    content_type(header)


@given(st.lists(st.tuples(RANGES, st.integers(0, 1000)), max_size=8))
def test_nothing_is_chosen_that_was_refused_or_never_named(ranges: list[tuple[str, int]]) -> None:
    header = ", ".join(f"{name};q={q / 1000:.3f}" for name, q in ranges)
    found = negotiate(header, RESULTS)
    if found is not None and ranges:
        best = max(
            (
                (r.specificity(name), r.quality)
                for r in parse_accept(header)
                for name in found.format.accepted
                if r.specificity(name) is not None
            ),
            default=None,
        )
        assert best is not None
        assert best[1] > 0


def test_content_types() -> None:
    assert content_type('Text/Turtle; Charset="UTF-8"') == ("text/turtle", {"charset": "UTF-8"})
    assert content_type(None) == ("", {})


@pytest.mark.parametrize(
    ("header", "expected"),
    [
        ("gzip", True),
        ("br, GZIP;q=0.5", True),
        ("x-gzip", True),
        ("gzip;q=0", False),
        ("gzip; q=0.000, br", False),
        ("gzip;q=nonsense", False),
        ("br, deflate", False),
        ("", False),
    ],
)
def test_gzip_is_for_who_takes_it(header: str, expected: bool) -> None:
    assert takes_gzip(header) is expected
