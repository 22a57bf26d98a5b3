/** The page: its two views, and the package that answers for them. */

import { Compare } from "./compare.js";
import { h } from "./dom.js";
import { acceptDrops } from "./files.js";
import { Inspect } from "./inspect.js";
import { load } from "./package.js";

const byId = (id) => document.getElementById(id);

const compare = new Compare();
const inspect = new Inspect((text) => {
  show("compare");
  compare.begin(text);
});

const views = ["inspect", "compare"];
const tabs = views.map((view) => byId(`tab-${view}`));

function show(view) {
  for (const [index, name] of views.entries()) {
    const isShown = name === view;
    byId(name).hidden = !isShown;
    tabs[index].setAttribute("aria-selected", String(isShown));
    tabs[index].tabIndex = isShown ? 0 : -1;
  }
  byId("skip").href = view === "inspect" ? "#snapshot-text" : "#before-text";
}

for (const [index, tab] of tabs.entries()) {
  tab.addEventListener("click", () => show(views[index]));
  tab.addEventListener("keydown", (event) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!step) return;
    const next = (index + step + views.length) % views.length;
    show(views[next]);
    tabs[next].focus();
  });
}

/** Two files at once are there to be compared. */
function take(files) {
  if (files.length < 2) return inspect.take(files);
  show("compare");
  return compare.take(files);
}

acceptDrops([
  { element: byId("snapshot-editor"), onFiles: take },
  ...compare.sides.map((side) => ({
    element: side.element,
    onFiles: (files) => (files.length < 2 ? side.take(files) : compare.take(files)),
  })),
]);

try {
  await load();
  inspect.ready();
  compare.ready();
} catch (error) {
  byId("failure").replaceChildren(
    h("p", {}, h("strong", {}, "The validator could not be loaded, so nothing can be checked here.")),
    h("p", {}, `The reason given: ${error.message}. Reload the page; if that does not help, use a browser with WebAssembly.`),
  );
  byId("failure").hidden = false;
  byId("verdict").replaceChildren(h("p", { class: "verdict-line" }, "No verdict"));
}
