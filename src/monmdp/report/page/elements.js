/* Small helpers for building the page. Text is always set as text, never parsed as markup, so that a problem's
   name can be anything. */

const SVG = "http://www.w3.org/2000/svg";

/** An HTML element: attributes, then children (elements or text). `on…` attributes are listeners. */
function make(tag, attributes = {}, ...children) {
  return furnish(document.createElement(tag), attributes, children);
}

/** The same for SVG. */
function draw(tag, attributes = {}, ...children) {
  return furnish(document.createElementNS(SVG, tag), attributes, children);
}

function furnish(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined) continue;
    if (name.startsWith("aria-"))
      element.setAttribute(name, value); // there, false is a word
    else if (value === false) continue;
    else if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name.startsWith("--")) element.style.setProperty(name, value);
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.filter((child) => child !== null && child !== undefined));
  return element;
}

const byId = (id) => document.getElementById(id);

let namesGiven = 0;

/** An id nobody else has. */
function freshName(word) {
  namesGiven += 1;
  return `${word}-${namesGiven}`;
}

/** A row of exclusive choices; arrow keys work since they are radio buttons. */
function makeSwitch(legend, options, chosen, onChange) {
  const group = freshName("switch");
  const labels = options.map(({ value, text, hint }) => {
    const input = make("input", { type: "radio", name: group, value, onchange: () => onChange(value) });
    input.checked = value === chosen;
    return make("label", { title: hint }, input, make("span", {}, text));
  });
  return make("fieldset", { class: "switch" }, make("legend", {}, legend), make("div", {}, ...labels));
}

/** Whether the reader asked for less movement. */
const calm = () => window.matchMedia("(prefers-reduced-motion: reduce)").matches;
