/* The chosen problem: curves of all agents, and their numbers. */

const METRICS = [
  { value: "return", text: "Return", hint: "expected return of the greedy policy", format: returnText },
  {
    value: "observed",
    text: "Rewards seen",
    hint: "number of observed rewards so far",
    format: countText,
    fromZero: true,
  },
  {
    value: "beta",
    text: "β",
    hint: "explore-exploit ratio log t / N(goal), infinite until every pair was visited",
    format: betaText,
    yLog: true,
    unknown: "∞",
  },
  {
    value: "visited",
    text: "Pairs",
    hint: "distinct state-action pairs visited so far",
    format: countText,
    fromZero: true,
  },
  {
    value: "explored",
    text: "Exploring",
    hint: "fraction of steps spent exploring so far",
    format: shareText,
    fromZero: true,
  },
];

function betaText(value) {
  return String(+value.toPrecision(3));
}

function shareText(value) {
  return `${(100 * value).toFixed(1)}%`;
}

/** Fills `host`; returns show(problem, agent). */
function makeCellView(host) {
  const state = { problem: 0, agent: 0, metric: "return", xLog: false, near: false, hidden: new Set() };
  const title = make("h2", { id: "cell-title", tabindex: -1 });
  const subtitle = make("p", { class: "caption agent" });
  const figures = make("dl", { class: "figures", "aria-live": "polite" });
  const chips = make("div", { class: "chips", role: "group", "aria-label": "Agents in the chart" });
  const hint = make("p", { class: "chart-title" });
  const plot = make("div", { class: "plot" });
  const empty = make("p", { class: "empty", hidden: true });
  const numbers = make("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": "Numbers of all agents" });
  const switches = make(
    "div",
    { class: "switches" },
    makeSwitch("Show", METRICS, state.metric, (metric) => update({ metric })),
    makeSwitch("Steps", options("linear", "log"), "linear", (kind) => update({ xLog: kind === "log" })),
    makeSwitch("Range", options("full", "near optimum"), "full", (kind) => update({ near: kind !== "full" })),
  );
  switches.lastChild.id = "range-switch";
  const back = make("a", { class: "back", href: "#overview" }, "↑ Overview");
  host.append(make("div", { class: "panel-head" }, title, back), subtitle, figures, switches, hint, plot, empty);
  host.append(chips, numbers);
  const chart = makeChart(plot, { label: "Curves; arrow keys move the cursor", height: 300 });

  function update(change) {
    Object.assign(state, change);
    const problem = page.problems[state.problem];
    const metric = METRICS.find(({ value }) => value === state.metric);
    const series = seriesOf(problem, state);
    const optima = state.metric === "return" ? [...new Set(problem.cells.map((cell) => cell?.optimum))] : [];
    const lines = optima.filter(Number.isFinite).map((value) => ({ value, text: `optimum ${returnText(value)}` }));
    if (state.metric === "beta") lines.push(...thresholds(problem));
    const near = state.near && state.metric === "return" && lines.length > 0;
    host.querySelector("#range-switch").disabled = state.metric !== "return";
    hint.textContent = `${metric.hint[0].toUpperCase()}${metric.hint.slice(1)}`;
    if (problem.cells.some((cell) => cell && cell.seeds > 1))
      hint.append(make("span", {}, " mean over seeds, band: 95% interval"));
    empty.hidden = series.length > 0;
    empty.textContent = emptyText(problem, state);
    plot.hidden = series.length === 0;
    const range = near ? nearOptimum(lines.map(({ value }) => value)) : null;
    chart.draw({ ...metric, series, lines, range, xLog: state.xLog });
    chips.replaceChildren(...chipsOf(problem, state, (agent) => toggle(agent)));
  }

  function toggle(agent) {
    const focused = [...chips.children].indexOf(document.activeElement);
    if (!state.hidden.delete(agent)) state.hidden.add(agent);
    update({});
    if (focused >= 0) chips.children[focused].focus();
  }

  return (problem, agent) => {
    const chosen = page.problems[problem];
    const cell = chosen.cells[agent];
    title.textContent = problemName(chosen);
    const who = page.agents[agent];
    furnish(subtitle, coloursOf(who), []);
    subtitle.replaceChildren(
      make("i"),
      make("b", {}, who.name),
      ` · ${plural(cell.seeds, "seed")} · ${countText(cell.steps)} training steps each`,
    );
    figures.replaceChildren(...figuresOf(cell));
    numbers.replaceChildren(numbersOf(chosen, agent));
    update({ problem, agent });
  };
}

const plural = (count, word) => `${countText(count)} ${word}${count === 1 ? "" : "s"}`;
const options = (...words) => words.map((word) => ({ value: word, text: word[0].toUpperCase() + word.slice(1) }));

/** The curves to draw: those of agents that are there, not hidden, and have such a curve. */
function seriesOf(problem, { metric, hidden, agent: chosen }) {
  return page.agents.flatMap(({ name, ...agent }, index) => {
    const cell = problem.cells[index];
    const curve = cell?.curves[metric];
    if (!curve || hidden.has(index)) return [];
    const [x, mean, half] = [page.axes[cell.axis], curve.mean, curve.half].map(unpack);
    return [{ name, x, mean, half, colours: coloursOf(agent), strong: index === chosen }];
  });
}

function emptyText(problem, { metric, hidden }) {
  const there = problem.cells.some((cell, index) => cell?.curves[metric] && hidden.has(index));
  if (there) return "All agents with such a curve are switched off.";
  return metric === "beta" ? "None of these agents has a β." : "Nothing was recorded here.";
}

/** Levels of β above which agents explore. */
function thresholds(problem) {
  const bars = new Set(problem.cells.map((cell) => cell?.betaBar).filter(Number.isFinite));
  return [...bars].map((value) => ({ value, text: `explores above ${betaText(value)}` }));
}

/** A window around the optimum that shows differences of a few percent. */
function nearOptimum(optima) {
  const [low, high] = [Math.min(...optima), Math.max(...optima)];
  const room = Math.max(Math.abs(low), Math.abs(high), 0.01);
  return [low - 0.2 * room, high + 0.05 * room];
}

function chipsOf(problem, { hidden }, onToggle) {
  return page.agents.flatMap(({ name, ...agent }, index) => {
    const there = problem.cells[index] !== null;
    const look = {
      class: "chip agent",
      type: "button",
      "aria-pressed": there && !hidden.has(index),
      ...coloursOf(agent),
    };
    const chip = make("button", { ...look, onclick: () => onToggle(index) }, make("i", {}), make("span", {}, name));
    chip.disabled = !there;
    return [chip];
  });
}

/** The numbers of the chosen cell. */
function figuresOf(cell) {
  const solved = cell.solved === null ? "not evaluated" : `${cell.solved} of ${cell.seeds}`;
  const interval = cell.interval?.map(percentText).join("–");
  const entries = [
    ["solved", "Seeds solved", solved, interval && `95% interval ${interval}`],
    ["final", "Final return", cell.final ? estimateText(cell.final, returnText) : "–", optimumText(cell)],
    ["observed", "Rewards seen", estimateText(cell.observed, countText), `of ${countText(cell.steps)} steps`],
    ["until", "Steps until solved", untilText(cell), "median over seeds"],
  ];
  return entries.map(([key, label, value, more]) =>
    make(
      "div",
      {},
      make("dt", {}, label),
      make("dd", { "data-figure": key }, value),
      make("dd", { class: "more" }, more ?? ""),
    ),
  );
}

const optimumText = (cell) => (cell.optimum === null ? "" : `optimum ${returnText(cell.optimum)}`);

function untilText(cell) {
  if (cell.solved === null) return "–";
  return cell.until === null ? "never" : countText(cell.until);
}

/** All agents side by side. */
function numbersOf(problem, chosen) {
  const heads = ["Agent", "Seeds", "Solved", "Final return", "Rewards seen", "Steps until solved"];
  const rows = page.agents.map(({ name, ...agent }, index) => {
    const cell = problem.cells[index];
    const who = make("th", { scope: "row", class: "agent", ...coloursOf(agent) }, make("i", {}), name);
    if (cell === null) return make("tr", {}, who, make("td", { colspan: 5, class: "absent" }, "no runs"));
    const values = [
      String(cell.seeds),
      cell.solved === null ? "–" : percentText(cell.solved / cell.seeds),
      cell.final ? estimateText(cell.final, returnText) : "–",
      estimateText(cell.observed, countText),
      untilText(cell),
    ];
    return make("tr", { "aria-current": index === chosen }, who, ...values.map((value) => make("td", {}, value)));
  });
  const head = make("tr", {}, ...heads.map((text) => make("th", { scope: "col" }, text)));
  return make("table", { class: "numbers" }, make("thead", {}, head), make("tbody", {}, ...rows));
}
