/** Two snapshots: what changed from one to the other, and whether it needs re-embedding. */

import { h, quoted, say } from "./dom.js";
import { Editor } from "./editor.js";
import { example, offerPairs } from "./examples.js";
import { openWith, readText } from "./files.js";
import { inOrder, issueList } from "./issues.js";
import { ask, diff } from "./package.js";
import { read, verdict } from "./reading.js";
import { number, tally, verdictOfDiff } from "./words.js";

const byId = (id) => document.getElementById(id);

/** One of the two snapshots. */
class Side {
  #host;
  #editor;
  #line = h("p", { class: "side-verdict" });
  #notice = h("p", { class: "notice", role: "alert", hidden: true });
  #issues = h("div");
  #kind;

  constructor(host, name, onChange) {
    this.#host = host;
    this.name = name;
    this.onChange = onChange;
    const editor = h("div");
    const label = h("h3", { id: `${host.id}-label` }, name);
    const open = h("button", { type: "button", "aria-label": `Open ${name.toLowerCase()}…` }, "Open…");
    host.append(h("div", { class: "bar" }, label, h("div", { class: "actions" }, open)), editor, this.#notice, this.#line, this.#issues);
    this.#editor = new Editor(editor, {
      id: `${host.id}-text`,
      labelledBy: label.id,
      placeholder: `Paste the snapshot ${name === "Before" ? "as it was" : "as it is to be"}`,
      onInput: () => {
        this.#notice.hidden = true;
        onChange();
      },
      onTooLong: (problem) => this.notice(problem),
    });
    openWith(open, (files) => this.take(files));
  }

  get element() {
    return this.#host;
  }

  get text() {
    return this.#editor.value;
  }

  set text(text) {
    this.#editor.value = text;
    this.#notice.hidden = true;
  }

  focus() {
    this.#editor.focus();
  }

  get isEmpty() {
    return this.text.trim() === "";
  }

  async take([file]) {
    if (!file) return;
    const { text, problem } = await readText(file);
    if (problem) {
      this.notice(problem);
      return;
    }
    this.text = text;
    this.onChange();
  }

  notice(sentence) {
    this.#notice.textContent = sentence;
    this.#notice.hidden = false;
  }

  /** Shows the text while nothing can be said of it yet. */
  wait() {
    this.#editor.mark([]);
  }

  /** Validates the text and says so beside it; answers the report. */
  report() {
    if (this.isEmpty) {
      this.#line.className = "side-verdict";
      this.#line.replaceChildren();
      this.#issues.replaceChildren();
      this.#editor.mark([]);
      return undefined;
    }
    const { report } = read(this.text, "detected", this.#kind);
    this.#kind = report.kind;
    this.#editor.invalid = !report.valid;
    const issues = inOrder(report.issues);
    this.#editor.mark(issues);
    this.#line.className = `side-verdict ${report.valid ? "valid" : "invalid"}`;
    const said = issues.length > 0 ? h("span", {}, tally(issues)) : null;
    this.#line.replaceChildren(...[h("strong", {}, verdict(report)), said].filter(Boolean));
    const list = issueList(issues, (index) => this.#editor.jump(index));
    this.#issues.replaceChildren(...list);
    return report;
  }
}

export class Compare {
  #before;
  #after;
  #isReady = false;
  #scheduled = false;

  constructor() {
    const onChange = () => this.#schedule();
    this.#before = new Side(byId("before"), "Before", onChange);
    this.#after = new Side(byId("after"), "After", onChange);
    byId("pair-swap").addEventListener("click", () => this.fill(this.#after.text, this.#before.text));
    byId("pair-clear").addEventListener("click", () => this.fill("", ""));
    offerPairs(byId("pair-example"), (files) => this.try(files));
  }

  get sides() {
    return [this.#before, this.#after];
  }

  ready() {
    this.#isReady = true;
    this.#update();
  }

  fill(before, after) {
    this.#before.text = before;
    this.#after.text = after;
    this.#update();
  }

  /** Takes a snapshot as the earlier one, to be compared with one that is still to come. */
  begin(text) {
    this.fill(text, this.#after.text);
    this.#after.focus();
  }

  async try(files) {
    const [before, after] = await Promise.all(files.map(example));
    this.fill(before, after);
  }

  async take(files) {
    await Promise.all(files.slice(0, 2).map((file, index) => this.sides[index].take([file])));
    if (files.length > 2) this.#after.notice(`${number(files.length)} files were given; the first two are compared.`);
  }

  #schedule() {
    if (this.#scheduled) return;
    this.#scheduled = true;
    requestAnimationFrame(() => {
      this.#scheduled = false;
      this.#update();
    });
  }

  #update() {
    if (!this.#isReady) {
      for (const side of this.sides) side.wait();
      return;
    }
    const reports = this.sides.map((side) => side.report());
    const missing = this.sides.filter((side) => side.isEmpty);
    const refused = this.sides.filter((side, index) => reports[index] && !reports[index].valid);
    if (missing.length > 0) this.#showEmpty(missing);
    else if (refused.length > 0) this.#showRefused(refused);
    else if (reports[0].kind !== reports[1].kind) this.#showKinds(reports);
    else this.#showDiff();
  }

  #showEmpty(missing) {
    const example = h("button", { type: "button", onclick: () => this.try(["embedding.json", "embedding-larger.json"]) }, "Try an example pair");
    const what = missing.length === 2 ? "Nothing to compare yet" : `The snapshot ${missing[0].name.toLowerCase()} is missing`;
    this.#show("", what, "Paste, drop or open two snapshots of one kind. You will see what changed, and whether vectors have to be made anew.", missing.length === 2 ? h("div", { class: "empty-choices" }, example) : null);
    say("");
  }

  #showRefused(refused) {
    const names = refused.map((side) => side.name).join(" and ");
    this.#show("invalid", `${names} ${refused.length === 1 ? "is" : "are"} not valid`, "Only valid snapshots can be compared.");
    say(`${names} not valid.`, 700);
  }

  #showKinds([before, after]) {
    this.#show("invalid", "These are of different kinds", `Before is of kind ${before.kind}, After of kind ${after.kind}; only two of one kind can be compared.`);
    say("These are of different kinds.", 700);
  }

  #showDiff() {
    const { value, error } = ask(() => diff(this.#before.text, this.#after.text));
    if (error) {
      this.#show("invalid", "These cannot be compared", quoted(error.message));
      say(`These cannot be compared: ${error.message}`, 700);
      return;
    }
    const { strong, rest } = verdictOfDiff(value);
    const line = h("p", { class: "verdict-line" }, h("strong", {}, strong), rest);
    const why = value.needsReembedding
      ? "Vectors of the two must not be mixed: every document has to be embedded anew."
      : "Vectors that are there stay as good as they are.";
    byId("difference").replaceChildren(
      h("div", { class: `verdict ${value.needsReembedding ? "costs" : "free"}` }, line, h("p", { class: "verdict-more" }, why)),
      ...(value.changes.length > 0 ? [table(value.changes)] : []),
    );
    say(`${strong}${rest}.`, 700);
  }

  #show(state, line, more, ...rest) {
    const parts = [h("p", { class: "verdict-line" }, h("strong", {}, line)), h("p", { class: "verdict-more" }, more), ...rest];
    byId("difference").replaceChildren(h("div", { class: `verdict ${state}` }, ...parts.filter(Boolean)));
  }
}

function table(changes) {
  const value = (side, content, name) =>
    h("td", { "data-side": name }, content === undefined ? h("span", { class: "none" }, "none") : h(side, {}, h("code", {}, shown(content))));
  const rows = changes.map((change) =>
    h(
      "tr",
      {},
      h("th", { scope: "row" }, h("code", {}, change.path)),
      value("del", change.before, "Before"),
      value("ins", change.after, "After"),
    ),
  );
  const head = ["Member", "Before", "After"].map((name) => h("th", { scope: "col" }, name));
  return h("table", { class: "changes" }, h("thead", {}, h("tr", {}, head)), h("tbody", {}, rows));
}

const shown = (content) => JSON.stringify(content);
