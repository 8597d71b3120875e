"""`plan`: an estimate whose constants can be seen and replaced."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.commands import Run

PLAN = ("plan", "--format", "json", "--documents")


def planned(run: Run, *arguments: object) -> dict[str, Any]:
    done = run(*PLAN, *map(str, arguments))
    assert done.code == 0, done.err
    found: dict[str, Any] = done.json
    return found


def test_ten_times_the_documents_take_ten_times_as_much(run: Run) -> None:
    small, large = planned(run, "1e7"), planned(run, "1e8")
    assert large["quads"] == pytest.approx(10 * small["quads"])
    assert large["terabytes"]["database"] == pytest.approx(10 * small["terabytes"]["database"])
    assert large["usd"]["model"] == small["usd"]["model"] == 0


def test_fewer_days_need_more_machines(run: Run) -> None:
    assert planned(run, "1e8", "--days", 1)["machines"] > planned(run, "1e8", "--days", 30)["machines"]


def test_a_model_costs_what_its_price_is(run: Run) -> None:
    found = planned(run, "1000", "--tokens-per-document", 500, "--model", "openai/gpt-4.1-mini")
    tokens = found["model_tokens"]
    assert tokens["in"] == 500 * found["constants"]["model_in_tokens"]["value"]
    assert found["usd"]["model"] == pytest.approx((tokens["in"] * 0.4 + tokens["out"] * 1.6) / 1e6)


def test_what_gets_too_large_is_named_worst_first(run: Run) -> None:
    over = planned(run, "1e9", "--set", "disk_tb=0.001")["over"]
    assert next(iter(over)) == "one_disk"
    assert list(over.values()) == sorted(over.values(), reverse=True)
    done = run("plan", "--documents", "1e9", "--set", "disk_tb=0.001")
    assert "one disk: over disk_tb" in done.out
    assert "nothing is too large" in run("plan", "--documents", "10").out


def test_machines_of_your_own_cost_nothing(run: Run) -> None:
    assert planned(run, "1e6", "--set", "core_hour_usd=0")["usd"]["machines"] == 0


def test_each_constant_names_what_measured_it(run: Run) -> None:
    for constant in planned(run, "1")["constants"].values():
        assert constant["from"]
        assert constant["unit"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--model", "nobody/nothing"), "no price for nobody/nothing"),
        (("--set", "speed=1"), "no constant 'speed'"),
        (("--set", "cores=many"), "'--set cores': 'many' is not a number"),
        (("--set", "cores=0"), "'--set cores': 0.0 is not in the range"),
        (("--set", "load_quads_s=0"), "'--set load_quads_s': 0.0 is not in the range"),
        (("--set", "disk_tb=0"), "'--set disk_tb': 0.0 is not in the range"),
        (("--set", "facts=nan"), "'--set facts': 'nan' is not a number"),
        (("--documents", "nan"), "'--documents': 'nan' is not a number"),
        (("--documents", "inf"), "'--documents': inf is not in the range"),
        (("--documents", "-5"), "'--documents': -5.0 is not in the range"),
        (("--days", "nan"), "'--days': 'nan' is not a number"),
    ],
)
def test_what_cannot_be_computed_is_an_error(run: Run, arguments: tuple[str, ...], message: str) -> None:
    done = run(*PLAN, "1e6", *arguments)
    assert done.code == 2
    assert message in done.err
