"""The simulation of schedules, and what it must show of ours."""

import importlib
import json
import sys
from pathlib import Path

import numpy as np
import processes
import pytest

FOLDER = Path(__file__).parents[1] / "research" / "simulations"
PROGRAM = FOLDER / "schedule.py"
PAGES, DAYS, BUDGET, SEEDS = 300, 20, 60, (1, 2, 3, 4)


@pytest.fixture
def part(monkeypatch):
    """Import a file of the program, which is run by path."""
    monkeypatch.syspath_prepend(FOLDER)
    return importlib.import_module


def outcomes(part, seed, budget=BUDGET):
    """Return every policy's figures on the web of a seed, and the computed optimum."""
    web = part("changing").web(PAGES, DAYS, seed)
    schedule = part("schedule")
    meter = part("meter")
    rivals = part("rivals")
    figures = {
        name: meter.simulate(web, make(web, budget), schedule.moments(DAYS, budget, 8)).result()
        for name, make in rivals.RIVALS.items()
    }
    return figures, meter.best_possible(web, budget)


def test_ours_keeps_pages_fresher_than_uniform_and_nutch_and_wastes_less_than_uniform(part):
    ahead = {"uniform": [], "Nutch": [], "Nutch, no sync": []}
    for seed in SEEDS:
        figures, _ = outcomes(part, seed)
        ours = figures["ours"]
        for name, leads in ahead.items():
            assert ours["visits"] <= figures[name]["visits"]
            leads.append(ours["freshness"] - figures[name]["freshness"])
        assert ours["wasted"] < figures["uniform"]["wasted"] - 0.06
    for name, leads in ahead.items():
        assert min(leads) > 0.005, name
        assert np.mean(leads) > 0.01, name


def test_the_simulated_optimum_is_the_computed_one_and_nobody_beats_it(part):
    figures, computed = outcomes(part, 1, budget=150)
    optimum = figures.pop("optimum*")
    assert optimum["freshness"] == pytest.approx(computed, abs=0.015)
    assert all(policy["freshness"] < optimum["freshness"] for policy in figures.values())


def test_freshness_and_age_are_those_of_the_change_times(part):
    days = 4
    web = one_page(part, days, changes=[1.0, 1.5, 3.0])
    meter = part("meter").Meter(web)
    page = np.array([0])
    assert [bool(meter.visit(page, now)[0]) for now in (0.5, 2.0, 2.5)] == [False, True, False]
    meter.close()
    result = meter.result()
    # Stale from day 1 to 2, and from 3 to the end.
    assert result["freshness"] == pytest.approx(0.5)
    assert result["age_days"] == pytest.approx((0.5 + 0.5) / days)
    assert result["wasted"] == pytest.approx(2 / 3)
    assert result["daily_freshness"] == [1, 0, 1, 0]


def one_page(part, days, changes):
    nothing = np.zeros(1)
    return part("changing").Web(
        days,
        np.array([2]),
        nothing,
        nothing,
        nothing,
        nothing,
        nothing + 1,
        np.array([0, len(changes)]),
        np.array(changes),
        9.0,
    )


def test_the_changes_come_at_the_rates(part):
    changing = part("changing")
    web = changing.web(20_000, 40, 5)
    counts = np.diff(web.starts)
    steady = web.kind != changing.ARTICLE
    assert counts[steady].sum() == pytest.approx(web.first_rate[steady].sum() * 40, rel=0.02)
    new = ~steady & (web.born > 0) & (web.born < 30) & (web.first_rate > 0)
    fade = web.fading_days[new] * -np.expm1(-(40 - web.born[new]) / web.fading_days[new])
    expected = web.last_rate[new] * (40 - web.born[new]) + (web.first_rate - web.last_rate)[new] * fade
    assert counts[new].sum() == pytest.approx(expected.sum(), rel=0.03)
    assert counts[web.first_rate == 0].sum() == 0


def test_nutch_waits_longer_where_nothing_changed_and_less_where_something_did(part):
    web = one_page(part, 40, changes=[])
    page = np.array([0])
    for sync, unchanged in ((False, 1.4 * 2), (True, 4.0 - 0.3 * 4)):
        nutch = part("rivals").Nutch(web, 2.0, sync=sync)
        nutch.see(page, 4.0, np.array([False]))
        assert nutch._next[0] - 4.0 == pytest.approx(unchanged)
        nutch = part("rivals").Nutch(web, 2.0, sync=sync)
        nutch.see(page, 4.0, np.array([True]))
        assert nutch._next[0] - 4.0 == pytest.approx(0.8 * 2)


def test_crawls_spend_each_days_budget(part):
    moments = part("schedule").moments(3, 10, 4)
    assert [requests for _, requests in moments] == [2, 3, 2, 3, 2, 3, 2, 3, 2, 3, 2]
    assert moments[3][0] == 1.0


def test_the_program_prints_json_and_writes_table_and_plot(tmp_path):
    page, plot = tmp_path / "page.md", tmp_path / "plot.svg"
    page.write_text(
        "before\n<!-- made by tests/research/simulations/schedule.py -->\n<!-- end of what is made -->\nafter\n",
        "utf-8",
    )
    small = ["--pages", "60", "--days", "4", "--budget", "6", "12", "--json", "--page", str(page), "--plot", str(plot)]
    run = [processes.run([sys.executable, PROGRAM, *small], capture_output=True, check=True) for _ in range(2)]
    assert run[0].stdout == run[1].stdout
    result = json.loads(run[0].stdout)
    assert [row["budget"] for row in result["results"]] == [6, 12]
    assert 0 < result["results"][0]["policies"]["ours"]["freshness"] < 1
    text = page.read_text("utf-8")
    assert text.startswith("before")
    assert text.endswith("after\n")
    assert text.count("| ours |") == 2
    assert ">ours</text>" in plot.read_text("utf-8")


def test_the_program_refuses_an_empty_web():
    run = processes.run([sys.executable, PROGRAM, "--pages", "0"], capture_output=True, text=True, check=False)
    assert run.returncode == 2
    assert "from 1 on" in run.stderr
