/* The data of the page, and numbers as text. */

const ARRAYS = { f4: Float32Array, u1: Uint8Array, u2: Uint16Array, u4: Uint32Array };

/** Decodes a packed array (base64, little-endian); every other value stays as it is. */
function unpack(_, value) {
  if (!value?.data) return value;
  const bytes = Uint8Array.from(atob(value.data), (letter) => letter.charCodeAt(0));
  return new ARRAYS[value.type](bytes.buffer);
}

const page = JSON.parse(byId("data").textContent, unpack);

const problemName = ({ environment, monitor }) => `${environment} + ${monitor}`;
const capitalised = (text) => text.replace(/^[a-z]/, (letter) => letter.toUpperCase());
const plural = (count, word) => `${countText(count)} ${word}${count === 1 ? "" : "s"}`;

/* Formats of metrics; a half width gets as many decimals as the mean it is `like`. */
const localText = (value, options) => value.toLocaleString("en", options).replace("-", "−");
const fixed = (value, digits) => localText(value, { minimumFractionDigits: digits, maximumFractionDigits: digits });
const countText = (value, like = value) => fixed(value, Math.abs(like) < 10 && !Number.isInteger(like) ? 1 : 0);
const numberText = (value, like = value) => fixed(value, Math.abs(like) >= 10 ? 2 : 4);
const fractionText = (value) => `${fixed(100 * value, 1)}%`;
/** Three significant digits, for axes and for β: 0.0123, 15K, 1.5M. */
const shortText = (value) => localText(value, { notation: "compact", maximumSignificantDigits: 3 });

/** A rounded percentage; 0% means none and 100% means all. */
function percentText(fraction) {
  const rounded = Math.round(100 * fraction);
  return `${fraction > 0 && fraction < 1 ? Math.min(99, Math.max(1, rounded)) : rounded}%`;
}

/** [mean, half width] as text; the mean alone for a single seed. */
function estimateText([mean, half], { format, unknown }) {
  if (!Number.isFinite(mean)) return unknown;
  return half === null ? format(mean) : `${format(mean)} ± ${format(half, mean)}`;
}

/** The number of seeds of a cell that ended with an optimal policy, and its interval. */
const solvedText = ({ solved, seeds }) => (solved === null ? "not evaluated" : `${solved} of ${seeds}`);
const intervalText = ({ share }) => (share ? ` (95% interval ${share.slice(1).map(percentText).join("–")})` : "");

/** How metrics are shown where it is not by the defaults below. */
const METRIC_STYLES = {
  beta: { format: shortText, yLog: true, unknown: "∞" },
  explored: { format: fractionText, fromZero: true },
  paid: { fromZero: true },
};

/** The recorded metrics with their title, format and axis. */
const metrics = page.metrics.map((metric) => ({
  ...metric,
  title: capitalised(metric.label),
  format: metric.integer ? countText : numberText,
  fromZero: metric.integer,
  unknown: "–",
  ...METRIC_STYLES[metric.name],
}));

/** The lines of a metric's chart, from the levels of cells or runs, each once. */
function levelLines(owners, metric) {
  const levels = owners.flatMap((owner) => owner?.levels[metric.name] ?? []);
  const lines = levels.map(({ text, value }) => [value, { value, text: `${text} ${metric.format(value)}` }]);
  return [...new Map(lines).values()];
}
