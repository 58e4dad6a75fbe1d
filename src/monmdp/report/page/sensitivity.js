/* Final results of variants over the options in which they differ: a line for one option, a heat map for two. */

/** What can be shown of a cell: a number with its interval [value, low, high], null without evaluation, as text. */
const OUTCOMES = [
  { text: "Return", interval: returnInterval, format: numberText },
  { text: "Seeds solved", interval: ({ share }) => share, format: percentText, range: [0, 1] },
];

function returnInterval({ curves, optimum }) {
  if (!curves.return) return null;
  const [mean, half] = curves.return.final;
  return [mean, mean - half, Math.max(Math.min(mean + half, optimum ?? Infinity), mean)];
}

/** Fills `host`; returns show(problem, agent). onChoose(problem, agent) is called with the indices of a variant. */
function makeSensitivity(host, onChoose) {
  const { choices, maps } = partsOf(host);
  const state = { outcome: OUTCOMES[0], chosen: [0, 0] };
  choices.append(choice("Outcome", OUTCOMES.map(({ text }) => text), 0, (index) => update({ outcome: OUTCOMES[index] })));

  function update(changes) {
    Object.assign(state, changes);
    const [problem] = state.chosen;
    const about = page.sensitivity.filter(({ cells }) => cells.flat().some((place) => place?.[0] === problem));
    const places = about.flatMap(({ cells }) => cells.flat()).filter((place) => place !== null);
    const values = places.map((place) => state.outcome.interval(cellAt(place))?.[0] ?? NaN);
    const range = state.outcome.range ?? extent([values], false, [0, 1]);
    const figures = about.map((study) => {
      const caption = element("figcaption", {}, `${study.agent} in ${study.problem}`);
      const attributes = { class: study.options.length > 1 ? null : "wide" };
      const content = study.options.length > 1 ? studyMap(study, range, state, onChoose) : studyChart(study, state);
      return [element("figure", attributes, caption, content.host), content];
    });
    maps.replaceChildren(...figures.map(([figure]) => figure));
    for (const [, content] of figures) content.draw?.();
    if (about.length === 0) maps.replaceChildren("The chosen problem has no variants that differ in their options.");
  }

  return (problem, agent) => update({ chosen: [problem, agent] });
}

const cellAt = ([problem, agent]) => page.problems[problem].cells[agent];

/** A study as a table of coloured numbers: the first option across, the second one down. */
function studyMap({ options: [across, down], columns, rows, cells }, [low, high], { outcome, chosen }, onChoose) {
  const button = (place, label) => {
    if (place === null) return element("span", { class: "missing" });
    const value = outcome.interval(cellAt(place))?.[0] ?? null;
    const text = value === null ? "·" : outcome.format(value);
    const pressed = place[0] === chosen[0] && place[1] === chosen[1];
    const described = { title: `${label}: ${text}`, "aria-label": `${label}: ${text}`, "aria-pressed": pressed };
    const shade = { class: "share", "--t": (value - low) / (high - low || 1) };
    return element("button", { ...shade, ...described, onclick: () => onChoose(...place) }, text);
  };
  const lines = cells.map((line, r) => {
    const name = (c) => `${across}=${columns[c]}, ${down}=${rows[r]}`;
    return row({}, rows[r], line.map((place, c) => button(place, name(c))));
  });
  const map = table({ class: "map" }, [`${down} ↓ ${across} →`, ...columns], lines);
  const scrolled = { class: "scroll", tabindex: 0, role: "region", "aria-label": "Results over options" };
  return { host: element("div", scrolled, map) };
}

/** A study of one option as a line with a band; values are equally far apart. */
function studyChart({ agent, options: [option], columns, cells }, { outcome, chosen }) {
  const host = element("div");
  const chart = makeChart(host, { label: `${outcome.text} over ${option}; arrow keys move the cursor`, height: 220 });
  const none = [NaN, NaN, NaN];
  const intervals = cells[0].map((place) => (place && outcome.interval(cellAt(place))) ?? none);
  const [mean, low, high] = [0, 1, 2].map((i) => Float64Array.from(intervals, (interval) => interval[i]));
  const owner = page.agents[(cells[0].find((place) => place?.[1] === chosen[1]) ?? cells[0].find(Boolean))[1]];
  const style = { colour: owner.colour, dashes: null, name: agent, strong: true };
  const series = [{ ...style, x: Float64Array.from(columns.keys()), mean, half: null, band: [low, high] }];
  const lines = outcome.range ? [] : levelLines(cells[0].map((place) => place && cellAt(place)), metrics[0]);
  const spec = { series, lines, format: outcome.format, unknown: "–", xTexts: columns, xLabel: option };
  return { host, draw: () => chart.draw({ ...spec, range: outcome.range ? [-0.03, 1.03] : null, xLog: false }) };
}
