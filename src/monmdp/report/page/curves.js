/* The chosen problem: curves of all agents, and their numbers. */

/** Up to this number of agents, all have bands, no filter is needed, and the overview has one column per agent. */
const FEW_AGENTS = 8;

/** What curves can be drawn against: the step, or the mean of a metric until then. */
const AGAINST = [
  { title: "Steps", label: "training step" },
  { title: "Answers", label: "rewards observed", metric: "observed" },
  { title: "Money", label: "paid to the monitor", metric: "paid" },
];

/** Fills `host`; returns show(problem, agent). */
function makeCurves(host) {
  const state = { problem: null, agent: 0, metric: metrics[0], against: AGAINST[0], xLog: false, zoomed: false, hidden: new Set(), words: [] };
  const { title, subtitle, choices, chartTitle, plot, empty, filter, toggles, numbers } = partsOf(host);
  const titles = metrics.map((metric) => metric.title);
  const range = choice("Range", ["Full", "Near optimum"], 0, (index) => update({ zoomed: index === 1 }));
  choices.append(
    choice("Metric", titles, 0, (index) => update({ metric: metrics[index] })),
    choice("Against", AGAINST.map(({ title }) => title), 0, (index) => update({ against: AGAINST[index] })),
    choice("Axis", ["Linear", "Log"], 0, (index) => update({ xLog: index === 1 })),
    range,
  );
  const chart = makeChart(plot, { label: "Curves; arrow keys move the cursor", height: 300 });

  function update(changes) {
    Object.assign(state, changes);
    const { problem, agent, metric, against, xLog } = state;
    const cell = problem.cells[agent];
    const runs = ` · ${plural(cell.seeds, "seed")} · ${countText(cell.steps)} training steps per seed`;
    title.textContent = problemName(problem);
    subtitle.replaceChildren(element("b", {}, colouredName(page.agents[agent])), runs);
    numbers.replaceChildren(numbersOf(problem, agent, matching));
    const series = curvesOf(state, shown);
    const lines = levelLines(problem.cells, metric);
    range.disabled = metric.name !== "return" || lines.length === 0;
    const bands = series.filter(({ band }) => band).length;
    const owner = bands < series.length ? " of the chosen agent" : "";
    const remark = bands > 0 ? ` Mean over seeds with 95% interval${owner}.` : "";
    chartTitle.replaceChildren(element("b", {}, metric.description), remark);
    plot.hidden = series.length === 0;
    empty.hidden = series.length > 0;
    const zoom = state.zoomed && !range.disabled ? nearLevels(lines) : null;
    chart.draw({ ...metric, series, lines, range: zoom, xLog, xLabel: against.label });
    problem.cells.forEach((cell, index) => {
      toggles.children[index].hidden = !matching(index);
      toggles.children[index].disabled = cell === null;
      toggles.children[index].setAttribute("aria-pressed", cell !== null && shown(index));
    });
  }

  /** Whether the name of an agent has all words of the filter. */
  function matching(index) {
    const name = page.agents[index].title.toLowerCase();
    return state.words.every((word) => name.includes(word));
  }

  const shown = (index) => matching(index) && !state.hidden.has(index);

  function toggle(agent) {
    if (!state.hidden.delete(agent)) state.hidden.add(agent);
    update({});
  }

  /** Switches all agents that match the filter on or off. */
  function switchAll(on) {
    for (const index of page.agents.keys()) if (matching(index)) state.hidden[on ? "delete" : "add"](index);
    update({});
  }

  const search = { type: "search", placeholder: "Filter agents", "aria-label": "Filter agents by words in their names" };
  filter.hidden = page.agents.length <= FEW_AGENTS;
  filter.append(
    element("input", { ...search, oninput: ({ target }) => update({ words: target.value.toLowerCase().split(/\s+/) }) }),
    element("button", { onclick: () => switchAll(true) }, "All"),
    element("button", { onclick: () => switchAll(false) }, "None"),
  );
  toggles.append(
    ...page.agents.map((agent, index) =>
      element("button", { title: agent.title, onclick: () => toggle(index) }, colouredName(agent)),
    ),
  );

  return (problem, agent) => update({ problem: page.problems[problem], agent });
}

/** The curves to draw: of agents that have runs, are shown, and have the metrics. Of many, one has a band. */
function curvesOf({ problem, metric, against, agent: chosen }, shown) {
  const steps = (cell) => page.axes[cell.axis];
  const across = (cell) => (against.metric ? cell.curves[against.metric]?.mean : steps(cell));
  const drawn = (cell) => cell?.curves[metric.name] && across(cell)?.some((value) => value > 0);
  const indices = [...page.agents.keys()].filter((i) => drawn(problem.cells[i]) && shown(i));
  return indices.map((index) => {
    const cell = problem.cells[index];
    const curve = cell.curves[metric.name];
    const strong = index === chosen;
    const banded = curve.half && (strong || indices.length <= FEW_AGENTS);
    const band = banded ? bandOf({ ...curve, x: steps(cell) }, cell, metric) : null;
    return { ...page.agents[index], ...curve, x: across(cell), band, strong };
  });
}

/** The lower and the upper end of intervals, cut where no value can be: at the optimum, and at 0 and the step. */
function bandOf({ x, mean, half }, { optimum }, { name, integer }) {
  const counted = integer ? (i) => x[i] : () => ({ return: optimum, explored: 1 })[name] ?? Infinity;
  const lowest = integer || name === "explored" || name === "beta" ? 0 : -Infinity;
  return [
    mean.map((value, i) => Math.max(value - half[i], lowest)),
    mean.map((value, i) => Math.max(Math.min(value + half[i], counted(i)), value)),
  ];
}

/** A range around the lines of a chart that shows differences of a few percent. */
function nearLevels(lines) {
  const values = lines.map(({ value }) => value);
  const [low, high] = [Math.min(...values), Math.max(...values)];
  const size = Math.max(Math.abs(low), Math.abs(high), 0.01);
  return [low - 0.2 * size, high + 0.05 * size];
}

/** Medians of steps and rewards until solved. */
function untilTexts({ solved, until, answers }) {
  if (solved === null) return ["–", "–"];
  return [until, answers].map((value) => (value === null ? "never" : countText(value)));
}

/** The final value of a metric over the seeds of a cell. */
const finalText = (cell, metric) => estimateText(cell.curves[metric.name]?.final ?? [null, null], metric);

/** A table with the outcome and the final metrics of all agents that match the filter. */
function numbersOf(problem, chosen, matching) {
  const shown = metrics.filter((metric) => problem.cells.some((cell) => cell?.curves[metric.name]));
  const headings = ["Agent", "Solved", "Steps until solved", "Rewards until solved", ...shown.map(({ title }) => title)];
  const rows = page.agents.map((agent, index) => {
    const cell = problem.cells[index];
    if (!matching(index)) return null;
    if (cell === null) return row({}, colouredName(agent), ["no runs"]);
    const values = [solvedText(cell), ...untilTexts(cell), ...shown.map((metric) => finalText(cell, metric))];
    return row({ "aria-current": index === chosen }, colouredName(agent), values);
  });
  return table({ class: "numbers" }, headings, rows);
}
