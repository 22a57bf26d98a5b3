/** Files that are opened or dropped. They are read here and go nowhere else. */

import { h } from "./dom.js";
import { number } from "./words.js";

/** The package refuses a snapshot of more than 64 KiB; a text this large would only keep the page busy first. */
const MOST = 1 << 20;

/** The text of a file, or why there is none: `{ text }` or `{ problem }`. */
export async function readText(file) {
  if (file.size > MOST) {
    return { problem: `${file.name} has ${number(file.size)} bytes; a snapshot has at most 65,536.` };
  }
  try {
    // A byte order mark is kept, since the package has something to say about it.
    const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
    return { text: decoder.decode(await file.arrayBuffer()) };
  } catch (error) {
    if (error instanceof TypeError) return { problem: `${file.name} is not UTF-8 text, so it cannot be JSON.` };
    return { problem: `${file.name} could not be read: ${error.message}` };
  }
}

/** Lets a button open files. */
export function openWith(button, onFiles) {
  const input = h("input", { type: "file", accept: ".json,application/json,text/plain", hidden: true, tabindex: -1 });
  input.addEventListener("change", () => {
    onFiles([...input.files]);
    // The same file can be opened again after it was changed.
    input.value = "";
  });
  button.after(input);
  button.addEventListener("click", () => input.click());
}

const hasFiles = (event) => event.dataTransfer?.types.includes("Files");

/**
 * Takes files that are dropped anywhere: `zones` are `{ element, onFiles }`, and the first visible one takes what is
 * dropped beside them all.
 */
export function acceptDrops(zones) {
  const zoneOf = (event) => {
    const visible = zones.filter((zone) => zone.element.offsetParent !== null);
    return visible.find((zone) => zone.element.contains(event.target)) ?? visible[0];
  };
  const show = (zone) => {
    for (const { element } of zones) element.classList.toggle("dropping", element === zone?.element);
  };
  document.addEventListener("dragover", (event) => {
    if (!hasFiles(event)) return;
    event.preventDefault();
    event.dataTransfer.dropEffect = "copy";
    show(zoneOf(event));
  });
  document.addEventListener("dragleave", (event) => {
    if (event.relatedTarget === null) show(null);
  });
  document.addEventListener("drop", (event) => {
    if (!hasFiles(event)) return;
    event.preventDefault();
    show(null);
    zoneOf(event)?.onFiles([...event.dataTransfer.files]);
  });
}
