/* A run from inside: pictures of the world, curves and a few words, all at the moment of the slider. */

const LAYERS = {
  visits: "Warmer: visited more often. Arrows: the greedy policy; no arrow where all actions look alike.",
  goal: "Greener: the agent expects to reach its goal ★ sooner. Arrows: its way there, several if undecided.",
  rewards: "Blue: the reward of an action in this place has been seen; the stronger, the more often. Empty: never.",
};
const FRAME = 90; // milliseconds a moment while playing

function makeInspector(host) {
  if (page.inspector.length === 0) {
    host.append(make("p", { class: "note" }, "No run could be drawn: none of the problems has places to draw."));
    return;
  }
  const state = { problem: 0, run: 0, moment: 0, layer: "visits", timer: null, pointed: null };
  const parts = inspectorParts();
  let view = null;

  const problem = () => page.inspector[state.problem];
  const run = () => problem().runs[state.run];

  function chooseProblem(index) {
    Object.assign(state, { problem: index, run: Math.min(state.run, page.inspector[index].runs.length - 1) });
    parts.story.textContent = problem().story;
    const runs = problem().runs.map(({ agent }, i) => ({ value: String(i), text: agent }));
    parts.agents.replaceChildren(makeSwitch("Agent", runs, String(state.run), (i) => chooseRun(Number(i))));
    view = makeWorld(problem());
    parts.world.replaceChildren(...view.figures);
    chooseRun(state.run);
  }

  function chooseRun(index) {
    state.run = index;
    const last = unpack(run().steps).length - 1;
    parts.slider.max = last;
    state.moment = Math.min(state.moment, last);
    const aims = run().goals !== null;
    if (!aims && state.layer === "goal") state.layer = "visits";
    const layers = [
      { value: "visits", text: "Visits" },
      { value: "goal", text: "Way to the goal" },
      { value: "rewards", text: "Rewards seen" },
    ].filter(({ value }) => aims || value !== "goal");
    parts.layers.replaceChildren(makeSwitch("Layer", layers, state.layer, chooseLayer));
    drawCurves(parts, run());
    chooseLayer(state.layer);
  }

  function chooseLayer(layer) {
    state.layer = layer;
    view.choose(layer, run());
    parts.caption.textContent = LAYERS[layer];
    parts.marks.replaceChildren(...marksOf(layer, run()));
    state.pointed = null;
    show(state.moment);
  }

  function show(moment) {
    state.moment = moment;
    const step = unpack(run().steps)[moment];
    parts.slider.value = moment;
    parts.slider.setAttribute("aria-valuetext", `step ${countText(step)}`);
    parts.step.replaceChildren(make("b", {}, countText(step)), ` of ${countText(unpack(run().steps).at(-1))} steps`);
    parts.facts.replaceChildren(...factsOf(problem(), run(), moment));
    parts.returns.mark(step);
    parts.second.mark(step);
    view.show(run(), moment, state.layer);
    parts.scale.replaceChildren(...scaleOf(run(), moment, state.layer));
    parts.readout.textContent = state.pointed ? cellText(problem(), run(), moment, state.pointed) : "";
  }

  function play(on) {
    clearInterval(state.timer);
    state.timer = on ? setInterval(advance, FRAME) : null;
    parts.play.setAttribute("aria-label", on ? "Pause" : "Play");
    parts.play.classList.toggle("playing", on);
  }

  function advance() {
    if (state.moment >= Number(parts.slider.max)) play(false);
    else show(state.moment + 1);
  }

  function toggle() {
    if (state.timer === null && state.moment >= Number(parts.slider.max)) show(0);
    play(state.timer === null);
  }

  /** The moment recorded nearest to a step, as clicked on in a curve. */
  const seek = (step) => show(nearest(unpack(run().steps), step));

  function readOut(event) {
    const cell = event.target.closest("[data-state]");
    if (!cell) return;
    state.pointed = cell.dataset;
    parts.readout.textContent = cellText(problem(), run(), state.moment, state.pointed);
  }

  const names = page.inspector.map(({ name }, index) => make("option", { value: index }, name));
  const select = make(
    "select",
    { id: "inspector-problem", onchange: (event) => chooseProblem(Number(event.target.value)) },
    ...names,
  );
  const chooser = make("div", { class: "field" }, make("label", { for: "inspector-problem" }, "Problem"), select);
  parts.slider.addEventListener("input", () => show(Number(parts.slider.value)));
  parts.play.addEventListener("click", toggle);
  parts.world.addEventListener("pointerover", readOut);
  host.addEventListener("keydown", (event) => {
    // A button or a list keeps its own meaning of the space bar.
    if (event.key !== " " || event.target.closest("button, select, summary")) return;
    event.preventDefault();
    toggle();
  });
  host.append(...arrange(parts, chooser));
  parts.returns = makeChart(parts.returnPlot, {
    label: "Return over training, a line at the moment shown",
    height: 170,
    onPick: seek,
  });
  parts.second = makeChart(parts.secondPlot, { label: "β or rewards seen over training", height: 170, onPick: seek });
  chooseProblem(0);
  show(Math.round(Number(parts.slider.max) * 0.1));
}

function inspectorParts() {
  const slider = make("input", {
    type: "range",
    min: 0,
    max: 1,
    value: 0,
    step: 1,
    "aria-label": "Moment of training",
  });
  return {
    slider,
    play: make("button", { type: "button", class: "play", "aria-label": "Play" }, make("i", { "aria-hidden": true })),
    step: make("output", { class: "step" }),
    agents: make("div"),
    layers: make("div"),
    story: make("p", { class: "story" }),
    world: make("div", { class: "world" }),
    scale: make("p", { class: "legend" }),
    caption: make("p", { class: "caption" }),
    marks: make("p", { class: "legend marks" }),
    readout: make("p", { class: "readout", "aria-live": "polite" }),
    facts: make("dl", { class: "facts" }),
    returnPlot: make("div"),
    secondPlot: make("div"),
    secondTitle: make("p", { class: "chart-title" }),
  };
}

function arrange(parts, chooser) {
  const side = make(
    "div",
    { class: "side" },
    parts.facts,
    make("p", { class: "chart-title" }, "Return of the greedy policy"),
    parts.returnPlot,
    parts.secondTitle,
    parts.secondPlot,
  );
  const left = make("div", { class: "stage" }, parts.world, parts.readout, parts.scale, parts.marks, parts.caption);
  const bar = make("div", { class: "transport" }, parts.play, parts.slider, parts.step);
  return [
    make(
      "div",
      { class: "panel" },
      make("div", { class: "switches" }, chooser, parts.agents, parts.layers),
      parts.story,
      bar,
      make("div", { class: "inside" }, left, side),
    ),
  ];
}

/** What the marks of a layer mean. */
function marksOf(layer, run) {
  const shown = [sample(agentMark(), 80, 20), "agent"];
  if (run.goals !== null && layer !== "rewards") shown.push(sample(goalMark(), 20, 21), "goal");
  if (layer !== "rewards")
    shown.push(sample(arrow("RIGHT", false), 50, 50), layer === "goal" ? "toward the goal" : "best action");
  return shown;
}

/** A mark of the grid in a line of text. */
function sample(mark, x, y) {
  return draw("svg", { class: "sample", viewBox: `${x - 30} ${y - 30} 60 60`, "aria-hidden": true }, mark);
}

function factsOf(problem, run, moment) {
  const goal = goalOf(problem, run, moment);
  const beta = run.beta ? unpack(run.beta)[moment] : null;
  const result = unpack(run.returns)[moment];
  const pairs = problem.places.length * problem.actions.length;
  const known = unpack(run.known).subarray(moment * pairs, (moment + 1) * pairs);
  const entries = [
    ["Greedy return", `${returnText(result)} of ${returnText(run.optimum)}`],
    ["Rewards seen", `${countText(unpack(run.observed)[moment])}, of ${seenText(known)}`],
    ["Explored", `${shareText(unpack(run.explored)[moment])} of steps`],
  ];
  if (goal) entries.push(["Goal", goalText(problem, goal)]);
  if (beta !== null)
    entries.push([
      "β",
      Number.isNaN(beta)
        ? "∞, goal never visited"
        : `${betaText(beta)}, ${beta > run.betaBar ? "exploring" : "greedy"}`,
    ]);
  return entries.map(([label, value]) => make("div", {}, make("dt", {}, label), make("dd", {}, value)));
}

function drawCurves(parts, run) {
  const x = unpack(run.steps);
  const colours = coloursOf(run);
  const common = { xLog: false, yLog: false, range: null };
  const one = (mean) => [{ name: run.agent, x, mean, half: null, strong: true, colours }];
  const optimum = [{ value: run.optimum, text: `optimum ${returnText(run.optimum)}` }];
  parts.returns.draw({ ...common, series: one(unpack(run.returns)), lines: optimum, format: returnText });
  parts.secondTitle.textContent = run.beta ? "β, on a logarithmic scale" : "Rewards seen (this agent has no β)";
  if (run.beta) {
    const lines = [{ value: run.betaBar, text: `explores above ${betaText(run.betaBar)}` }];
    parts.second.draw({ ...common, yLog: true, series: one(unpack(run.beta)), lines, format: betaText });
  } else {
    parts.second.draw({
      ...common,
      fromZero: true,
      series: one(Float32Array.from(unpack(run.observed))),
      lines: [],
      format: countText,
    });
  }
}

/** The colour scale of a layer in words. */
function scaleOf(run, moment, layer) {
  const count = unpack(run.visits).length / unpack(run.steps).length;
  const pairs = unpack(run.known).length / unpack(run.steps).length;
  const most = (values, width) => countText(Math.max(...unpack(values).subarray(moment * width, (moment + 1) * width)));
  const words = {
    visits: () => ["never", `${most(run.visits, count)} visits`],
    goal: () => ["farthest", "nearest to the goal"],
    rewards: () => ["never seen", `seen ${most(run.known, pairs)} times`],
  }[layer]();
  return [make("span", {}, words[0]), make("i", { class: `ramp ${layer}` }), make("span", {}, words[1])];
}
