/* One snapshot of a run, as grids and in words. */

/** The snapshot of a run at an index; goal is {state, action}, null if the agent has none. */
function snapshotOf(problem, run, index) {
  const arrays = Object.entries(run).filter(([, values]) => ArrayBuffer.isView(values));
  const parts = arrays.map(([name, values]) => {
    const size = values.length / run.steps.length;
    return [name, values.subarray(index * size, (index + 1) * size)];
  });
  const pair = run.goals ? run.goals[index] - 1 : -1;
  const nActions = problem.actions.length * problem.monitorActions.length;
  const goal = pair < 0 ? null : { state: Math.floor(pair / nActions), action: pair % nActions };
  return { ...Object.fromEntries(parts), state: run.states[index], goal };
}

/** Splits a joint state, or a joint action, into the index of the environment and that of the monitor. */
const split = (joint, monitorNames) => [Math.floor(joint / monitorNames.length), joint % monitorNames.length];

/** The actions of a set of bits; none where all actions are in it, since nothing is preferred. */
function preferredActions(problem, bits) {
  const count = problem.actions.length * problem.monitorActions.length;
  const actions = Array.from({ length: count }, (_, action) => action).filter((action) => (bits >>> action) & 1);
  return actions.length === count ? [] : actions;
}

/** Values as fractions between the smallest and the largest, 0 for NaN. */
function fractionsOf(values) {
  const [low, high] = extent([values], false, [0, 0]);
  return Array.from(values, (value) => (value - low) / (high - low) || 0);
}

/** Logarithms of counts as fractions of the largest. */
const logFractions = (counts) => fractionsOf([0, ...counts].map(Math.log1p)).slice(1);

/** What the grids can show: the fraction of colour per state (or pair), the ends of the legend, and a caption. */
const LAYERS = {
  visits: {
    text: "Visits",
    colour: "light-dark(#e48428, #b5651d)",
    caption: "Stronger colour: visited more often. Arrows: greedy policy; none where all actions are equal. ★: goal.",
    fractions: ({ visits }) => logFractions(visits),
    legend: ({ visits }) => ["never", plural(Math.max(...visits), "visit")],
  },
  goal: {
    text: "Path to goal",
    colour: "light-dark(#35a983, #1c8767)",
    caption: "Stronger colour: the agent expects to reach its goal ★ sooner. Arrows: best actions toward the goal.",
    fractions: ({ goalValues }) => fractionsOf(goalValues),
    legend: () => ["farthest", "nearest to the goal"],
  },
  rewards: {
    text: "Rewards observed",
    colour: "light-dark(#3f8cc4, #2d7cb8)",
    caption: "Stronger colour: the reward of this action was observed more often. Empty: never observed.",
    fractions: ({ rewardCounts }) => logFractions(rewardCounts),
    legend: ({ rewardCounts }) => ["never", `observed ${plural(Math.max(...rewardCounts), "time")}`],
  },
};

/** The figures of a snapshot: one grid per monitor state, or one grid of environment actions for the rewards. */
function snapshotFigures(problem, snapshot, layer) {
  const fractions = LAYERS[layer].fractions(snapshot);
  const figure = (caption, label, content) => {
    const attributes = { class: "grid", "aria-label": `${caption}; ${label}`, "--high": LAYERS[layer].colour };
    const picture = drawGrid(problem.tiles, problem.places, attributes, (tile, place) => {
      const { data, text, ground, marks } = content(place);
      return [data, [element("title", {}, text), ...ground, ...landmarks(problem, tile, place), ...marks]];
    });
    return element("figure", { "--columns": problem.tiles[0].length }, element("figcaption", {}, caption), picture);
  };
  if (layer === "rewards") {
    const sides = areMoves(problem.actions) ? "one side per move, STAY in the middle" : "actions from left to right";
    const content = (place) => rewardCell(problem, snapshot, fractions, place);
    return [figure(`Parts of a cell: ${sides}`, observedPairsText(snapshot), content)];
  }
  return problem.monitorStates.map((name, monitor) => {
    const caption = problem.monitorStates.length > 1 ? `Monitor: ${name}` : "Environment";
    const content = (place) => stateCell(problem, snapshot, layer, fractions, place, monitor);
    return figure(caption, snapshotText(problem, snapshot), content);
  });
}

function stateCell(problem, snapshot, layer, fractions, place, monitor) {
  const state = place * problem.monitorStates.length + monitor;
  const reachable = problem.reachable[state];
  const best = layer === "goal" ? snapshot.goalBest : snapshot.best;
  return {
    data: { "data-state": state, class: reachable ? null : "unreachable" },
    text: stateDetails(problem, snapshot, state),
    ground: [square({ class: "heat", "--t": reachable ? fractions[state] : 0 })],
    marks: [
      ...(reachable ? drawActions(problem, preferredActions(problem, best[state])) : []),
      snapshot.goal?.state === state ? drawMark("goal") : null,
      snapshot.state === state ? drawMark("agent") : null,
    ],
  };
}

function rewardCell(problem, { state, rewardCounts }, fractions, place) {
  const nActions = problem.actions.length;
  const polygons = actionPolygons(problem.actions).map((points, action) => {
    const pair = place * nActions + action;
    if (rewardCounts[pair] === 0) return element("polygon", { class: "part", points });
    return element("polygon", { class: "part heat observed", points, "--t": 0.25 + 0.75 * fractions[pair] });
  });
  const here = split(state, problem.monitorStates)[0] === place;
  const counts = problem.actions.map((action, i) => `${action} ${countText(rewardCounts[place * nActions + i])}`);
  return {
    data: { "data-place": place },
    text: `${problem.states[place]}: rewards observed for ${counts.join(", ")}`,
    ground: polygons,
    marks: [here ? drawMark("agent") : null],
  };
}

/** The tile of a place, small in a corner unless it fills the cell, and a button if there is one. */
function landmarks(problem, tile, place) {
  const full = page.tiles[tile]?.[0][0] === "rectangle";
  const attributes = full ? { class: "full-tile" } : { transform: "translate(60,60) scale(0.36)" };
  return [element("g", attributes, drawTile(tile)), problem.buttons.includes(place) ? drawMark("button") : null];
}

/** Arrows for environment actions, and the monitor action where all agree on one that does something. */
function drawActions(problem, preferred) {
  const pairs = preferred.map((action) => split(action, problem.monitorActions));
  const moves = [...new Set(pairs.map(([action]) => action))];
  const words = [...new Set(pairs.map(([, action]) => problem.monitorActions[action]))];
  const arrows = moves.map((action) => drawArrow(problem.actions[action], moves.length > 1));
  if (problem.monitorActions.length === 1 || words.length !== 1 || words[0] === "no-op") return arrows;
  return [...arrows, element("text", { x: 6, y: 92 }, words[0].slice(0, 6))];
}

function observedPairsText({ rewardCounts }) {
  return `rewards of ${rewardCounts.filter((count) => count > 0).length} of ${rewardCounts.length} pairs observed`;
}

/** A joint state or action; the monitor's part only where it has several. */
function jointText(joint, names, monitorNames, separator) {
  const [own, monitor] = split(joint, monitorNames);
  return monitorNames.length > 1 ? `${names[own]}${separator}${monitorNames[monitor]}` : names[own];
}

const stateText = (problem, state) => jointText(state, problem.states, problem.monitorStates, ", monitor ");
const actionText = (problem, action) => jointText(action, problem.actions, problem.monitorActions, " + ");

function snapshotText(problem, { state, goal }) {
  const agent = `agent in ${stateText(problem, state)}`;
  return goal ? `${agent}; goal: ${actionText(problem, goal.action)} in ${stateText(problem, goal.state)}` : agent;
}

/** What is known about a joint state: its visits, best actions and value toward the goal. */
function stateDetails(problem, { visits, best, goalValues }, state) {
  if (!problem.reachable[state]) return `${stateText(problem, state)}: cannot be reached`;
  const actions = preferredActions(problem, best[state]).map((action) => actionText(problem, action));
  const policy = `${plural(visits[state], "visit")}; best ${actions.join(" or ") || "any action"}`;
  const toward = goalValues ? `; value toward the goal ${shortText(goalValues[state])}` : "";
  return `${stateText(problem, state)}: ${policy}${toward}`;
}
