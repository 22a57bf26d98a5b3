/**
 * A textarea with line numbers and marked places.
 *
 * Behind the textarea lies a copy of its text, a block for each line, which carries numbers and marks. Both break
 * lines by the same rules in the same width, so they stay aligned without measuring, and one element scrolls both.
 * Only the lines that changed are made anew, so that typing in a long text stays smooth.
 *
 * INVARIANT: whoever is told of input calls `mark` before the next frame, which draws the text's lines too.
 */

import { h } from "./dom.js";
import { number } from "./words.js";

/** No snapshot is longer or has more lines: what is above it has no places to mark, and drawing it takes minutes. */
const MOST_UNITS = 1 << 20;
const MOST_LINES = (1 << 16) + 1;

export class Editor {
  #lines = [];
  #issues = [];
  #host;
  #copy;
  #textarea;

  constructor(host, { id, label, labelledBy, describedBy, placeholder, onInput, onTooLong = () => {} }) {
    this.#host = host;
    this.#copy = h("div", { class: "editor-copy", "aria-hidden": "true" });
    this.#textarea = h("textarea", {
      id,
      rows: 1,
      placeholder,
      spellcheck: "false",
      autocomplete: "off",
      autocorrect: "off",
      autocapitalize: "off",
      translate: "no",
      "aria-label": label,
      "aria-labelledby": labelledBy,
      "aria-describedby": describedBy,
    });
    host.classList.add("editor");
    host.append(h("div", { class: "editor-stack" }, this.#copy, this.#textarea));
    this.#textarea.addEventListener("input", onInput);
    // Pasted or dropped: the browser itself would need minutes to lay it out.
    this.#textarea.addEventListener("beforeinput", (event) => {
      const { length } = event.data ?? event.dataTransfer?.getData("text/plain") ?? "";
      if (length <= MOST_UNITS) return;
      event.preventDefault();
      onTooLong(tooLong(length));
    });
    this.#textarea.addEventListener("keydown", (event) => {
      if (event.key !== "F8" || this.#issues.length === 0) return;
      event.preventDefault();
      this.jump(this.#nextIssue(event.shiftKey));
    });
    this.mark([]);
  }

  get value() {
    return this.#textarea.value;
  }

  set value(text) {
    this.#textarea.value = text;
    this.#host.scrollTop = 0;
    this.#textarea.setSelectionRange(0, 0);
    this.mark([]);
  }

  focus() {
    this.#textarea.focus();
  }

  /** Whether the text is refused, for people who hear the page. */
  set invalid(invalid) {
    if (invalid) this.#textarea.setAttribute("aria-invalid", "true");
    else this.#textarea.removeAttribute("aria-invalid");
  }

  /** Marks the places of issues: `{ start, end, severity }`, in UTF-16 code units. Not every issue has a place. */
  mark(issues) {
    this.#issues = issues;
    this.#draw(lay(this.#textarea.value, issues));
  }

  /** Selects the place of the issue at an index, and brings it into sight. */
  jump(index) {
    const issue = this.#issues[index];
    if (!issue) return;
    this.#textarea.focus({ preventScroll: true });
    if (issue.start === undefined) return;
    this.#textarea.setSelectionRange(issue.start, issue.end);
    const mark = this.#copy.querySelector(`mark[data-issues~="${index}"]`);
    mark?.scrollIntoView({ block: "center", inline: "nearest" });
  }

  #nextIssue(backwards) {
    const at = this.#textarea.selectionStart;
    const order = this.#issues.map((issue, index) => ({ at: issue.start ?? 0, index }));
    const found = backwards ? order.findLast((place) => place.at < at) : order.find((place) => place.at > at);
    return (found ?? (backwards ? order.at(-1) : order[0])).index;
  }

  /** Replaces the lines between what is the same at the beginning and what is the same at the end. */
  #draw(lines) {
    const before = this.#lines;
    let head = 0;
    while (head < lines.length && head < before.length && lines[head].key === before[head].key) head += 1;
    let tail = 0;
    const most = Math.min(lines.length, before.length) - head;
    while (tail < most && lines[lines.length - 1 - tail].key === before[before.length - 1 - tail].key) tail += 1;
    for (const line of before.slice(head, before.length - tail)) line.element.remove();
    const fresh = lines.slice(head, lines.length - tail);
    for (const line of fresh) line.element = element(line);
    const after = tail > 0 ? before[before.length - tail].element : null;
    const parts = document.createDocumentFragment();
    for (const line of fresh) parts.append(line.element);
    this.#copy.insertBefore(parts, after);
    this.#lines = [...before.slice(0, head), ...fresh, ...before.slice(before.length - tail)];
    const digits = String(lines.length).length;
    this.#host.style.setProperty("--gutter", digits > 3 ? `${digits * 0.5 + 1.5}rem` : "");
  }
}

const tooLong = (length) => `What was pasted has ${number(length)} characters, more than any snapshot has.`;

/** The lines of a text, each with its marks; the key says whether a line must be drawn anew. */
function lay(text, issues) {
  if (text.length > MOST_UNITS) return [];
  const contents = text.split("\n");
  if (contents.length > MOST_LINES) return [];
  const lines = contents.map((content) => ({ content, marks: [], key: content }));
  if (issues.length === 0) return lines;
  const starts = [];
  let at = 0;
  for (const line of lines) {
    starts.push(at);
    at += line.content.length + 1;
  }
  issues.forEach((issue, index) => {
    if (issue.start === undefined) return;
    const number = lineAt(starts, issue.start);
    const line = lines[number];
    const start = issue.start - starts[number];
    // A place of several lines is marked on its first.
    const end = Math.min(issue.end - starts[number], line.content.length);
    line.marks.push({ start, end: Math.max(start, end), severity: issue.severity, index });
  });
  for (const line of lines) {
    if (line.marks.length > 0) line.key = `${line.content}\n${JSON.stringify(line.marks)}`;
  }
  return lines;
}

/** The last line that begins at or before an offset. */
function lineAt(starts, offset) {
  let low = 0;
  let high = starts.length - 1;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (starts[middle] <= offset) low = middle;
    else high = middle - 1;
  }
  return low;
}

const worst = (marks) => (marks.some((mark) => mark.severity === "error") ? "error" : "warning");

function element({ content, marks }) {
  if (marks.length === 0) return h("div", { class: "line" }, content);
  const edges = new Set([0, content.length]);
  for (const mark of marks) edges.add(mark.start).add(mark.end);
  const sorted = [...edges].sort((a, b) => a - b);
  const parts = [];
  for (const [i, from] of sorted.entries()) {
    const points = marks.filter((mark) => mark.start === from && mark.end === from);
    if (points.length > 0) parts.push(marked(points, "", "point"));
    const to = sorted[i + 1];
    if (to === undefined) break;
    const over = marks.filter((mark) => mark.start <= from && mark.end >= to && mark.start < mark.end);
    parts.push(over.length > 0 ? marked(over, content.slice(from, to), "") : content.slice(from, to));
  }
  return h("div", { class: `line ${worst(marks)}` }, parts);
}

function marked(marks, text, shape) {
  const issues = marks.map((mark) => mark.index).join(" ");
  return h("mark", { class: `${worst(marks)} ${shape}`, "data-issues": issues }, text);
}
