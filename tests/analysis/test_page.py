"""The page in a real browser: it loads quietly, shows the right numbers and obeys mouse and keyboard."""

from __future__ import annotations

import re
import shutil
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pytest
from playwright.sync_api import expect, sync_playwright
from scipy import stats

import monmdp
from monmdp.agents import Naive
from monmdp.paper.claims import check_claims
from monmdp.report import Flagship, build_page
from monmdp.study.results import Results
from monmdp.study.snapshots import take_snapshots

FLAGSHIPS = (
    Flagship("Walk", "Button", "A walk with a button.", ("Directed", "Naive"), steps=600),
    Flagship("Loop", "Ask", "A loop with questions.", ("Directed",), steps=600),
)
NAMES = ("chromium", "chromium-browser", "google-chrome")
DESKTOP, PHONE = {"width": 1440, "height": 900}, {"width": 390, "height": 844}
#: Names that would run if they were ever taken for markup.
HOSTILE = "</script><script>window.broken = 1</script>"
HOSTILE_AGENT = "\"><img src=x onerror='window.broken = 2'> & {{data}}"


@dataclass(frozen=True)
class Hall(monmdp.Environment):
    """Three states without places; the right end pays."""

    label: str = ""
    states = ("left", "middle", "right")
    actions = ("LEFT", "RIGHT")
    default_limit = 20

    def outcomes(self, state, action):
        place = self.states.index(state) + (1 if action == "RIGHT" else -1)
        yield monmdp.Step(self.states[min(max(place, 0), 2)], float(place == 3), terminated=place == 3)


@dataclass(frozen=True, kw_only=True)
class Labelled(Naive):
    """Naive under another name."""

    label: str = ""


class Opened(NamedTuple):
    """A page, and what it said or asked for."""

    tab: object
    heard: list[str]
    asked: list[str]


@pytest.fixture(scope="module")
def browser():
    found = next(filter(None, map(shutil.which, NAMES)), None)
    assert found, f"The page's tests need one of {', '.join(NAMES)} on the PATH; `make test` installs it."
    with sync_playwright() as driver:
        chromium = driver.chromium.launch(executable_path=found, args=["--no-sandbox"])
        yield chromium
        chromium.close()


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("results")
    agents = ["Directed", "Optimism", "Naive"]
    monmdp.run_sweep([monmdp.Sweep(["Loop", "Walk"], ["Full", "Ask"], agents, seeds=6, steps=1_500, points=50)], folder)
    return folder


@pytest.fixture(scope="module")
def page_file(folder):
    file = folder / "report.html"
    file.write_text(build_page(Results(folder), FLAGSHIPS), encoding="utf-8")
    return file


def listening(browser, size, **options):
    """A new tab that notes what it hears."""
    tab = browser.new_context(viewport=size, reduced_motion="reduce", **options).new_page()
    tab.set_default_timeout(10_000)
    opened = Opened(tab, [], [])
    tab.on("console", lambda message: opened.heard.append(message.text))
    tab.on("pageerror", lambda error: opened.heard.append(str(error)))
    tab.on("dialog", lambda dialog: (opened.heard.append(dialog.message), dialog.dismiss()))
    tab.on("request", lambda request: opened.asked.append(request.url))
    return opened


@pytest.fixture
def open_page(browser):
    """Opens a file in a tab of its own; closes it at the end."""
    tabs = []

    def open_(file, size=DESKTOP, **options):
        opened = listening(browser, size, **options)
        tabs.append(opened.tab)
        opened.tab.goto(file.as_uri())
        return opened

    yield open_
    for tab in tabs:
        tab.context.close()


@pytest.fixture(scope="module")
def desktop(browser):
    return listening(browser, DESKTOP)


@pytest.fixture
def tab(desktop, page_file):
    """The page, loaded afresh into the tab that these tests share."""
    desktop.heard.clear()
    desktop.asked.clear()
    desktop.tab.mouse.move(0, 0)
    desktop.tab.goto(page_file.as_uri())
    yield desktop.tab
    assert desktop.heard == []
    assert desktop.asked == [page_file.as_uri()]


def share(tab, problem, agent):
    return tab.get_by_role("button", name=f"{agent} in {problem}:")


def choose(tab, section, text):
    tab.locator(f"#{section} .switch label").filter(has_text=re.compile(f"^{re.escape(text)}$")).click()


def number(text):
    """The first number of a text."""
    return float(re.search(r"−?[\d,.]*\d", text)[0].replace("−", "-").replace(",", ""))


def tip(tab):
    """Step under the cursor, and agent → (value, half width)."""
    rows = tab.locator("#cell .tip div").all()
    values = {row.locator("span").inner_text(): row.locator("b").inner_text() for row in rows}
    told = {name: tuple(map(number, value.split(" ± "))) for name, value in values.items()}
    return int(number(tab.locator("#cell .tip p").inner_text())), told


def hover(tab, part=0.6):
    box = tab.locator("#cell .plot svg").bounding_box()
    tab.mouse.move(box["x"] + box["width"] * part, box["y"] + 100)


def curve_names(tab):
    return {path.get_attribute("data-name") for path in tab.locator("#cell path.curve").all()}


def slider(tab):
    return tab.get_by_role("slider", name="Moment of training")


def moment(tab):
    return int(slider(tab).input_value())


def test_it_opens_quietly_and_fast(open_page, page_file):
    opened = open_page(page_file)
    took = []
    for _ in range(3):
        opened.tab.reload()
        took.append(opened.tab.evaluate("performance.getEntriesByType('navigation')[0].duration"))
    assert opened.heard == []
    assert set(opened.asked) == {page_file.as_uri()}
    assert min(took) < 2_000


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_follows_the_colour_scheme(open_page, page_file, scheme):
    tab = open_page(page_file, color_scheme=scheme).tab
    colour = tab.evaluate("getComputedStyle(document.body).backgroundColor")
    bright = sum(map(int, re.findall(r"\d+", colour))) / 3 > 128
    assert bright == (scheme == "light")


def test_the_overview_tells_what_the_parquet_files_say(tab, folder):
    tables = monmdp.load(folder, kind="tables").to_pandas()
    cells = tables.groupby(["environment", "monitor", "agent"], observed=True)["solved"]
    assert tab.locator(".share").count() == len(cells) == 12
    for (environment, monitor, agent), solved in cells:
        button = share(tab, f"{environment} + {monitor}", agent)
        assert int(button.inner_text()) == round(100 * solved.mean())
        spread = stats.binomtest(int(solved.sum()), len(solved)).proportion_ci(0.95, "wilson")
        outcome = f"solved {solved.sum()} of 6 seeds ({solved.mean():.0%})"
        told = f"{outcome}, 95% interval {spread.low:.0%} to {spread.high:.0%}"
        assert button.get_attribute("title").endswith(told)


def test_clicking_a_cell_shows_its_numbers(tab, folder):
    tables = monmdp.load(folder, kind="tables").to_pandas()
    curves = monmdp.load(folder).to_pandas()
    for environment, monitor, agent in (
        ("Walk", "Ask", "Directed"),
        ("Loop", "Full", "Naive"),
        ("Walk", "Ask", "Optimism"),
    ):
        share(tab, f"{environment} + {monitor}", agent).click()
        assert tab.locator("#cell-title").inner_text() == f"{environment} + {monitor}"
        assert f"{agent} · 6 seeds · 1,500 training steps" in tab.locator("#cell .caption").first.inner_text()
        mine = tables.query("environment == @environment and monitor == @monitor and agent == @agent")
        runs = curves.query("environment == @environment and monitor == @monitor and agent == @agent")
        figure = {
            dd.get_attribute("data-figure"): dd.locator("..").inner_text().split("\n")[1:]
            for dd in tab.locator("#cell dd[data-figure]").all()
        }
        final, observed = mine["final_return"], runs[runs["step"] == 1_500]["observed"]
        assert figure["solved"][0] == f"{mine['solved'].sum()} of 6"
        assert [number(part) for part in figure["final"][0].split(" ± ")] == pytest.approx(
            [final.mean(), stats.t.ppf(0.975, 5) * stats.sem(final)], abs=6e-5
        )
        assert number(figure["final"][1]) == pytest.approx(mine["optimal_return"].iloc[0], abs=6e-5)
        assert number(figure["observed"][0]) == pytest.approx(observed.mean(), abs=0.6)
        assert figure["until"][0] == until_solved(runs, mine["optimal_return"].iloc[0])
        assert share(tab, f"{environment} + {monitor}", agent).get_attribute("aria-pressed") == "true"
        assert tab.locator(".share[aria-pressed=true]").count() == 1
        assert agent in tab.locator("#cell tr[aria-current=true]").inner_text()


def until_solved(runs, optimum):
    """The median over seeds of the first step after which the return stays optimal, as the page words it."""
    first = []
    for _, run in runs.groupby("seed"):
        below = run[run["return"] < optimum - 1e-6]["step"]
        after = run[run["step"] > (below.max() if len(below) else -1)]["step"]
        first.append(after.min() if len(after) else np.inf)
    middle = np.median(first)
    return f"{middle:,.0f}" if np.isfinite(middle) else "never"


def test_hovering_shows_all_agents_at_the_step(tab, folder):
    share(tab, "Walk + Ask", "Directed").click()
    hover(tab)
    step, told = tip(tab)
    runs = monmdp.load(folder).to_pandas().query(f"environment == 'Walk' and monitor == 'Ask' and step == {step}")
    assert 600 < step < 1_200
    assert set(told) == {"Directed", "Optimism", "Naive"}
    for agent, (value, half) in told.items():
        returns = runs[runs["agent"] == agent]["return"]
        assert value == pytest.approx(returns.mean(), abs=6e-5)
        assert half == pytest.approx(stats.t.ppf(0.975, 5) * stats.sem(returns), abs=1.2e-4)
    tab.mouse.move(5, 5)
    assert tab.locator("#cell .tip").is_hidden()


@pytest.mark.parametrize(
    ("switch", "column"), [("Rewards seen", "observed"), ("Pairs", "visited"), ("Exploring", "explored"), ("β", "beta")]
)
def test_other_quantities_can_be_shown(tab, folder, switch, column):
    share(tab, "Loop + Full", "Directed").click()
    choose(tab, "cell", switch)
    hover(tab, 0.9)
    step, told = tip(tab)
    runs = monmdp.load(folder).to_pandas().query(f"environment == 'Loop' and monitor == 'Full' and step == {step}")
    means = runs.groupby("agent", observed=True)[column].mean().dropna()
    assert set(told) == set(means.index)
    for agent, (value, *_) in told.items():
        percent = 100 if column == "explored" else 1
        assert value == pytest.approx(means[agent] * percent, rel=0.006, abs=0.06)
    assert tab.locator("#range-switch input").first.is_disabled()
    thresholds = tab.locator("#cell .level-text", has_text="explores above 0.01").count()
    assert thresholds == (column == "beta")


def test_agents_are_switched_off_and_on(tab):
    share(tab, "Walk + Full", "Naive").click()
    everyone = {"Directed", "Optimism", "Naive"}
    assert curve_names(tab) == everyone
    chip = tab.locator("#cell .chip", has_text="Optimism")
    chip.click()
    assert chip.get_attribute("aria-pressed") == "false"
    assert curve_names(tab) == everyone - {"Optimism"}
    hover(tab)
    assert set(tip(tab)[1]) == everyone - {"Optimism"}
    share(tab, "Loop + Full", "Naive").click()
    assert curve_names(tab) == everyone - {"Optimism"}  # stays off from problem to problem
    for name in ("Directed", "Naive"):
        tab.locator("#cell .chip", has_text=name).click()
    assert "switched off" in tab.locator("#cell .empty").inner_text()
    tab.locator("#cell .chip", has_text="Optimism").click()
    assert curve_names(tab) == {"Optimism"}


def test_axes_can_be_logarithmic_and_zoomed(tab, folder):
    share(tab, "Walk + Ask", "Directed").click()
    optimum = monmdp.load(folder, kind="tables").to_pandas().query("environment == 'Walk'")["optimal_return"].iloc[0]
    line = tab.locator("#cell .level-text")
    assert number(line.text_content()) == pytest.approx(optimum, abs=6e-5)
    before = tab.locator("#cell path.curve").first.get_attribute("d")
    choose(tab, "cell", "Near optimum")
    ticks = [number(text) for text in tab.locator("#cell .tick text[text-anchor=end]").all_text_contents()]
    assert min(ticks) >= 0.79 * optimum
    assert max(ticks) <= 1.06 * optimum
    choose(tab, "cell", "Log")
    steps = [number(text) for text in tab.locator("#cell .tick text[text-anchor=middle]").all_text_contents()]
    assert np.allclose(np.log10(steps[0] * 10), np.log10(steps[1])) or steps[1] / steps[0] in (2, 2.5)
    assert tab.locator("#cell path.curve").first.get_attribute("d") != before
    choose(tab, "cell", "Linear")
    choose(tab, "cell", "Full")
    assert tab.locator("#cell path.curve").first.get_attribute("d") == before


def focused(tab):
    return tab.evaluate("document.activeElement.getAttribute('aria-label')")


def test_the_overview_obeys_the_keyboard(tab):
    share(tab, "Loop + Full", "Directed").focus()
    for key, label in [
        ("ArrowRight", "Optimism in Loop + Full"),
        ("ArrowDown", "Optimism in Loop + Ask"),
        ("ArrowLeft", "Directed in Loop + Ask"),
        ("ArrowLeft", "Curves of Loop + Ask"),
    ]:
        tab.keyboard.press(key)
        assert focused(tab).startswith(label)
    tab.keyboard.press("Enter")
    assert tab.locator("#cell-title").inner_text() == "Loop + Ask"
    tab.keyboard.press("ArrowRight")
    tab.keyboard.press("ArrowRight")
    tab.keyboard.press("Enter")
    assert "Optimism" in tab.locator("#cell .caption").first.inner_text()
    outline = tab.evaluate("getComputedStyle(document.activeElement).outlineStyle")
    assert outline == "solid"


def test_the_overview_is_one_stop_of_the_tab_key(tab):
    stops = tab.locator("#overview-cards [tabindex='0']")
    assert stops.count() == 1
    stops.focus()
    tab.keyboard.press("Tab")
    assert tab.evaluate("document.activeElement.closest('#cell') !== null")


def test_the_chart_obeys_the_keyboard(tab):
    tab.locator("#cell .plot svg").focus()
    tab.keyboard.press("Home")
    assert tip(tab)[0] == 0
    tab.keyboard.press("ArrowRight")
    assert tip(tab)[0] == 30
    tab.keyboard.press("End")
    assert tip(tab)[0] == 1_500
    tab.keyboard.press("Escape")
    assert tab.locator("#cell .tip").is_hidden()


def test_claims_are_listed_with_their_answers(tab, folder):
    claims = check_claims(Results(folder))
    rows = tab.locator("tr.claim").all()
    assert [row.locator("th").first.inner_text() for row in rows] == [claim.claim for claim in claims]
    assert [row.locator("td[data-label=Verdict]").inner_text()[1:].strip() for row in rows] == [
        claim.verdict for claim in claims
    ]
    many = next(i for i, claim in enumerate(claims) if len(claim.details) > 1)
    rows[many].locator("summary").click()
    expect(rows[many].locator("details tbody tr")).to_have_count(len(claims[many].details))


@pytest.fixture(scope="module")
def walk():
    return take_snapshots(monmdp.make("Walk", "Button"), "Directed", steps=600)


def test_the_slider_shows_the_run_as_it_was(tab, walk):
    for place in (0, 40, 120):
        slider(tab).fill(str(place))
        assert f"{walk.steps[place]} of 600 steps" in tab.locator(".step").inner_text()
        tab.locator("[data-state='2'][data-monitor='1']").hover()
        told = tab.locator(".readout").inner_text()
        assert f"{walk.visits[place, 2 * 2 + 1].sum()} visit" in told
        facts = tab.locator(".facts").inner_text()
        assert f"{walk.observed[place]}, of {(walk.reward_counts[place] > 0).sum()} of 35 actions" in facts
        here, goal = walk.states[place], walk.goals[place] // 5
        for mark, state in ((".walker", here), (".goal", goal)):
            cell = tab.locator(f".world figure:visible [data-state]:has({mark})")
            assert (cell.get_attribute("data-state"), cell.get_attribute("data-monitor")) == (
                str(state // 2), str(state % 2),
            )  # fmt: skip


def test_arrows_are_the_greedy_policy(tab, walk):
    slider(tab).fill("120")
    turns = {"LEFT": "rotate(180)", "DOWN": "rotate(90)", "RIGHT": "rotate(0)", "UP": "rotate(270)"}
    for state in range(14):
        cell = tab.locator(f".world figure:visible [data-state='{state // 2}'][data-monitor='{state % 2}']")
        q = walk.q[120, state]
        best = [action for i, action in enumerate(turns | {"STAY": ""}) if q[i] >= q.max() - 1e-9]
        drawn = [arrow.get_attribute("transform") for arrow in cell.locator("path.arrow").all()]
        assert [any(turn in one for one in drawn) for turn in turns.values()] == [name in best for name in turns]
        assert cell.locator(".stay").count() == ("STAY" in best)


def test_layers_show_goal_and_rewards(tab, walk):
    slider(tab).fill("8")
    choose(tab, "inspector", "Way to the goal")
    assert tab.locator(".goal-layer").count() == 2
    assert "Arrows: its way there" in tab.locator(".stage .caption").inner_text()
    choose(tab, "inspector", "Rewards seen")
    assert tab.locator(".world figure:visible").count() == 1
    for place in (8, 120):
        slider(tab).fill(str(place))
        assert tab.locator(".known.seen").count() == (walk.reward_counts[place] > 0).sum()
    choose(tab, "inspector", "Visits")
    assert tab.locator(".world figure:visible").count() == 2


def test_agents_without_a_goal_have_no_way_to_it(tab):
    choose(tab, "inspector", "Way to the goal")
    choose(tab, "inspector", "Naive")
    assert tab.locator("#inspector .switch", has_text="Way to the goal").count() == 0
    assert tab.locator(".goal-layer").count() == 0
    assert "no β" in tab.locator(".side").inner_text()


def test_another_problem_can_be_chosen(tab):
    tab.select_option("#inspector-problem", label="Loop + Ask")
    assert tab.locator(".story").inner_text() == "A loop with questions."
    assert tab.locator(".world figure:visible [data-state]").count() == 9


def test_play_runs_to_the_end_and_starts_again(tab):
    slider(tab).fill("117")
    tab.get_by_role("button", name="Play").click()
    expect(slider(tab)).to_have_value("120")
    tab.get_by_role("button", name="Play").wait_for()
    tab.get_by_role("button", name="Play").click()
    expect(slider(tab)).to_have_value(re.compile("^[1-9][0-9]?$"))
    tab.get_by_role("button", name="Pause").click()
    stopped = moment(tab)
    tab.wait_for_timeout(250)
    assert moment(tab) == stopped


def test_the_slider_obeys_the_keyboard(tab):
    slider(tab).fill("10")
    slider(tab).focus()
    tab.keyboard.press("ArrowRight")
    assert moment(tab) == 11
    tab.keyboard.press("Home")
    assert moment(tab) == 0
    assert slider(tab).get_attribute("aria-valuetext") == "step 0"
    tab.keyboard.press("Space")
    expect(slider(tab)).to_have_value(re.compile("^[1-9][0-9]?$"))
    tab.keyboard.press("Space")
    stopped = moment(tab)
    tab.wait_for_timeout(250)
    assert moment(tab) == stopped


def test_a_click_in_a_curve_goes_to_that_moment(tab):
    picture = tab.locator(".side .chart svg").first
    picture.scroll_into_view_if_needed()
    box = picture.bounding_box()
    tab.mouse.click(box["x"] + box["width"] - 14, box["y"] + 60)
    assert moment(tab) == 120
    tab.mouse.click(box["x"] + 52, box["y"] + 60)
    assert moment(tab) == 0


@pytest.mark.parametrize("width", [390, 320])
def test_a_phone_needs_no_sideways_scrolling(open_page, page_file, width):
    tab = open_page(page_file, {"width": width, "height": 844}, has_touch=True).tab
    share(tab, "Walk + Ask", "Directed").click()
    choose(tab, "inspector", "Rewards seen")
    tab.locator("summary").first.click()
    assert tab.evaluate("document.documentElement.scrollWidth") <= width


def test_on_a_phone_a_choice_leads_to_its_curves(open_page, page_file):
    tab = open_page(page_file, PHONE, has_touch=True).tab
    share(tab, "Loop + Full", "Naive").tap()
    assert tab.evaluate("document.activeElement.id") == "cell-title"
    assert 0 <= tab.locator("#cell-title").bounding_box()["y"] < 200
    tab.locator("#cell .plot svg").tap(position={"x": 200, "y": 100})
    assert set(tip(tab)[1]) == {"Directed", "Optimism", "Naive"}


@pytest.fixture(scope="module")
def odd_file(tmp_path_factory):
    """Names that look like markup, one seed here, no runs or no evaluation there, no paper problem, no flagship."""
    folder = tmp_path_factory.mktemp("<b>&'odd'")
    tame = monmdp.Sweep([Hall()], ["Ask(cost=0.5)"], ["Naive"], seeds=1, steps=60, points=5)
    evil = monmdp.Sweep(
        [Hall(HOSTILE)], ["Full"], [Labelled(label=HOSTILE_AGENT)], seeds=2, steps=60, points=5, evaluation="none"
    )
    monmdp.run_sweep([tame, evil], folder)
    file = folder / "report.html"
    file.write_text(build_page(Results(folder), ()), encoding="utf-8")
    return file


@pytest.mark.parametrize("size", [DESKTOP, PHONE])
def test_hostile_names_are_only_names(open_page, odd_file, size):
    opened = open_page(odd_file, size)
    tab = opened.tab
    assert tab.locator("h3", has_text=HOSTILE).count() == 1
    tab.locator(".share", has_text="·").click()
    assert HOSTILE in tab.locator("#cell-title").inner_text()
    assert "onerror" in tab.locator("#cell .chip").nth(1).inner_text()
    tab.locator("#cell .switch label", has_text="Rewards seen").click()
    hover(tab)
    assert "onerror" in tab.locator("#cell .tip").inner_text()
    assert tab.evaluate("window.broken") is None
    assert tab.locator("img").count() == 0
    assert tab.evaluate("document.documentElement.scrollWidth") <= size["width"]
    assert opened.heard == []
    assert opened.asked == [odd_file.as_uri()]


def test_what_is_missing_is_said(open_page, odd_file):
    tab = open_page(odd_file).tab
    notes = tab.locator("#notes").inner_text()
    assert "2 of 4 combinations of problem and agent have no runs" in notes
    assert "1 cell has a single seed" in notes
    assert tab.locator(".card .missing").count() == 2
    assert "No run could be drawn" in tab.locator("#inspector").inner_text()
    assert "± " not in tab.locator("#cell dd[data-figure=final]").inner_text()
    assert "not enough data" in tab.locator("#claims").inner_text()
    tab.locator("#cell .switch label", has_text="β").click()
    assert tab.locator("#cell .empty").inner_text() == "None of these agents has a β."
