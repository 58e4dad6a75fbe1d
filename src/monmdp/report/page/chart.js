/* Line charts with bands. A chart is drawn again when its size or content changes; its only state is a cursor. */

const MARGIN = { top: 22, right: 14, bottom: 38, left: 52 };
/** The most curves in the list of values at the cursor. */
const TIP_ROWS = 12;
/** The area inside the axes, with space for the width of lines. */
const CLIP = `inset(${MARGIN.top - 3}px ${MARGIN.right}px ${MARGIN.bottom - 3}px ${MARGIN.left}px) view-box`;

/** A function from values in [low, high] to pixels, with its inverse and its ticks. */
function makeScale([low, high], [from, to], log) {
  const [transform, inverse] = log ? [Math.log10, (value) => 10 ** value] : [(value) => value, (value) => value];
  const start = transform(low);
  const span = transform(high) - start || 1;
  const scale = (value) => from + ((transform(value) - start) / span) * (to - from);
  scale.invert = (pixel) => inverse(start + ((pixel - from) / (to - from)) * span);
  scale.ticks = (count) => (log ? logTicks(low, high) : linearTicks(low, high, count));
  return scale;
}

function linearTicks(low, high, count) {
  const rough = (high - low) / count;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = power * [1, 2, 5, 10].find((factor) => factor * power >= rough);
  const first = Math.ceil(low / step);
  const length = Math.floor(high / step + 1e-6) - first + 1;
  return Array.from({ length }, (_, i) => (first + i) * step);
}

function logTicks(low, high) {
  const factors = high / low < 100 ? [1, 2, 5] : [1];
  const first = Math.floor(Math.log10(low));
  const powers = Array.from({ length: Math.floor(Math.log10(high)) - first + 1 }, (_, i) => 10 ** (first + i));
  const ticks = powers.flatMap((power) => factors.map((factor) => factor * power));
  return ticks.filter((tick) => tick >= low * 0.999 && tick <= high * 1.001);
}

/** Smallest and largest finite value, only positive ones on a logarithmic axis; `empty` if there is none. */
function extent(arrays, log, empty) {
  const usable = (value) => Number.isFinite(value) && !(log && value <= 0);
  const values = arrays.flatMap((array) => [...array].filter(usable));
  return values.length > 0 ? [Math.min(...values), Math.max(...values)] : empty;
}

/** The range of the y axis: as given, else around all bands and lines. */
function yRange({ range, series, lines, yLog, fromZero }) {
  if (range) return range;
  const edges = series.flatMap(({ mean, band }) => [mean, ...(band ?? [])]);
  const [low, high] = extent([lines.map(({ value }) => value), ...edges], yLog, yLog ? [0.01, 1] : [0, 1]);
  if (yLog) return [low / 1.3, high * 1.3];
  const space = (high - low) * 0.05 || Math.abs(high) * 0.1 || 1;
  return [fromZero && low >= 0 ? 0 : low - space, high + space];
}

/** Index of the value nearest to a target. */
function nearest(values, target) {
  const distance = (value) => Math.abs(value - target);
  return values.reduce((best, value, i) => (distance(value) <= distance(values[best]) ? i : best), 0);
}

/** SVG paths of a curve and of its band through all values that can be drawn. */
function curvePaths({ x, mean, band }, scales, { xLog, yLog }) {
  const drawable = (i) => Number.isFinite(mean[i]) && !(xLog && x[i] <= 0) && !(yLog && mean[i] <= 0);
  const indices = [...x.keys()].filter(drawable);
  const lowest = yLog ? scales.range[0] : -Infinity;
  const edge = (values) =>
    indices.map((i) => `${scales.x(x[i]).toFixed(1)},${scales.y(Math.max(values[i], lowest)).toFixed(1)}`);
  const path = (points) => (points.length > 0 ? `M${points.join("L")}` : "");
  const [low, high] = band ?? [mean, mean];
  return { curve: path(edge(mean)), shade: path([...edge(high), ...edge(low).reverse()]) };
}

/**
 * A chart in `host`. draw(spec) shows series [{name, colour, dashes, x, mean, half, band, strong}] and lines [{value,
 * text}] with the options xLog, yLog, range, fromZero, format and unknown; band is [low, high] or null. mark(step) draws
 * a vertical line. xLabel names the x axis, by default the training step; xTexts are texts at the
 * steps 0, 1, …, which are values of the option xLabel. A chart with onPick calls it with the step of a click; one
 * without can be read with the arrow keys.
 */
function makeChart(host, { label, height, onPick }) {
  const listeners = {
    onpointermove: (event) => moveTo(stepAt(event)),
    onpointerdown: (event) => (onPick ?? moveTo)(stepAt(event)),
    // After a touch the values stay, so that they can be read.
    onpointerleave: (event) => event.pointerType === "touch" || moveTo(null),
    ...(onPick ? {} : { tabindex: 0, onkeydown: onKey, onblur: () => moveTo(null) }),
  };
  const picture = element("svg", { role: "img", "aria-label": label, height, ...listeners });
  const tip = element("div", { class: "tip", role: "status", hidden: true });
  host.classList.add("chart");
  host.replaceChildren(picture, tip);
  let spec = null;
  let scales = null; // of what is drawn now
  let cursor = null;
  let marked = null;
  let width = 0;

  function render() {
    width = host.clientWidth;
    if (!spec || width === 0) return; // 0 before the first layout, and while hidden
    const range = yRange(spec);
    const steps = spec.series.map(({ x }) => x);
    scales = {
      x: makeScale(extent(steps, spec.xLog, [1, 2]), [MARGIN.left, width - MARGIN.right], spec.xLog),
      y: makeScale(range, [height - MARGIN.bottom, MARGIN.top], spec.yLog),
      range,
    };
    picture.setAttribute("viewBox", `0 0 ${width} ${height}`);
    picture.replaceChildren(drawAxes(scales, width, height, spec), drawCurves(), ...drawLevels(), element("g"));
    showCursor();
  }

  /** Bands and curves, the strong curve last. */
  function drawCurves() {
    const shapes = spec.series
      .toSorted((one, other) => one.strong - other.strong)
      .map((series) => ({ ...series, ...curvePaths(series, scales, spec) }));
    const bands = shapes.map(({ colour, band, shade, strong }) => {
      const filled = { fill: "var(--tone)", "fill-opacity": strong ? 0.2 : 0.14 };
      return band ? element("path", { class: "band", d: shade, "--colour": colour, ...filled }) : null;
    });
    const curves = shapes.map(({ name, colour, dashes, strong, curve }) => {
      const width = { "stroke-width": strong ? 3 : 1.75, "stroke-dasharray": dashes };
      const drawn = { fill: "none", stroke: "var(--tone)", ...width, "data-name": name };
      return element("path", { class: "curve", d: curve, "--colour": colour, ...drawn });
    });
    return element("g", { "clip-path": CLIP }, bands, curves);
  }

  function drawLevels() {
    const { y, range } = scales;
    const visible = spec.lines.filter(({ value }) => value >= range[0] && value <= range[1]);
    return visible.flatMap(({ value, text }) => [
      line(`M${MARGIN.left},${y(value)}H${width - MARGIN.right}`, "ink", "5 4"),
      element("text", { class: "level-text", x: MARGIN.left + 6, y: y(value) - 6 }, text),
    ]);
  }

  /** The vertical line at the cursor or the mark, and the values there. */
  function showCursor() {
    if (!scales) return;
    const step = cursor ?? marked;
    const overlay = picture.lastChild;
    overlay.replaceChildren();
    tip.hidden = cursor === null;
    if (step === null || (spec.xLog && step <= 0)) return;
    const pixel = scales.x(step);
    const points = spec.series.map((series) => {
      const i = nearest(series.x, step);
      return { ...series, value: series.mean[i], estimate: [series.mean[i], series.half?.[i] ?? null] };
    });
    const visible = points.filter(({ value }) => value >= scales.range[0] && value <= scales.range[1]);
    const circles = visible.map(({ value, colour }) => {
      const filled = { fill: "var(--tone)", stroke: "var(--surface)", "--colour": colour };
      return element("circle", { class: "point", cx: pixel, cy: scales.y(value), r: 4, ...filled });
    });
    overlay.append(line(`M${pixel},${MARGIN.top}V${height - MARGIN.bottom}`, "muted", "2 2"), ...circles);
    if (cursor === null) return;
    const sorted = points.sort((one, other) => (other.value || -Infinity) - (one.value || -Infinity));
    const shown = sorted.filter(({ strong }, i) => strong || sorted.length <= TIP_ROWS || i < TIP_ROWS - 2);
    const rows = shown.map((point) => row({}, colouredName(point), [estimateText(point.estimate, spec)]));
    const more = sorted.length > shown.length ? element("p", {}, `… and ${sorted.length - shown.length} more`) : null;
    const where = spec.xTexts ? `${spec.xLabel} ${spec.xTexts[cursor]}` : `${spec.xLabel ?? "step"} ${countText(cursor)}`;
    tip.replaceChildren(element("p", {}, where), element("table", {}, rows), more ?? "");
    const left = pixel + 14 + tip.offsetWidth > width ? pixel - 14 - tip.offsetWidth : pixel + 14;
    tip.style.left = `${Math.max(0, Math.min(left, width - tip.offsetWidth))}px`;
  }

  function moveTo(step) {
    cursor = step;
    showCursor();
  }

  /** The recorded step of the first curve that is nearest to the pointer. */
  function stepAt(event) {
    const { x } = spec.series[0];
    return x[nearest(x, scales.x.invert(event.clientX - picture.getBoundingClientRect().left))];
  }

  function onKey(event) {
    const { x } = spec.series[0];
    const last = x.length - 1;
    const here = cursor === null ? last : nearest(x, cursor);
    const stride = event.shiftKey ? 10 : 1;
    const targets = { ArrowLeft: here - stride, ArrowRight: here + stride, Home: 0, End: last };
    if (event.key === "Escape") moveTo(null);
    if (!(event.key in targets)) return;
    event.preventDefault();
    moveTo(x[Math.max(0, Math.min(last, targets[event.key]))]);
  }

  new ResizeObserver(render).observe(host);

  return {
    draw(next) {
      spec = next;
      cursor = null;
      render();
    },
    mark(step) {
      marked = step;
      showCursor();
    },
  };
}

const line = (d, colour, dashes) => element("path", { d, stroke: `var(--${colour})`, "stroke-dasharray": dashes });

/** Grid lines, ticks and their numbers. */
function drawAxes({ x, y }, width, height, { xTexts, xLabel = "training step" }) {
  const [left, right, bottom] = [MARGIN.left, width - MARGIN.right, height - MARGIN.bottom];
  const xTicks = xTexts ? [...xTexts.keys()] : x.ticks(width < 460 ? 3 : 6);
  const yTicks = y.ticks(height < 200 ? 3 : 5);
  const text = (attributes, ...content) => element("text", { "text-anchor": "end", ...attributes }, content);
  const xText = { class: "tick-x", y: bottom + 17, "text-anchor": "middle" };
  const yText = { class: "tick-y", x: left - 8 };
  return element(
    "g",
    {},
    line(yTicks.map((tick) => `M${left},${y(tick)}H${right}`).join(""), "line"),
    line(`M${left},${bottom}H${right}${xTicks.map((tick) => `M${x(tick)},${bottom}v4`).join("")}`, "muted"),
    yTicks.map((tick) => text({ ...yText, y: y(tick) + 4 }, shortText(tick))),
    xTicks.map((tick) => text({ ...xText, x: x(tick) }, xTexts ? xTexts[tick] : shortText(tick))),
    text({ x: right, y: height - 4 }, xLabel),
  );
}
