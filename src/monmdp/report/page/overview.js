/* The overview: one card an environment, one row a monitor, one column an agent. */

/** Builds cards into `host`; returns select(problem, agent), which marks the chosen cell. */
function makeOverview(host, onChoose) {
  const buttons = new Map();
  const byEnvironment = grouped(page.problems.keys(), (index) => page.problems[index].environment);
  host.style.setProperty("--agents", page.agents.length);
  for (const [environment, indices] of byEnvironment) {
    host.append(card(environment, indices, buttons, onChoose));
  }
  host.addEventListener("keydown", (event) => moveFocus(event, [...buttons.values()]));
  return (problem, agent) => {
    for (const [key, button] of buttons) {
      const chosen = key === `${problem} ${agent}`;
      if (button.classList.contains("share")) button.setAttribute("aria-pressed", chosen);
      button.tabIndex = chosen ? 0 : -1; // one stop for the tab key, arrow keys for the rest
      button.closest("tr").classList.toggle("chosen", button.closest("tr").dataset.problem === String(problem));
    }
  };
}

function grouped(items, keyOf) {
  const groups = new Map();
  for (const item of items) {
    const key = keyOf(item);
    groups.set(key, [...(groups.get(key) ?? []), item]);
  }
  return groups;
}

function card(environment, indices, buttons, onChoose) {
  const picture = indices.map((index) => page.problems[index].picture).find((rows) => rows !== null);
  const title = make("div", { class: "card-title" }, make("h3", { title: environment }, environment));
  if (picture) title.append(paintMap(picture, `Map of ${environment}`));
  const names = page.agents.map(({ name }) => make("th", { scope: "col", title: name }, make("span", {}, name)));
  const rows = indices.map((index) => row(index, buttons, onChoose));
  const table = make(
    "table",
    {},
    make("caption", { class: "unseen" }, `${environment}: percent of seeds solved`),
    make("thead", {}, make("tr", {}, make("td", {}), ...names)),
    make("tbody", {}, ...rows),
  );
  return make(
    "div",
    { class: "card", role: "group", "aria-label": environment },
    title,
    make("div", { class: "scroll" }, table),
  );
}

function row(index, buttons, onChoose) {
  const problem = page.problems[index];
  const name = make(
    "button",
    { class: "row-name", tabindex: -1, onclick: () => onChoose(index, null) },
    problem.monitor,
  );
  name.setAttribute("aria-label", `Curves of ${problemName(problem)}`);
  const cells = problem.cells.map((cell, agent) => {
    if (cell === null) return missing(problem, agent);
    const button = share(problem, agent, cell, () => onChoose(index, agent));
    buttons.set(`${index} ${agent}`, button);
    return make("td", {}, button);
  });
  buttons.set(`${index} name`, name);
  return make("tr", { "data-problem": index }, make("th", { scope: "row" }, name), ...cells);
}

function share(problem, agent, cell, onclick) {
  const fraction = cell.solved === null ? null : cell.solved / cell.seeds;
  const told = `${page.agents[agent].name} in ${problemName(problem)}: ${solvedText(cell)}`;
  const text = fraction === null ? "·" : percentText(fraction).slice(0, -1);
  return make(
    "button",
    { class: "share", "--t": fraction ?? 0, title: told, "aria-label": told, tabindex: -1, onclick },
    text,
  );
}

function missing(problem, agent) {
  const told = `${page.agents[agent].name} in ${problemName(problem)}: no runs in this folder`;
  return make("td", { class: "missing", title: told }, make("span", { role: "img", "aria-label": told }));
}

const DIRECTIONS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };

/** Arrow keys go to the nearest button in that direction, whatever the layout of the cards. */
function moveFocus(event, buttons) {
  const direction = DIRECTIONS[event.key];
  const here = event.target.closest("button");
  if (!direction || !here) return;
  event.preventDefault();
  const middle = (button) => {
    const box = button.getBoundingClientRect();
    return [box.left + box.width / 2, box.top + box.height / 2];
  };
  const [x, y] = middle(here);
  let [best, nearestSoFar] = [null, Infinity];
  for (const button of buttons) {
    const [dx, dy] = [middle(button)[0] - x, middle(button)[1] - y];
    const ahead = dx * direction[0] + dy * direction[1];
    const aside = Math.abs(dx * direction[1]) + Math.abs(dy * direction[0]);
    const distance = ahead + 4 * aside;
    if (ahead > 4 && distance < nearestSoFar) [best, nearestSoFar] = [button, distance];
  }
  if (!best) return;
  here.tabIndex = -1;
  best.tabIndex = 0;
  best.focus();
}

/** The colours in words. */
function overviewLegend() {
  const cells = page.problems.flatMap((problem) => problem.cells);
  const missingCells = cells.includes(null);
  const unevaluated = cells.some((cell) => cell?.solved === null);
  return make(
    "p",
    { class: "legend" },
    make("span", {}, "0%"),
    make("i", { class: "ramp" }),
    make("span", {}, "100% of seeds"),
    missingCells ? make("i", { class: "swatch missing" }) : null,
    missingCells ? make("span", {}, "no runs") : null,
    unevaluated ? make("span", {}, "· not evaluated") : null,
  );
}

/** Bars: how many of all runs of an agent ended optimal. */
function scoreBars() {
  return page.agents.map(({ name, ...agent }, index) => {
    const cells = page.problems.map((problem) => problem.cells[index]).filter((cell) => cell && cell.solved !== null);
    const sum = (key) => cells.reduce((total, cell) => total + cell[key], 0);
    const won = cells.length ? sum("solved") / sum("seeds") : 0;
    const whole = cells.filter((cell) => cell.solved === cell.seeds).length;
    const bar = make("span", { class: "bar agent", "--t": won, ...coloursOf(agent) });
    const percent = make("b", {}, cells.length ? percentText(won) : "–");
    return make(
      "li",
      { title: `${name}: every seed in ${whole} of ${cells.length} problems` },
      make("span", { class: "name" }, name),
      bar,
      percent,
    );
  });
}

/** An agent's colours for elements of class `agent`. */
const coloursOf = ({ colour, dark }) => ({ "--light": colour, "--dark": dark });
