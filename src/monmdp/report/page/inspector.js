/* The run inspector: grids and charts of one run, at the snapshot that the slider selects. */

const FRAME_MS = 90; // per snapshot while playing

function makeInspector(host) {
  if (page.inspector.length === 0) {
    host.append(element("p", { class: "note" }, "No run can be shown: none of the problems has a map."));
    return;
  }
  const state = { problem: null, run: null, agent: 0, index: 0, layer: "visits", timer: null, pointed: null };
  const onInput = () => show(Number(slider.value));
  const slider = element("input", { type: "range", min: 0, "aria-label": "Training step", oninput: onInput });
  const playButton = element("button", { onclick: toggle }, "▶ Play");
  const step = element("output");
  const agents = element("div");
  const layers = element("div");
  const description = element("p");
  const grids = element("div", { class: "grids", onpointerover: point });
  const readout = element("p", { class: "readout", "aria-live": "polite" });
  const legend = element("p", { class: "legend" });
  const marks = element("p", { class: "legend" });
  const caption = element("p", { class: "caption" });
  const facts = element("p", { class: "readout" });
  const plots = element("div");
  let charts = [];

  const problems = page.inspector.map(({ name }, index) => ({ value: index, text: name }));
  host.append(
    element("div", { class: "choices" }, choice("Problem", problems, 0, chooseProblem), agents, layers),
    description,
    element("div", { class: "player" }, playButton, slider, step),
    element(
      "div",
      { class: "two-columns" },
      element("div", {}, grids, readout, legend, marks, caption),
      element("div", {}, facts, plots),
    ),
  );
  host.addEventListener("keydown", (event) => {
    if (event.key !== " " || event.target.closest("button")) return; // a button is pressed by the space bar
    event.preventDefault();
    toggle();
  });
  chooseProblem(0);
  show(Math.round(Number(slider.max) * 0.1));

  function chooseProblem(index) {
    state.problem = unpackAll(page.inspector[index]);
    description.textContent = state.problem.description;
    chooseAgent(Math.min(state.agent, state.problem.runs.length - 1));
    const options = state.problem.runs.map(({ agent }, i) => ({ value: i, text: agent }));
    agents.replaceChildren(choice("Agent", options, state.agent, chooseAgent));
  }

  function chooseAgent(agent) {
    const run = unpackAll(state.problem.runs[agent]);
    run.metrics = unpackAll(run.metrics);
    slider.max = run.steps.length - 1;
    Object.assign(state, { run, agent, index: Math.min(state.index, run.steps.length - 1) });
    charts = metrics.filter(({ name }) => run.metrics[name]).map((metric) => metricChart(run, metric, seek));
    plots.replaceChildren(...charts.map(({ box }) => box));
    const available = Object.keys(LAYERS).filter((layer) => layer !== "goal" || run.goals);
    const layer = available.includes(state.layer) ? state.layer : "visits";
    const options = available.map((name) => ({ value: name, text: LAYERS[name].text }));
    layers.replaceChildren(choice("Layer", options, layer, chooseLayer));
    chooseLayer(layer);
  }

  function chooseLayer(layer) {
    Object.assign(state, { layer, pointed: null });
    caption.textContent = LAYERS[layer].caption;
    marks.replaceChildren(...markLegend(layer, state.run));
    show(state.index);
  }

  function show(index) {
    const { problem, run, layer } = state;
    const [now, end] = [run.steps[index], run.steps.at(-1)].map((count) => countText(count));
    const snapshot = snapshotOf(problem, run, index);
    state.index = index;
    slider.value = index;
    slider.setAttribute("aria-valuetext", `step ${now}`);
    step.replaceChildren(element("b", {}, now), ` of ${end} steps`);
    grids.replaceChildren(...snapshotFigures(problem, snapshot, layer));
    const [low, high] = LAYERS[layer].legend(snapshot);
    legend.replaceChildren(low, element("i", { class: `ramp ${layer}` }), high);
    facts.textContent = capitalised(`${snapshotText(problem, snapshot)}; ${observedPairsText(snapshot)}.`);
    for (const chart of charts) chart.show(index);
    showCell();
  }

  /** Describes the cell under the pointer. */
  function showCell() {
    const { problem, run, index, pointed } = state;
    const text = () =>
      cellText(problem, snapshotOf(problem, run, index), Number(pointed.place), Number(pointed.monitor));
    readout.textContent = pointed ? text() : "";
  }

  function point(event) {
    const cell = event.target.closest("[data-place]");
    if (!cell) return;
    state.pointed = { ...cell.dataset };
    showCell();
  }

  function play(on) {
    clearInterval(state.timer);
    state.timer = on ? setInterval(advance, FRAME_MS) : null;
    playButton.textContent = on ? "❚❚ Pause" : "▶ Play";
  }

  function advance() {
    if (state.index >= Number(slider.max)) play(false);
    else show(state.index + 1);
  }

  function toggle() {
    if (state.timer === null && state.index >= Number(slider.max)) show(0);
    play(state.timer === null);
  }

  /** Shows the snapshot nearest to a step. */
  function seek(target) {
    show(nearest(state.run.steps, target));
  }
}

/** A chart of one metric of a run with its value at the snapshot shown; a click selects a step. */
function metricChart(run, metric, onPick) {
  const title = element("p", { class: "chart-title" });
  const plot = element("div");
  const chart = makeChart(plot, { label: `${metric.title}, with a line at the step shown`, height: 140, onPick });
  const mean = Float32Array.from(run.metrics[metric.name]);
  const series = [{ name: run.agent, colour: run.colour, x: run.steps, mean, half: null, strong: true }];
  chart.draw({ ...metric, series, lines: levelLines([run], metric), range: null, xLog: false });
  const show = (index) => {
    title.replaceChildren(element("span", {}, `${metric.title} `), estimateText([mean[index], null], metric));
    chart.mark(run.steps[index]);
  };
  return { box: element("div", {}, title, plot), show };
}

/** What the marks in a layer mean. */
function markLegend(layer, run) {
  const sample = (x, y, mark) => element("svg", { viewBox: `${x - 30} ${y - 30} 60 60`, "aria-hidden": true }, mark);
  const agent = [sample(80, 20, drawMark("agent")), "agent"];
  if (layer === "rewards") return agent;
  const goal = run.goals ? [sample(20, 21, drawMark("goal")), "goal"] : [];
  return [...agent, ...goal, sample(50, 50, drawArrow("RIGHT")), layer === "goal" ? "toward the goal" : "best action"];
}
