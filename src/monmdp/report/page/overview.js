/* The overview: one card per environment, one row per monitor, one column per agent; many agents are rows instead. */

const DIRECTIONS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };

/** Fills `host`; onChoose(problem, agent) is called with indices. Returns select(problem, agent). */
function makeOverview(host, onChoose) {
  const environments = Map.groupBy(page.problems.entries(), ([, { environment }]) => environment);
  const most = Math.max(...[...environments.values()].map((problems) => problems.length));
  const many = page.agents.length > FEW_AGENTS;
  host.style.setProperty("--columns", many ? most : page.agents.length);
  host.style.setProperty("--first", many ? "200px" : "72px");
  for (const [name, problems] of environments) host.append(environmentCard(name, problems, onChoose));
  const buttons = [...host.querySelectorAll("button")];
  const rows = [...host.querySelectorAll("tbody tr")];
  host.addEventListener("keydown", (event) => moveFocus(event, rows));

  /** Marks the chosen cell, which is the only one in the tab order; arrow keys reach the others. */
  return function select(problem, agent) {
    for (const button of buttons) {
      const chosen = button.dataset.cell === `${problem} ${agent}`;
      button.setAttribute("aria-pressed", chosen);
      button.tabIndex = chosen ? 0 : -1;
    }
  };
}

function environmentCard(environment, problems, onChoose) {
  const tiles = problems.map(([, problem]) => problem.tiles).find((map) => map !== null);
  const cellOf = ([index, problem], agent) => overviewCell(problem, index, problem.cells[agent], agent, onChoose);
  const [agents, monitors] = [page.agents.map(({ name }) => name), problems.map(([, { monitor }]) => monitor)];
  const many = agents.length > FEW_AGENTS;
  const rows = many
    ? page.agents.map((agent, i) => row({}, colouredName(agent), problems.map((problem) => cellOf(problem, i))))
    : problems.map((problem, i) => row({}, monitors[i], agents.map((_, agent) => cellOf(problem, agent))));
  const headings = (many ? monitors : agents).map((name) => element("span", { title: name }, name));
  const map = tiles ? drawMap(tiles, `Map of ${environment}`) : null;
  return element(
    "div",
    { class: `card${many ? " many" : ""}`, role: "group", "aria-label": `${environment}: percent of seeds solved` },
    element("header", {}, element("h3", {}, environment), map),
    table({}, ["", ...headings], rows),
  );
}

function overviewCell(problem, index, cell, agent, onChoose) {
  const outcome = cell ? `seeds solved: ${solvedText(cell)}${intervalText(cell)}` : "no runs in this folder";
  const label = `${page.agents[agent].name} in ${problemName(problem)}: ${outcome}`;
  const described = { title: label, "aria-label": label };
  if (cell === null) return element("span", { class: "missing", role: "img", ...described });
  const share = cell.share?.[0] ?? 0;
  const attributes = { class: "share", "data-cell": `${index} ${agent}`, "--t": share, ...described };
  const text = cell.share ? percentText(share).slice(0, -1) : "·";
  return element("button", { ...attributes, onclick: () => onChoose(index, agent) }, text);
}

/** Moves the focus to the next button in the direction of an arrow key; rows continue in the next card. */
function moveFocus(event, rows) {
  const direction = DIRECTIONS[event.key];
  const button = event.target.closest("button");
  if (!direction || !button) return;
  event.preventDefault();
  let [r, c] = [rows.indexOf(button.closest("tr")), button.closest("th, td").cellIndex];
  let next = null;
  do {
    [r, c] = [r + direction[1], c + direction[0]];
    next = rows[r]?.cells[c];
  } while (next && !next.querySelector("button")); // a cell without runs
  if (!next) return;
  button.tabIndex = -1;
  next.firstChild.tabIndex = 0;
  next.firstChild.focus();
}

/** The colours of the overview in words. */
function overviewLegend() {
  const cells = page.problems.flatMap((problem) => problem.cells);
  const missing = cells.includes(null) ? [element("i", { class: "missing" }), "no runs"] : [];
  const notEvaluated = cells.some((cell) => cell?.solved === null) ? ["· not evaluated"] : [];
  return ["0%", element("i", { class: "ramp" }), "100% of seeds", ...missing, ...notEvaluated];
}

/** A bar per agent: the fraction of all its runs that ended with an optimal policy. */
function scoreBars() {
  return page.agents.map(({ name, colour, share }) =>
    element(
      "li",
      {},
      element("span", { title: name }, name),
      element("span", { class: "bar", "--t": share ?? 0, "--colour": colour }),
      element("b", {}, share === null ? "–" : percentText(share)),
    ),
  );
}
