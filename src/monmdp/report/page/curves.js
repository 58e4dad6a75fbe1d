/* The chosen problem: curves of all agents, and their numbers. */

/** Fills `host`; returns show(problem, agent). */
function makeCurves(host) {
  const state = { problem: null, agent: 0, metric: metrics[0], xLog: false, zoomed: false, hidden: new Set() };
  const { title, subtitle, choices, chartTitle, plot, empty, toggles, numbers } = partsOf(host);
  const titles = metrics.map((metric) => metric.title);
  const range = choice("Range", ["Full", "Near optimum"], 0, (index) => update({ zoomed: index === 1 }));
  choices.append(
    choice("Metric", titles, 0, (index) => update({ metric: metrics[index] })),
    choice("Step axis", ["Linear", "Log"], 0, (index) => update({ xLog: index === 1 })),
    range,
  );
  const chart = makeChart(plot, { label: "Curves; arrow keys move the cursor", height: 300 });

  function update(changes) {
    Object.assign(state, changes);
    const { problem, agent, metric, xLog, hidden } = state;
    const cell = problem.cells[agent];
    const runs = ` · ${plural(cell.seeds, "seed")} · ${countText(cell.steps)} training steps per seed`;
    title.textContent = problemName(problem);
    subtitle.replaceChildren(element("b", {}, colouredName(page.agents[agent])), runs);
    numbers.replaceChildren(numbersOf(problem, agent));
    const series = curvesOf(state);
    const lines = levelLines(problem.cells, metric);
    const banded = problem.cells.some((cell) => cell?.seeds > 1);
    range.disabled = metric.name !== "return" || lines.length === 0;
    const remark = banded ? " Mean over seeds with 95% interval." : "";
    chartTitle.replaceChildren(element("b", {}, metric.description), remark);
    plot.hidden = series.length === 0;
    empty.hidden = series.length > 0;
    const zoom = state.zoomed && !range.disabled ? nearLevels(lines) : null;
    chart.draw({ ...metric, series, lines, range: zoom, xLog });
    problem.cells.forEach((cell, index) => {
      toggles.children[index].disabled = cell === null;
      toggles.children[index].setAttribute("aria-pressed", cell !== null && !hidden.has(index));
    });
  }

  function toggle(agent) {
    if (!state.hidden.delete(agent)) state.hidden.add(agent);
    update({});
  }

  toggles.append(
    ...page.agents.map((agent, index) => element("button", { onclick: () => toggle(index) }, colouredName(agent))),
  );

  return (problem, agent) => update({ problem: page.problems[problem], agent });
}

/** The curves to draw: of agents that have runs, are not hidden, and have the metric. */
function curvesOf({ problem, metric, hidden, agent: chosen }) {
  return page.agents.flatMap(({ name, colour }, index) => {
    const cell = problem.cells[index];
    const curve = cell?.curves[metric.name];
    if (!curve || hidden.has(index)) return [];
    return [{ ...curve, name, colour, x: page.axes[cell.axis], strong: index === chosen }];
  });
}

/** A range around the lines of a chart that shows differences of a few percent. */
function nearLevels(lines) {
  const values = lines.map(({ value }) => value);
  const [low, high] = [Math.min(...values), Math.max(...values)];
  const size = Math.max(Math.abs(low), Math.abs(high), 0.01);
  return [low - 0.2 * size, high + 0.05 * size];
}

function untilText({ solved, until }) {
  if (solved === null) return "–";
  return until === null ? "never" : countText(until);
}

/** The final value of a metric over the seeds of a cell. */
const finalText = (cell, metric) => estimateText(cell.curves[metric.name]?.final ?? [null, null], metric);

/** A table with the outcome and the final metrics of all agents. */
function numbersOf(problem, chosen) {
  const shown = metrics.filter((metric) => problem.cells.some((cell) => cell?.curves[metric.name]));
  const headings = ["Agent", "Solved", "Steps until solved", ...shown.map(({ title }) => title)];
  const rows = page.agents.map((agent, index) => {
    const cell = problem.cells[index];
    if (cell === null) return row({}, colouredName(agent), ["no runs"]);
    const values = [solvedText(cell), untilText(cell), ...shown.map((metric) => finalText(cell, metric))];
    return row({ "aria-current": index === chosen }, colouredName(agent), values);
  });
  return table({ class: "numbers" }, headings, rows);
}
