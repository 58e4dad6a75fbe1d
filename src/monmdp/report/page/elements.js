/* Helpers that build elements. Text is always set as text, never parsed as markup, so names can contain anything. */

const SVG = "http://www.w3.org/2000/svg";
const SVG_TAGS = new Set("svg g path circle polygon text title".split(" "));

const byId = (id) => document.getElementById(id);

/** The elements inside `host` that have a data-part, by its value. */
function partsOf(host) {
  return Object.fromEntries([...host.querySelectorAll("[data-part]")].map((part) => [part.dataset.part, part]));
}

/**
 * An HTML or SVG element. Attributes on… are listeners, --… custom properties; null, undefined and (except in aria-…)
 * false leave an attribute out. Children are elements, text, or lists of them; null is skipped.
 */
function element(tag, attributes = {}, ...children) {
  const made = SVG_TAGS.has(tag) ? document.createElementNS(SVG, tag) : document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined) continue;
    if (name.startsWith("aria-")) made.setAttribute(name, value);
    else if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else if (name.startsWith("--")) made.style.setProperty(name, value);
    else if (value !== false) made.setAttribute(name, value === true ? "" : value);
  }
  made.append(...children.flat().filter((child) => child !== null));
  return made;
}

/** A table: column headings, and rows made by `row`. */
function table(attributes, headings, rows) {
  const columns = headings.map((text) => element("th", { scope: "col" }, text));
  return element("table", attributes, element("thead", {}, element("tr", {}, columns)), element("tbody", {}, rows));
}

/** A row: its heading, then the contents of its cells. */
function row(attributes, heading, cells) {
  const columns = cells.map((cell) => element("td", {}, cell));
  return element("tr", attributes, element("th", { scope: "row" }, heading), columns);
}

/** Exclusive choices as radio buttons, so that arrow keys work; onChange receives the index of the chosen text. */
function choice(legend, texts, chosen, onChange) {
  const labels = texts.map((text, index) => {
    const input = element("input", { type: "radio", name: legend, onchange: () => onChange(index) });
    input.checked = index === chosen;
    return element("label", {}, input, text);
  });
  return element("fieldset", { class: "choice" }, element("legend", {}, legend), element("div", {}, labels));
}

/** A name after a sample of its line, of an agent or of a curve. */
function colouredName({ name, colour, dashes }) {
  const drawn = { d: "M0,5H26", stroke: "var(--tone)", "stroke-width": 3, "stroke-dasharray": dashes };
  const sample = { class: "sample", "aria-hidden": true, width: 26, height: 10, viewBox: "0 0 26 10" };
  return [element("svg", { ...sample, "--colour": colour }, element("path", drawn)), name];
}
