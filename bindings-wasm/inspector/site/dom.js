/** Elements, and the few parts that more than one panel has. */

const SVG = "http://www.w3.org/2000/svg";

/** Makes an element: `h("button", { type: "button", onclick }, "Copy")`. Children that are null are left out. */
export function h(name, attributes = {}, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (value === undefined || value === null || value === false) continue;
    if (typeof value === "function") element.addEventListener(key.slice(2), value);
    else element.setAttribute(key, value === true ? "" : value);
  }
  element.append(...children.flat(Infinity).filter((child) => child !== undefined && child !== null && child !== false));
  return element;
}

const SHAPES = {
  good: "m4.5 8.500 2.500 2.500 4.500-5",
  error: "m5.500 5.500 5 5m0-5-5 5",
  warning: "M8 4.500v4.250M8 11.300v.2",
};

/** A sign that says by its shape, not by its colour alone, what it stands beside. */
export function icon(name) {
  const svg = document.createElementNS(SVG, "svg");
  for (const [key, value] of Object.entries({ viewBox: "0 0 16 16", width: 16, height: 16, "aria-hidden": "true" })) {
    svg.setAttribute(key, value);
  }
  const outline = document.createElementNS(SVG, name === "warning" ? "path" : "circle");
  const around =
    name === "warning"
      ? { d: "M8 1.500 15 14H1z", "stroke-linejoin": "round" }
      : { cx: 8, cy: 8, r: 6.75 };
  const sign = document.createElementNS(SVG, "path");
  const stroke = { fill: "none", stroke: "currentColor", "stroke-width": 1.5 };
  for (const [key, value] of Object.entries({ ...stroke, ...around })) outline.setAttribute(key, value);
  const inner = name === "warning" ? "M8 6v4M8 11.800v.2" : SHAPES[name];
  for (const [key, value] of Object.entries({ ...stroke, d: inner, "stroke-linecap": "round" })) {
    sign.setAttribute(key, value);
  }
  svg.append(outline, sign);
  return svg;
}

/** A part of the findings with a title, a sentence that says what it is for, and what it holds. */
export function block(title, { actions = [], why } = {}, ...content) {
  return h(
    "section",
    { class: "block" },
    h("div", { class: "bar" }, h("h3", {}, title), h("div", { class: "actions" }, actions)),
    why && h("p", { class: "why" }, why),
    content,
  );
}

/** A message of the package, which puts what it quotes in backticks. */
export const quoted = (message) => message.split("`").map((part, index) => (index % 2 === 1 ? h("code", {}, part) : part));

/** A sentence that answers something: `good`, `bad` or still `open`. */
export function answer(kind, strong, ...rest) {
  const sign = { good: "good", bad: "error", open: "warning" }[kind];
  return h("p", { class: `answer ${kind}` }, icon(sign), h("span", {}, h("strong", {}, strong), rest));
}

let speaking;

/** Tells people who hear the page. What is told in quick succession is told once, when it has settled. */
export function say(sentence, delay = 0) {
  clearTimeout(speaking);
  const spoken = document.getElementById("spoken");
  speaking = setTimeout(() => {
    // The same sentence twice is a change only if the text was gone in between.
    spoken.textContent = "";
    requestAnimationFrame(() => { spoken.textContent = sentence; });
  }, delay);
}

/** A button that copies a text. */
export function copyButton(what, text) {
  const button = h("button", { type: "button", class: "copy", "aria-label": `Copy ${what}` }, "Copy");
  let resetting;
  button.addEventListener("click", async () => {
    clearTimeout(resetting);
    const copied = await copy(text);
    button.textContent = copied ? "Copied" : "Not copied";
    say(copied ? `Copied ${what}.` : `The browser did not let ${what} be copied; select it and copy it yourself.`);
    resetting = setTimeout(() => { button.textContent = "Copy"; }, 2000);
  });
  return button;
}

async function copy(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return false;
  }
}
