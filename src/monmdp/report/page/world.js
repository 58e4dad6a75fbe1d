/* The grids of a run at one moment: what is filled in where, and what it means in words. */

/** The grids of a problem; choose(layer) shows the right ones, show(moment) fills them. */
function makeWorld(problem) {
  const many = problem.monitorStates.length > 1;
  const grids = problem.monitorStates.map((name, i) => makeGrid(problem, many ? `Monitor: ${name}` : "The world", i));
  const knowledge = makeKnowledge(problem);
  const reachable = unpack(problem.reachable);
  return {
    figures: [...grids.map(({ figure }) => figure), knowledge.figure],
    choose(layer) {
      for (const grid of grids) grid.figure.hidden = layer === "rewards";
      knowledge.figure.hidden = layer !== "rewards";
    },
    show(run, moment, layer) {
      if (layer === "rewards") showKnowledge(knowledge, problem, run, moment);
      else grids.forEach((grid, i) => showGrid(grid, i, problem, reachable, run, moment, layer));
    },
  };
}

/** Where the goal is, as [state, action]; null without one. */
function goalOf(problem, run, moment) {
  const goal = run.goals === null ? 0 : unpack(run.goals)[moment];
  const width = problem.actions.length * problem.monitorActions.length;
  return goal === 0 ? null : [Math.floor((goal - 1) / width), (goal - 1) % width];
}

function showGrid(grid, monitorState, problem, reachable, run, moment, layer) {
  const width = problem.monitorStates.length;
  const count = problem.places.length * width;
  const here = unpack(run.states)[moment];
  const goal = goalOf(problem, run, moment);
  const heat = layer === "goal" ? goalHeat(run, moment, count) : visitHeat(run, moment, count);
  const best = unpack(layer === "goal" ? run.goalBest : run.best);
  grid.picture.classList.toggle("goal-layer", layer === "goal");
  grid.picture.setAttribute("aria-label", `${grid.label}; ${momentText(problem, run, moment)}`);
  grid.cells.forEach((part, place) => {
    const state = place * width + monitorState;
    part.cell.classList.toggle("unreachable", !reachable[state]);
    part.heat.style.setProperty("--t", reachable[state] ? heat(state) : 0);
    drawArrows(part, reachable[state] ? best[moment * count + state] : 0, problem);
    const marks = [];
    if (goal && goal[0] === state) marks.push(goalMark());
    if (here === state) marks.push(agentMark());
    part.marks.replaceChildren(...marks);
  });
}

/** How warm a state is: logarithmic, from never to the most visited state of this moment. */
function visitHeat(run, moment, count) {
  const visits = unpack(run.visits).subarray(moment * count, (moment + 1) * count);
  const top = Math.log1p(Math.max(...visits)) || 1;
  return (state) => Math.log1p(visits[state]) / top;
}

/** How near the goal is: between the farthest and the nearest state, since discounting leaves all close to 1. */
function goalHeat(run, moment, count) {
  const values = unpack(run.goalValues).subarray(moment * count, (moment + 1) * count);
  const [low, high] = extent([values], () => true);
  return (state) => (Number.isFinite(values[state]) && high > low ? (values[state] - low) / (high - low) : 0);
}

function showKnowledge(knowledge, problem, run, moment) {
  const count = knowledge.areas.length;
  const known = unpack(run.known).subarray(moment * count, (moment + 1) * count);
  const top = Math.log1p(Math.max(...known)) || 1;
  knowledge.areas.forEach((area, pair) => {
    area.classList.toggle("seen", known[pair] > 0);
    area.style.setProperty("--t", known[pair] > 0 ? 0.25 + (0.75 * Math.log1p(known[pair])) / top : 0);
  });
  const place = Math.floor(unpack(run.states)[moment] / problem.monitorStates.length);
  knowledge.cells.forEach(({ marks }, i) => marks.replaceChildren(...(i === place ? [agentMark()] : [])));
  knowledge.picture.setAttribute("aria-label", `Rewards seen: ${seenText(known)}`);
}

const seenText = (known) => `${known.filter((times) => times > 0).length} of ${known.length} actions`;

function stateText(problem, state) {
  const width = problem.monitorStates.length;
  const place = problem.states[Math.floor(state / width)];
  return width > 1 ? `${place}, monitor ${problem.monitorStates[state % width]}` : place;
}

function momentText(problem, run, moment) {
  const goal = goalOf(problem, run, moment);
  const here = `agent in ${stateText(problem, unpack(run.states)[moment])}`;
  return goal ? `${here}; goal ${goalText(problem, goal)}` : here;
}

function goalText(problem, [state, action]) {
  const width = problem.monitorActions.length;
  return `${actionText([Math.floor(action / width), action % width], problem)} in ${stateText(problem, state)}`;
}

/** What is known about one cell, in words. */
function cellText(problem, run, moment, { state, monitor }) {
  if (monitor === undefined) {
    const width = problem.actions.length;
    const known = unpack(run.known);
    const start = moment * problem.places.length * width + Number(state) * width;
    const told = problem.actions.map((action, i) => `${action} ${countText(known[start + i])}`);
    return `${problem.states[state]}: rewards seen of ${told.join(", ")}`;
  }
  const joint = Number(state) * problem.monitorStates.length + Number(monitor);
  const at = moment * problem.places.length * problem.monitorStates.length + joint;
  if (!unpack(problem.reachable)[joint]) return `${stateText(problem, joint)}: cannot be reached`;
  const best = actionsOf(unpack(run.best)[at], problem).map((action) => actionText(action, problem));
  const toward = run.goalValues ? `; toward the goal ${betaText(unpack(run.goalValues)[at])}` : "";
  const tied = best.length === problem.actions.length * problem.monitorActions.length;
  const policy = tied ? "any action" : best.join(" or ");
  return `${stateText(problem, joint)}: ${plural(unpack(run.visits)[at], "visit")}; best ${policy}${toward}`;
}
