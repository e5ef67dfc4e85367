/** Builds elements without HTML text: whatever an event contains stays text. */

const SVG = "http://www.w3.org/2000/svg";

/** h("button", { class: "quiet", onclick: f, disabled: true }, "Go", child, [more]) */
export function h(tag, attributes = {}, ...children) {
  return fill(document.createElement(tag), attributes, children);
}

/** Builds SVG elements in the same way. */
export function s(tag, attributes = {}, ...children) {
  return fill(document.createElementNS(SVG, tag), attributes, children);
}

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "value") element.value = value;
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  element.append(...present(children));
  return element;
}

function present(children) {
  return children.flat(Infinity).filter((child) => child !== undefined && child !== null && child !== false);
}

/** Replaces the content of an element. */
export function put(element, ...children) {
  element.replaceChildren(...present(children));
  return element;
}

let last = 0;

/** Unique id for an element that another one refers to (label, aria-describedby). */
export function freshId(stem) {
  last += 1;
  return `${stem}-${last}`;
}
