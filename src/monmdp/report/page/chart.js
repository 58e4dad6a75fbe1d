/* Line charts with bands. They are drawn anew when their size or content changes and keep no state but a cursor. */

const MARGIN = { top: 22, right: 14, bottom: 38, left: 52 };

function makeScale(low, high, from, to, log) {
  const into = log ? Math.log10 : (value) => value;
  const back = log ? (value) => 10 ** value : (value) => value;
  const start = into(low);
  const span = into(high) - start || 1;
  const scale = (value) => from + ((into(value) - start) / span) * (to - from);
  scale.invert = (place) => back(start + ((place - from) / (to - from)) * span);
  scale.ticks = (count) => (log ? logTicks(low, high) : niceTicks(low, high, count));
  return scale;
}

function niceTicks(low, high, count) {
  const rough = (high - low) / Math.max(count, 1);
  if (!(rough > 0)) return [low];
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = power * [1, 2, 5, 10].find((factor) => factor * power >= rough);
  const ticks = [];
  for (let tick = Math.ceil(low / step) * step; tick <= high + step * 1e-6; tick += step) {
    ticks.push(Math.abs(tick) < step * 1e-6 ? 0 : tick);
  }
  return ticks;
}

function logTicks(low, high) {
  const factors = Math.log10(high / low) < 2 ? [1, 2, 5] : [1];
  const ticks = [];
  for (let power = Math.floor(Math.log10(low)); power <= Math.log10(high); power += 1) {
    for (const factor of factors) {
      const tick = factor * 10 ** power;
      if (tick >= low * 0.999 && tick <= high * 1.001) ticks.push(tick);
    }
  }
  return ticks;
}

/** Smallest and largest finite value, [Infinity, -Infinity] if there is none. */
function extent(arrays, counts) {
  let [low, high] = [Infinity, -Infinity];
  for (const values of arrays) {
    for (const value of values) {
      if (!Number.isFinite(value) || !counts(value)) continue;
      if (value < low) low = value;
      if (value > high) high = value;
    }
  }
  return [low, high];
}

/** Runs of neighbouring points that can be drawn, as lists of indices. */
function stretches(xs, ys, spec) {
  const found = [];
  let current = null;
  for (let i = 0; i < xs.length; i += 1) {
    const drawable = Number.isFinite(ys[i]) && (!spec.xLog || xs[i] > 0) && (!spec.yLog || ys[i] > 0);
    if (!drawable) current = null;
    else if (current) current.push(i);
    else found.push((current = [i]));
  }
  return found;
}

function linePath(series, x, y, spec) {
  return stretches(series.x, series.mean, spec)
    .map((part) => "M" + part.map((i) => `${x(series.x[i]).toFixed(1)},${y(series.mean[i]).toFixed(1)}`).join("L"))
    .join("");
}

function bandPath(series, x, y, spec) {
  const floor = spec.yLog ? spec.range[0] : -Infinity;
  const edge = (i, side) => {
    const value = Math.max(series.mean[i] + side * series.half[i], floor);
    return `${x(series.x[i]).toFixed(1)},${y(value).toFixed(1)}`;
  };
  return stretches(series.x, series.mean, spec)
    .map((part) => {
      const above = part.map((i) => edge(i, 1));
      const below = part.map((i) => edge(i, -1)).reverse();
      return `M${[...above, ...below].join("L")}Z`;
    })
    .join("");
}

/** Where the y axis runs: as told, else around all bands and lines. */
function rangeOf(spec) {
  if (spec.range) return spec.range;
  const counts = spec.yLog ? (value) => value > 0 : () => true;
  const arrays = [spec.lines.map((line) => line.value)];
  for (const { mean, half } of spec.series) {
    arrays.push(mean);
    if (half)
      arrays.push(
        mean.map((value, i) => value - half[i]),
        mean.map((value, i) => value + half[i]),
      );
  }
  const [low, high] = extent(arrays, counts);
  if (low > high) return spec.yLog ? [0.01, 1] : [0, 1];
  if (spec.yLog) return [low / 1.3, high * 1.3];
  const room = (high - low) * 0.05 || Math.abs(high) * 0.1 || 1;
  return [spec.fromZero && low >= 0 ? 0 : low - room, high + room];
}

function nearest(xs, step) {
  let [low, high] = [0, xs.length - 1];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (xs[middle] < step) low = middle + 1;
    else high = middle;
  }
  return low > 0 && step - xs[low - 1] < xs[low] - step ? low - 1 : low;
}

/**
 * A chart in `host`. draw(spec) shows series [{name, colours, x, mean, half, strong}], lines [{value, text}],
 * xLog, yLog, range, fromZero, format, unknown; mark(step) puts a marker; onPick(step) is called on a click.
 */
function makeChart(host, { label, height, onPick }) {
  const picture = draw("svg", { role: "img", "aria-label": label, tabindex: onPick ? null : 0 });
  const tip = make("div", { class: "tip", role: "status", hidden: true });
  host.classList.add("chart");
  host.replaceChildren(picture, tip);
  let spec = null;
  let frame = null; // scales and layers of what is drawn now
  let cursor = null;
  let marked = null;
  let measured = false; // asking for the width earlier would force a layout while the page is being built

  function render() {
    const width = measured ? host.clientWidth : 0;
    if (!spec || width === 0) return;
    const range = rangeOf(spec);
    const shown = { ...spec, range };
    const [first, last] = extent(
      spec.series.map((series) => series.x),
      (value) => !spec.xLog || value > 0,
    );
    const x = makeScale(
      first > last ? 1 : first,
      first > last ? 2 : last,
      MARGIN.left,
      width - MARGIN.right,
      spec.xLog,
    );
    const y = makeScale(range[0], range[1], height - MARGIN.bottom, MARGIN.top, spec.yLog);
    const overlay = draw("g", { class: "overlay" });
    picture.setAttribute("viewBox", `0 0 ${width} ${height}`);
    picture.setAttribute("height", height);
    picture.replaceChildren(...axes(shown, x, y, width, height), ...curves(shown, x, y, width, height), overlay);
    frame = { x, y, width, overlay, last };
    showOverlay();
  }

  function showOverlay() {
    if (!frame) return;
    const step = cursor ?? marked;
    tip.hidden = cursor === null || spec.series.length === 0;
    frame.overlay.replaceChildren();
    if (step === null || (spec.xLog && step <= 0)) return;
    const place = frame.x(step).toFixed(1);
    frame.overlay.append(draw("line", { x1: place, x2: place, y1: MARGIN.top, y2: height - MARGIN.bottom }));
    const rows = spec.series.map((series) => ({ series, i: nearest(series.x, step) }));
    for (const { series, i } of rows) {
      const value = series.mean[i];
      if (!Number.isFinite(value) || value < spec.range?.[0] || value > spec.range?.[1]) continue;
      if (spec.yLog && value <= 0) continue;
      const dot = { class: "agent dot", cx: place, cy: frame.y(value).toFixed(1), r: 4 };
      frame.overlay.append(draw("circle", { ...dot, ...series.colours }));
    }
    if (cursor !== null) showTip(rows, frame.x(step));
  }

  function showTip(rows, place) {
    const listed = rows
      .map(({ series, i }) => ({ series, value: series.mean[i], half: series.half ? series.half[i] : null }))
      .sort((one, other) => (other.value || -Infinity) - (one.value || -Infinity))
      .map(({ series, value, half }) =>
        make(
          "div",
          { class: "agent", ...series.colours },
          make("i", {}),
          make("span", {}, series.name),
          make(
            "b",
            {},
            Number.isFinite(value) ? estimateText({ mean: value, half }, spec.format) : (spec.unknown ?? "–"),
          ),
        ),
      );
    tip.replaceChildren(make("p", {}, `step ${countText(cursor)}`), ...listed);
    const left = place + 14 + tip.offsetWidth > frame.width ? place - 14 - tip.offsetWidth : place + 14;
    tip.style.left = `${Math.max(0, Math.min(left, frame.width - tip.offsetWidth))}px`;
  }

  /** The recorded step of the first curve that is nearest to a pointer. */
  function stepAt(event) {
    const inside = event.clientX - picture.getBoundingClientRect().left;
    const { x } = spec.series[0];
    return x[nearest(x, frame.x.invert(inside))];
  }

  function point(event) {
    if (!frame || spec.series.length === 0) return;
    cursor = stepAt(event);
    showOverlay();
  }

  /** The cursor goes with the pointer; a finger leaves it where it was, so that the values can be read. */
  function leave(event) {
    if (event?.pointerType === "touch") return;
    cursor = null;
    showOverlay();
  }

  function walk(event) {
    if (!frame || spec.series.length === 0) return;
    const { x } = spec.series[0];
    const far = event.shiftKey ? 10 : 1;
    const here = cursor === null ? x.length - 1 : nearest(x, cursor);
    const goals = { ArrowLeft: here - far, ArrowRight: here + far, Home: 0, End: x.length - 1 };
    if (event.key === "Escape") return leave();
    if (!(event.key in goals)) return undefined;
    event.preventDefault();
    cursor = x[Math.max(0, Math.min(x.length - 1, goals[event.key]))];
    return showOverlay();
  }

  picture.addEventListener("pointermove", point);
  picture.addEventListener("pointerdown", (event) => (onPick && frame ? onPick(stepAt(event)) : point(event)));
  picture.addEventListener("pointerleave", leave);
  if (!onPick) {
    picture.addEventListener("keydown", walk);
    picture.addEventListener("blur", leave);
  }
  new ResizeObserver(() => {
    measured = true;
    render();
  }).observe(host);

  return {
    draw(next) {
      spec = { ...next, series: next.series.filter((series) => series.mean) };
      cursor = null;
      render();
    },
    mark(step) {
      marked = step;
      showOverlay();
    },
  };
}

function axes(spec, x, y, width, height) {
  const [left, right, bottom] = [MARGIN.left, width - MARGIN.right, height - MARGIN.bottom];
  const across = y
    .ticks(height < 200 ? 3 : 5)
    .map((tick) =>
      draw(
        "g",
        { class: "tick" },
        draw("line", { x1: left, x2: right, y1: y(tick), y2: y(tick) }),
        draw("text", { x: left - 8, y: y(tick), "text-anchor": "end", dy: "0.35em" }, shortText(tick)),
      ),
    );
  const along = x
    .ticks(width < 460 ? 3 : 6)
    .map((tick) =>
      draw(
        "g",
        { class: "tick" },
        draw("line", { class: "stub", x1: x(tick), x2: x(tick), y1: bottom, y2: bottom + 4 }),
        draw("text", { x: x(tick), y: bottom + 17, "text-anchor": "middle" }, shortText(tick)),
      ),
    );
  const name = draw("text", { class: "axis", x: right, y: height - 4, "text-anchor": "end" }, "training step");
  return [...across, draw("line", { class: "base", x1: left, x2: right, y1: bottom, y2: bottom }), ...along, name];
}

function curves(spec, x, y, width, height) {
  const clip = freshName("clip");
  const box = { x: MARGIN.left, y: MARGIN.top - 3, width: Math.max(0, width - MARGIN.left - MARGIN.right) };
  const opening = draw("rect", { ...box, height: height - MARGIN.top - MARGIN.bottom + 6 });
  const inside = draw("g", { "clip-path": `url(#${clip})` });
  for (const series of spec.series.filter((one) => one.half)) {
    inside.append(draw("path", { class: "agent band", d: bandPath(series, x, y, spec), ...series.colours }));
  }
  const weakFirst = [...spec.series].sort((one, other) => Number(one.strong) - Number(other.strong));
  for (const series of weakFirst) {
    const look = { class: series.strong ? "agent curve strong" : "agent curve", "data-name": series.name };
    inside.append(draw("path", { ...look, d: linePath(series, x, y, spec), ...series.colours }));
  }
  const marks = spec.lines
    .filter(({ value }) => value >= spec.range[0] && value <= spec.range[1])
    .flatMap(({ value, text }) => [
      draw("line", { class: "level", x1: MARGIN.left, x2: width - MARGIN.right, y1: y(value), y2: y(value) }),
      draw("text", { class: "level-text", x: MARGIN.left + 6, y: y(value) - 6 }, text),
    ]);
  return [draw("defs", {}, draw("clipPath", { id: clip }, opening)), inside, ...marks];
}
