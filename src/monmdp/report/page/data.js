/* What the page knows. Arrays arrive as base64 of little-endian numbers and are unpacked when first looked at. */

const page = JSON.parse(byId("data").textContent);

const ARRAYS = { f4: Float32Array, u1: Uint8Array, u2: Uint16Array, u4: Uint32Array };
const unpacked = new WeakMap();

/** The numbers of a packed array; null stays null. */
function unpack(packed) {
  if (packed === null) return null;
  if (!unpacked.has(packed)) unpacked.set(packed, decode(packed));
  return unpacked.get(packed);
}

function decode({ type, data, scale }) {
  const bytes = Uint8Array.from(atob(data), (letter) => letter.charCodeAt(0));
  const values = new ARRAYS[type](bytes.buffer);
  return scale === undefined ? values : Float32Array.from(values, (value) => value * scale);
}

const problemName = (problem) => `${problem.environment} + ${problem.monitor}`;

/** Whole numbers with separators; small means keep a digit. */
function countText(value, like = value) {
  const digits = Math.abs(like) < 10 && !Number.isInteger(like) ? 1 : 0;
  return value
    .toFixed(digits)
    .replace("-", "−")
    .replace(/\B(?=(\d{3})+(?!\d))/g, ","); // loading locales takes 30 ms
}

/** Short step numbers for axes: 15k, 1.5M. */
function shortText(value) {
  if (Math.abs(value) >= 1e6) return `${+(value / 1e6).toPrecision(3)}M`;
  if (Math.abs(value) >= 1e3) return `${+(value / 1e3).toPrecision(3)}k`;
  return String(+value.toPrecision(3)).replace("-", "−");
}

const decimals = (value) => (Math.abs(value) >= 10 ? 2 : 4);

/** A return, to four decimals, or two where it is large; a true minus sign. */
function returnText(value, like = value) {
  return value.toFixed(decimals(like)).replace("-", "−");
}

/** A percentage; 0% and 100% are said of nothing less than none and all. */
function percentText(fraction) {
  const rounded = Math.round(100 * fraction);
  if (fraction > 0 && fraction < 1) return `${Math.min(99, Math.max(1, rounded))}%`;
  return `${rounded}%`;
}

/** Mean ± half width, or the mean alone where there is a single seed. */
function estimateText({ mean, half }, format) {
  return half === null ? format(mean) : `${format(mean)} ± ${format(half, mean)}`;
}

/** A cell's outcome in words. */
function solvedText(cell) {
  if (cell.solved === null) return `${cell.seeds} seeds, not evaluated`;
  const share = `solved ${cell.solved} of ${cell.seeds} seeds (${percentText(cell.solved / cell.seeds)})`;
  return `${share}, 95% interval ${percentText(cell.interval[0])} to ${percentText(cell.interval[1])}`;
}
