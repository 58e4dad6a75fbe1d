"""The page in a real browser: no errors or requests, correct numbers, mouse and keyboard."""

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
from monmdp.figures.style import KNOWN, OTHER_COLOURS, agent_styles
from monmdp.paper.claims import check_claims
from monmdp.report import Replay, build_page
from monmdp.study.results import Results
from monmdp.study.snapshots import take_snapshots

REPLAYS = (
    Replay("Walk", "Button", "A walk with a button.", ("Directed", "Naive"), steps=600),
    Replay("Loop", "Ask", "A loop with questions.", ("Directed",), steps=600),
)
#: Twenty variants of one agent.
VARIANTS = monmdp.grid("Naive", alpha=[0.1, 0.25, 0.5, 0.75, 1.0], initial_q=[-1.0, 0.0, 1.0, 5.0])
NAMES = ("chromium", "chromium-browser", "google-chrome")
DESKTOP, PHONE = {"width": 1440, "height": 900}, {"width": 390, "height": 844}
#: Names that would run a script if they were parsed as markup.
HOSTILE = "</script><script>window.broken = 1</script>"
HOSTILE_AGENT = "\"><img src=x onerror='window.broken = 2'> & {{data}}"


@dataclass(frozen=True)
class Hall(monmdp.Environment):
    """Three states without a map; the right end pays."""

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

    def __post_init__(self):
        super().__post_init__()
        assert self.label  # an option that nothing reads is reported


class Opened(NamedTuple):
    """A page with its console messages and errors, and the addresses it requested."""

    tab: object
    messages: list[str]
    requests: list[str]


@pytest.fixture(scope="module")
def browser():
    program = next(filter(None, map(shutil.which, NAMES)), None)
    assert program, f"The page's tests need one of {', '.join(NAMES)} on the PATH; `make test` installs it."
    with sync_playwright() as driver:
        chromium = driver.chromium.launch(executable_path=program, args=["--no-sandbox"])
        yield chromium
        chromium.close()


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("results")
    agents = ["Directed", "Optimism", "Naive"]
    monmdp.run_sweep([monmdp.Sweep(["Loop", "Walk"], ["Full", "Ask"], agents, seeds=6, steps=5_000, points=50)], folder)
    return folder


@pytest.fixture(scope="module")
def page_file(folder):
    file = folder / "report.html"
    file.write_text(build_page(Results(folder), REPLAYS), encoding="utf-8")
    return file


def listening(browser, size, **options):
    """A new tab that records messages and requests."""
    tab = browser.new_context(viewport=size, reduced_motion="reduce", **options).new_page()
    tab.set_default_timeout(10_000)
    opened = Opened(tab, [], [])
    tab.on("console", lambda message: opened.messages.append(message.text))
    tab.on("pageerror", lambda error: opened.messages.append(str(error)))
    tab.on("dialog", lambda dialog: (opened.messages.append(dialog.message), dialog.dismiss()))
    tab.on("request", lambda request: opened.requests.append(request.url))
    return opened


@pytest.fixture
def open_page(browser):
    """Opens a file in a new tab; closes it at the end."""
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
    """The page, loaded again into the tab that these tests share."""
    desktop.messages.clear()
    desktop.requests.clear()
    desktop.tab.mouse.move(0, 0)
    desktop.tab.goto(page_file.as_uri())
    yield desktop.tab
    assert desktop.messages == []
    assert desktop.requests == [page_file.as_uri()]


def share(tab, problem, agent):
    return tab.get_by_role("button", name=f"{agent} in {problem}:")


def choose(tab, section, text):
    tab.locator(f"#{section} .choice label").filter(has_text=re.compile(f"^{re.escape(text)}$")).click()


def number(text):
    """The first number of a text."""
    return float(re.search(r"−?[\d,.]*\d", text)[0].replace("−", "-").replace(",", ""))


def tip(tab):
    """Step under the cursor, and agent → (value, half width)."""
    rows = tab.locator("#curves .tip tr").all()
    values = {row.locator("th").inner_text(): row.locator("td").inner_text() for row in rows}
    numbers = {name: tuple(map(number, value.split(" ± "))) for name, value in values.items()}
    return int(number(tab.locator("#curves .tip p").inner_text())), numbers


def hover(tab, part=0.6):
    picture = tab.locator("#curves .chart svg")
    picture.scroll_into_view_if_needed()
    box = picture.bounding_box()
    tab.mouse.move(box["x"] + box["width"] * part, box["y"] + 100)


def curve_names(tab):
    return {path.get_attribute("data-name") for path in tab.locator("#curves path.curve").all()}


def slider(tab):
    return tab.get_by_role("slider", name="Training step")


def snapshot(tab):
    return int(slider(tab).input_value())


def test_the_page_loads_fast_without_messages_or_requests(open_page, page_file):
    opened = open_page(page_file)
    took = []
    for _ in range(3):
        opened.tab.reload()
        took.append(opened.tab.evaluate("performance.getEntriesByType('navigation')[0].duration"))
    assert opened.messages == []
    assert set(opened.requests) == {page_file.as_uri()}
    assert min(took) < 2_000


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_page_follows_the_colour_scheme(open_page, page_file, scheme):
    tab = open_page(page_file, color_scheme=scheme).tab
    colour = tab.evaluate("getComputedStyle(document.body).backgroundColor")
    bright = sum(map(int, re.findall(r"\d+", colour))) / 3 > 128
    assert bright == (scheme == "light")


def test_agents_have_contrast_on_a_dark_screen(open_page, page_file):
    """The lightened colours of agents, by drawing them; WCAG asks for a contrast of 4.5."""
    tab = open_page(page_file, color_scheme="dark").tab
    contrasts = tab.evaluate(
        """(colours) => {
        const sample = document.querySelector(".sample");
        const context = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
        const luminance = (colour) => {
            context.fillStyle = colour;
            context.fillRect(0, 0, 1, 1);
            const linear = [...context.getImageData(0, 0, 1, 1).data].map((part) => part / 255)
                .map((part) => (part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4));
            return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2];
        };
        const ground = luminance(getComputedStyle(document.querySelector(".panel")).backgroundColor);
        return colours.map((colour) => {
            sample.style.setProperty("--colour", colour);
            return (luminance(getComputedStyle(sample.firstChild).stroke) + 0.05) / (ground + 0.05);
        });
    }""",
        [*(style.colour for style in (*KNOWN.values(), *agent_styles(VARIANTS).values())), *OTHER_COLOURS],
    )
    assert min(contrasts) >= 4.5


def test_the_overview_matches_the_parquet_files(tab, folder):
    tables = monmdp.load(folder, kind="tables").to_pandas()
    cells = tables.groupby(["environment", "monitor", "agent"], observed=True)["solved"]
    assert tab.locator(".share").count() == len(cells) == 12
    for (environment, monitor, agent), solved in cells:
        button = share(tab, f"{environment} + {monitor}", agent)
        assert int(button.inner_text()) == round(100 * solved.mean())
        spread = stats.binomtest(int(solved.sum()), len(solved)).proportion_ci(0.95, "wilson")
        interval = f"(95% interval {spread.low:.0%}–{spread.high:.0%})"
        assert button.get_attribute("title").endswith(f"seeds solved: {solved.sum()} of 6 {interval}")


def test_clicking_a_cell_shows_its_numbers(tab, folder):
    tables = monmdp.load(folder, kind="tables").to_pandas()
    curves = monmdp.load(folder).to_pandas()
    for environment, monitor, agent in (
        ("Walk", "Ask", "Directed"),
        ("Loop", "Full", "Naive"),
        ("Walk", "Ask", "Optimism"),
    ):
        share(tab, f"{environment} + {monitor}", agent).click()
        assert tab.locator("#curves-title").inner_text() == f"{environment} + {monitor}"
        assert f"{agent} · 6 seeds · 5,000 training steps per seed" in tab.locator("#curves .caption").inner_text()
        mine = tables.query("environment == @environment and monitor == @monitor and agent == @agent")
        runs = curves.query("environment == @environment and monitor == @monitor and agent == @agent")
        headings = tab.locator("#curves .numbers thead th").all_inner_texts()
        row = tab.locator("#curves tr[aria-current=true]")
        numbers = dict(zip(headings, row.locator("th, td").all_inner_texts(), strict=True))
        assert headings[3:6] == ["Rewards until solved", "Return", "Rewards observed"]
        final, optimum = mine["final_return"], mine["optimal_return"].iloc[0]
        assert numbers["Solved"] == f"{mine['solved'].sum()} of 6"
        assert [number(part) for part in numbers["Return"].split(" ± ")] == pytest.approx(
            [final.mean(), stats.t.ppf(0.975, 5) * stats.sem(final)], abs=6e-5
        )
        assert number(tab.locator("#curves .level-text").inner_html()) == pytest.approx(optimum, abs=6e-5)
        assert numbers["Steps until solved"] == until_solved(runs, optimum)
        observed = runs[runs["step"] == 5_000]["observed"]
        assert number(numbers["Rewards observed"]) == pytest.approx(observed.mean(), abs=0.6)
        assert share(tab, f"{environment} + {monitor}", agent).get_attribute("aria-pressed") == "true"
        assert tab.locator(".share[aria-pressed=true]").count() == 1
        assert agent in tab.locator("#curves tr[aria-current=true]").inner_text()


def until_solved(runs, optimum):
    """The median over seeds of the first step from which on the return is optimal, as the page shows it."""
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
    step, values = tip(tab)
    runs = monmdp.load(folder).to_pandas().query(f"environment == 'Walk' and monitor == 'Ask' and step == {step}")
    assert 2_000 < step < 4_000
    assert set(values) == {"Directed", "Optimism", "Naive"}
    for agent, (value, half) in values.items():
        returns = runs[runs["agent"] == agent]["return"]
        assert value == pytest.approx(returns.mean(), abs=6e-5)
        assert half == pytest.approx(stats.t.ppf(0.975, 5) * stats.sem(returns), abs=1.2e-4)
    tab.mouse.move(5, 5)
    assert tab.locator("#curves .tip").is_hidden()


@pytest.mark.parametrize(
    ("metric", "column"),
    [
        ("Rewards observed", "observed"),
        ("Pairs visited", "visited"),
        ("Exploring", "explored"),
        ("β", "beta"),
        ("Paid to the monitor", "paid"),
        ("Reward collected", "collected"),
    ],
)
def test_other_metrics_can_be_shown(tab, folder, metric, column):
    share(tab, "Loop + Full", "Directed").click()
    choose(tab, "curves", metric)
    hover(tab, 0.9)
    step, values = tip(tab)
    runs = monmdp.load(folder).to_pandas().query(f"environment == 'Loop' and monitor == 'Full' and step == {step}")
    means = runs.groupby("agent", observed=True)[column].mean().dropna()
    assert set(values) == set(means.index)
    for agent, (value, *_) in values.items():
        percent = 100 if column == "explored" else 1
        assert value == pytest.approx(means[agent] * percent, rel=0.006, abs=0.06)
    assert tab.get_by_role("radio", name="Near optimum").is_disabled()
    thresholds = tab.locator("#curves .level-text", has_text="explores above 0.01").count()
    assert thresholds == (column == "beta")


@pytest.mark.parametrize(
    ("against", "label", "column"),
    [("Answers", "rewards observed", "observed"), ("Money", "paid to the monitor", "paid")],
)
def test_curves_against_what_was_spent(tab, folder, against, label, column):
    """The curve of an agent ends at the mean of what its runs observed, or paid."""
    runs = monmdp.load(folder).to_pandas().query("environment == 'Walk' and monitor == 'Ask' and step == 5000")
    share(tab, "Walk + Ask", "Directed").click()
    choose(tab, "curves", against)
    assert label in tab.locator("#curves .chart svg").text_content()
    for agent in ("Optimism", "Naive"):
        tab.locator("#curves .toggles button", has_text=agent).click()
    hover(tab, 0.97)
    text = tab.locator("#curves .tip p").inner_text()
    assert text.startswith(label)
    assert number(text) == pytest.approx(runs[runs["agent"] == "Directed"][column].mean(), abs=0.6)


def test_agents_are_switched_off_and_on(tab):
    share(tab, "Walk + Full", "Naive").click()
    agents = {"Directed", "Optimism", "Naive"}
    assert curve_names(tab) == agents
    button = tab.locator("#curves .toggles button", has_text="Optimism")
    button.click()
    assert button.get_attribute("aria-pressed") == "false"
    assert curve_names(tab) == agents - {"Optimism"}
    hover(tab)
    assert set(tip(tab)[1]) == agents - {"Optimism"}
    share(tab, "Loop + Full", "Naive").click()
    assert curve_names(tab) == agents - {"Optimism"}  # stays off for another problem
    for name in ("Directed", "Naive"):
        tab.locator("#curves .toggles button", has_text=name).click()
    expect(tab.locator("#curves .note")).to_be_visible()
    tab.locator("#curves .toggles button", has_text="Optimism").click()
    assert curve_names(tab) == {"Optimism"}


def test_axes_can_be_logarithmic_and_zoomed(tab, folder):
    share(tab, "Walk + Ask", "Directed").click()
    optimum = monmdp.load(folder, kind="tables").to_pandas().query("environment == 'Walk'")["optimal_return"].iloc[0]
    line = tab.locator("#curves .level-text")
    assert number(line.text_content()) == pytest.approx(optimum, abs=6e-5)
    before = tab.locator("#curves path.curve").first.get_attribute("d")
    choose(tab, "curves", "Near optimum")
    ticks = [number(text) for text in tab.locator("#curves .tick-y").all_text_contents()]
    assert min(ticks) >= 0.79 * optimum
    assert max(ticks) <= 1.06 * optimum
    choose(tab, "curves", "Log")
    steps = [number(text) for text in tab.locator("#curves .tick-x").all_text_contents()]
    assert np.allclose(np.log10(steps[0] * 10), np.log10(steps[1])) or steps[1] / steps[0] in (2, 2.5)
    assert tab.locator("#curves path.curve").first.get_attribute("d") != before
    choose(tab, "curves", "Linear")
    choose(tab, "curves", "Full")
    assert tab.locator("#curves path.curve").first.get_attribute("d") == before


def focused(tab):
    return tab.evaluate("document.activeElement.getAttribute('aria-label')")


def test_arrow_keys_move_in_the_overview(tab):
    share(tab, "Loop + Full", "Directed").focus()
    for key, label in [
        ("ArrowRight", "Optimism in Loop + Full"),
        ("ArrowDown", "Optimism in Loop + Ask"),
        ("ArrowLeft", "Directed in Loop + Ask"),
        ("ArrowLeft", "Directed in Loop + Ask"),
    ]:
        tab.keyboard.press(key)
        assert focused(tab).startswith(label)
    tab.keyboard.press("Enter")
    assert tab.locator("#curves-title").inner_text() == "Loop + Ask"
    tab.keyboard.press("ArrowRight")
    tab.keyboard.press("Enter")
    assert "Optimism" in tab.locator("#curves .caption").first.inner_text()
    outline = tab.evaluate("getComputedStyle(document.activeElement).outlineStyle")
    assert outline == "solid"


def test_the_overview_is_one_stop_of_the_tab_key(tab):
    stops = tab.locator("#overview-cards [tabindex='0']")
    assert stops.count() == 1
    stops.focus()
    tab.keyboard.press("Tab")
    assert tab.evaluate("document.activeElement.closest('#curves') !== null")


def test_arrow_keys_move_the_cursor_of_the_chart(tab):
    tab.locator("#curves .chart svg").focus()
    tab.keyboard.press("Home")
    assert tip(tab)[0] == 0
    tab.keyboard.press("ArrowRight")
    assert tip(tab)[0] == 100
    tab.keyboard.press("End")
    assert tip(tab)[0] == 5_000
    tab.keyboard.press("Escape")
    assert tab.locator("#curves .tip").is_hidden()


def test_claims_are_listed_with_their_checks(tab, folder):
    claims = check_claims(Results(folder))
    claims = [claim for claim in claims if any(one.verdict != "not enough data" for one in claim.details)]
    rows = tab.locator("#claims article").all()
    assert [row.locator("h3").inner_text() for row in rows] == [claim.claim for claim in claims]
    assert [row.locator("> .badge").inner_text()[1:].strip() for row in rows] == [claim.verdict for claim in claims]
    many = next(i for i, claim in enumerate(claims) if len(claim.details) > 1)
    rows[many].locator("summary").click()
    expect(rows[many].locator("details tbody tr")).to_have_count(len(claims[many].details))


@pytest.fixture(scope="module")
def walk():
    return take_snapshots(monmdp.make("Walk", "Button"), "Directed", steps=600)


def grid_cell(tab, state):
    """The cell of a joint state."""
    return tab.locator(f".grids [data-state='{state}']")


def test_the_slider_selects_a_snapshot(tab, walk):
    for index in (0, 40, 120):
        slider(tab).fill(str(index))
        assert f"{walk.steps[index]} of 600 steps" in tab.locator(".player output").inner_text()
        assert f"{walk.visits[index, 5].sum()} visit" in grid_cell(tab, 5).locator("title").text_content()
        text = tab.locator("#inspector-view").inner_text()
        assert f"rewards of {(walk.reward_counts[index] > 0).sum()} of 35 pairs observed" in text
        assert f"Rewards observed {walk.observed[index]}\n" in text
        assert grid_cell(tab, walk.states[index]).locator(".agent-mark").count() == 1
        assert grid_cell(tab, walk.goals[index] // 5).locator(".goal-mark").count() == 1
        assert tab.locator(".grids .agent-mark").count() == tab.locator(".grids .goal-mark").count() == 1


def test_arrows_are_the_greedy_policy(tab, walk):
    slider(tab).fill("120")
    turns = {"LEFT": "rotate(180)", "DOWN": "rotate(90)", "RIGHT": "rotate(0)", "UP": "rotate(270)"}
    for state in range(14):
        q = walk.q[120, state]
        best = [action for i, action in enumerate(turns | {"STAY": ""}) if q[i] >= q.max() - 1e-9]
        drawn = [arrow.get_attribute("transform") for arrow in grid_cell(tab, state).locator(".arrow").all()]
        assert [any(turn in one for one in drawn) for turn in turns.values()] == [name in best for name in turns]
        assert grid_cell(tab, state).locator(".stay").count() == ("STAY" in best)


def test_layers_show_goal_and_rewards(tab, walk):
    slider(tab).fill("8")
    choose(tab, "inspector", "Path to goal")
    assert tab.locator(".grids figure").count() == 2
    assert "best actions toward the goal" in tab.locator("#inspector-view .caption").inner_text()
    choose(tab, "inspector", "Rewards observed")
    assert tab.locator(".grids figure").count() == 1
    for index in (8, 120):
        slider(tab).fill(str(index))
        assert tab.locator(".grids .observed").count() == (walk.reward_counts[index] > 0).sum()
    assert "rewards observed for LEFT" in tab.locator(".grids [data-place='2'] title").text_content()
    choose(tab, "inspector", "Visits")
    assert tab.locator(".grids figure").count() == 2


def test_agents_without_a_goal_have_no_path_to_it(tab):
    choose(tab, "inspector", "Path to goal")
    choose(tab, "inspector", "Naive")
    assert tab.locator("#inspector .choice", has_text="Path to goal").count() == 0
    assert tab.locator("#inspector-view .goal-mark").count() == 0
    titles = tab.locator("#inspector .chart-title").all_inner_texts()
    assert [title.split()[0] for title in titles] == ["Return", "Rewards", "Pairs", "Exploring", "Paid", "Reward"]


def test_another_problem_can_be_chosen(tab):
    choose(tab, "inspector", "Loop + Ask")
    assert tab.locator("#inspector-view").get_by_text("A loop with questions.").is_visible()
    assert tab.locator(".grids [data-state]").count() == 9


def test_play_runs_to_the_end_and_starts_again(tab):
    slider(tab).fill("117")
    tab.get_by_role("button", name="Play").click()
    expect(slider(tab)).to_have_value("120")
    tab.get_by_role("button", name="Play").wait_for()
    tab.get_by_role("button", name="Play").click()
    expect(slider(tab)).to_have_value(re.compile("^[1-9][0-9]?$"))
    tab.get_by_role("button", name="Pause").click()
    stopped = snapshot(tab)
    tab.wait_for_timeout(250)
    assert snapshot(tab) == stopped


def test_keys_move_the_slider_and_play(tab):
    slider(tab).fill("10")
    slider(tab).focus()
    tab.keyboard.press("ArrowRight")
    assert snapshot(tab) == 11
    tab.keyboard.press("Home")
    assert snapshot(tab) == 0
    assert slider(tab).get_attribute("aria-valuetext") == "step 0"
    tab.keyboard.press("Space")
    expect(slider(tab)).to_have_value(re.compile("^[1-9][0-9]?$"))
    tab.keyboard.press("Space")
    stopped = snapshot(tab)
    tab.wait_for_timeout(250)
    assert snapshot(tab) == stopped


def test_a_click_in_a_curve_goes_to_that_snapshot(tab):
    picture = tab.locator("#inspector .chart svg").first
    picture.scroll_into_view_if_needed()
    box = picture.bounding_box()
    tab.mouse.click(box["x"] + box["width"] - 14, box["y"] + 60)
    assert snapshot(tab) == 120
    tab.mouse.click(box["x"] + 52, box["y"] + 60)
    assert snapshot(tab) == 0


@pytest.mark.parametrize("width", [390, 320])
def test_a_phone_needs_no_sideways_scrolling(open_page, page_file, width):
    tab = open_page(page_file, {"width": width, "height": 844}, has_touch=True).tab
    share(tab, "Walk + Ask", "Directed").click()
    choose(tab, "inspector", "Rewards observed")
    tab.locator("summary").first.click()
    assert tab.evaluate("document.documentElement.scrollWidth") <= width


def test_on_a_phone_a_choice_scrolls_to_its_curves(open_page, page_file):
    tab = open_page(page_file, PHONE, has_touch=True).tab
    share(tab, "Loop + Full", "Naive").tap()
    assert tab.evaluate("document.activeElement.id") == "curves-title"
    assert 0 <= tab.locator("#curves-title").bounding_box()["y"] < 200
    tab.locator("#curves .chart svg").tap(position={"x": 200, "y": 100})
    assert set(tip(tab)[1]) == {"Directed", "Optimism", "Naive"}


@pytest.fixture(scope="module")
def odd_file(tmp_path_factory):
    """Names that look like markup, a single seed, runs without evaluation, missing runs, and no replay."""
    folder = tmp_path_factory.mktemp("<b>&'odd'")
    plain = monmdp.Sweep([Hall()], ["Ask(cost=0.5)"], ["Naive"], seeds=1, steps=60, points=5)
    hostile = monmdp.Sweep(
        [Hall(HOSTILE)], ["Full"], [Labelled(label=HOSTILE_AGENT)], seeds=2, steps=60, points=5, evaluation="none"
    )
    monmdp.run_sweep([plain, hostile], folder)
    file = folder / "report.html"
    file.write_text(build_page(Results(folder), ()), encoding="utf-8")
    return file


@pytest.mark.parametrize("size", [DESKTOP, PHONE])
def test_names_are_never_markup(open_page, odd_file, size):
    opened = open_page(odd_file, size)
    tab = opened.tab
    assert tab.locator("h3", has_text=HOSTILE).count() == 1
    tab.locator(".share", has_text="·").click()
    assert HOSTILE in tab.locator("#curves-title").inner_text()
    assert "onerror" in tab.locator("#curves .toggles button").nth(1).inner_text()
    choose(tab, "curves", "Rewards observed")
    hover(tab)
    assert "onerror" in tab.locator("#curves .tip").inner_text()
    assert tab.evaluate("window.broken") is None
    assert tab.locator("img").count() == 0
    assert tab.evaluate("document.documentElement.scrollWidth") <= size["width"]
    assert opened.messages == []
    assert opened.requests == [odd_file.as_uri()]


def test_missing_results_are_reported(open_page, odd_file):
    tab = open_page(odd_file).tab
    notes = tab.locator("#notes").inner_text()
    assert "2 of 4 combinations of problem and agent have no runs" in notes
    assert "1 of 2 cells have a single seed" in notes
    assert tab.locator(".card .missing").count() == 2
    assert tab.locator("#inspector, #sensitivity, #claims").count() == 0, "there is nothing to show"
    assert tab.locator("nav a").all_inner_texts() == ["Overview", "Curves"]
    assert "± " not in tab.locator("#curves .numbers").inner_text()
    choose(tab, "curves", "β")
    assert "None of the agents" in tab.locator("#curves .note").inner_text()


@pytest.fixture(scope="module")
def variants_file(tmp_path_factory):
    """Twenty variants of one agent, and another agent with two."""
    folder = tmp_path_factory.mktemp("variants")
    agents = [*VARIANTS, "Optimism", "Optimism(alpha=0.5)"]
    monmdp.run_sweep([monmdp.Sweep(["Loop"], ["Full", "Ask"], agents, seeds=3, steps=200, points=10)], folder)
    file = folder / "report.html"
    file.write_text(build_page(Results(folder), ()), encoding="utf-8")
    return file


@pytest.mark.parametrize("size", [DESKTOP, PHONE])
def test_many_variants_can_be_filtered(open_page, variants_file, size):
    opened = open_page(variants_file, size)
    tab = opened.tab
    assert len(curve_names(tab)) == 22
    assert tab.locator("#curves path.band").count() == 1, "only the chosen agent has a band"
    tab.get_by_role("searchbox").fill("naive  q=5")
    wanted = {f"Naive(alpha={alpha}, initial_q=5.0)" for alpha in (0.1, 0.25, 0.5, 0.75, 1.0)}
    assert curve_names(tab) == wanted
    assert {name.strip() for name in tab.locator("#curves .numbers tbody th").all_inner_texts()} == wanted
    assert tab.locator("#curves .toggles button:visible").count() == 5
    tab.get_by_role("button", name="None", exact=True).click()
    assert tab.locator("#curves .note").is_visible()
    tab.locator("#curves .toggles button:visible").first.click()
    assert curve_names(tab) == {"Naive(alpha=0.1, initial_q=5.0)"}
    tab.get_by_role("searchbox").fill("")
    assert len(curve_names(tab)) == 18, "those that were switched off stay off"
    assert tab.evaluate("document.documentElement.scrollWidth") <= size["width"]
    assert opened.messages == []


def test_sensitivity_shows_maps_and_lines_of_the_chosen_problem(open_page, variants_file):
    tab = open_page(variants_file).tab
    share(tab, "Loop + Ask", "Optimism").click()
    figures = tab.locator("#sensitivity figure")
    assert figures.locator("figcaption").all_inner_texts() == ["Optimism in Loop + Ask", "Naive in Loop + Ask"]
    assert figures.first.locator("path.curve").count() == figures.first.locator("path.band").count() == 1
    assert figures.last.locator("button").count() == 20
    choose(tab, "sensitivity", "Seeds solved")
    shown = share(tab, "Loop + Ask", "Naive(alpha=0.5, initial_q=1.0)").inner_text()
    cell = figures.last.get_by_role("button", name="alpha=0.5, initial_q=1.0")
    assert cell.inner_text() == f"{shown}%"
    cell.click()
    assert "Naive(alpha=0.5, initial_q=1.0)" in tab.locator("#curves [data-part=subtitle]").inner_text()
