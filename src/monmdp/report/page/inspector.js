/* The run inspector: grids and charts of one run, at the snapshot that the slider selects. */

const FRAME_MS = 90; // per snapshot while playing

function makeInspector(host) {
  const { problems, agents, layers, description, playButton, slider, step, ...parts } = partsOf(host);
  const state = { problem: null, run: null, agent: 0, index: 0, layer: "visits", timer: null };
  let charts = [];

  slider.oninput = () => show(Number(slider.value));
  playButton.onclick = toggle;
  host.onkeydown = (event) => {
    if (event.key !== " " || event.target === playButton) return; // a button is pressed by the space bar
    event.preventDefault();
    toggle();
  };
  problems.append(choice("Problem", page.inspector.map(({ name }) => name), 0, chooseProblem));
  chooseProblem(0);
  show(Math.round(Number(slider.max) * 0.1));

  function chooseProblem(index) {
    state.problem = page.inspector[index];
    const names = state.problem.runs.map(({ agent }) => agent);
    description.textContent = state.problem.description;
    chooseAgent(Math.min(state.agent, names.length - 1));
    agents.replaceChildren(choice("Agent", names, state.agent, chooseAgent));
  }

  function chooseAgent(agent) {
    const run = state.problem.runs[agent];
    slider.max = run.steps.length - 1;
    Object.assign(state, { run, agent, index: Math.min(state.index, run.steps.length - 1) });
    charts = metrics.filter(({ name }) => run.metrics[name]).map((metric) => metricChart(run, metric, show));
    parts.plots.replaceChildren(...charts.map(({ box }) => box));
    const available = Object.keys(LAYERS).filter((layer) => layer !== "goal" || run.goals);
    const layer = available.includes(state.layer) ? state.layer : "visits";
    const texts = available.map((name) => LAYERS[name].text);
    const chosen = available.indexOf(layer);
    layers.replaceChildren(choice("Layer", texts, chosen, (index) => chooseLayer(available[index])));
    chooseLayer(layer);
  }

  function chooseLayer(layer) {
    state.layer = layer;
    parts.caption.textContent = LAYERS[layer].caption;
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
    parts.grids.replaceChildren(...snapshotFigures(problem, snapshot, layer));
    const { legend, colour } = LAYERS[layer];
    const [low, high] = legend(snapshot);
    parts.legend.replaceChildren(low, element("i", { class: "ramp", "--high": colour }), high);
    parts.facts.textContent = capitalised(`${snapshotText(problem, snapshot)}; ${observedPairsText(snapshot)}.`);
    for (const chart of charts) chart.show(index);
  }

  function play(on) {
    clearInterval(state.timer);
    const advance = () => (state.index < Number(slider.max) ? show(state.index + 1) : play(false));
    state.timer = on ? setInterval(advance, FRAME_MS) : null;
    playButton.textContent = on ? "❚❚ Pause" : "▶ Play";
  }

  function toggle() {
    if (state.timer === null && state.index >= Number(slider.max)) show(0);
    play(state.timer === null);
  }
}

/** A chart of one metric of a run with its value at the snapshot shown; a click selects a snapshot. */
function metricChart(run, metric, onSelect) {
  const title = element("p", { class: "chart-title" });
  const plot = element("div");
  const onPick = (step) => onSelect(nearest(run.steps, step));
  const chart = makeChart(plot, { label: `${metric.title}, with a line at the step shown`, height: 140, onPick });
  const mean = run.metrics[metric.name];
  const series = [{ name: run.agent, colour: run.colour, x: run.steps, mean, half: null, band: null, strong: true }];
  chart.draw({ ...metric, series, lines: levelLines([run], metric), range: null, xLog: false });
  const show = (index) => {
    title.replaceChildren(`${metric.title} `, element("b", {}, estimateText([mean[index], null], metric)));
    chart.mark(run.steps[index]);
  };
  return { box: element("div", {}, title, plot), show };
}
