/** One snapshot: its text, the verdict, its issues, and what it comes to. */

import { h, say } from "./dom.js";
import { Editor } from "./editor.js";
import { example, offerSnapshots } from "./examples.js";
import { openWith, readText } from "./files.js";
import { inOrder, issueList } from "./issues.js";
import { Proof } from "./proof.js";
import { read, reasons, spoken, verdict } from "./reading.js";
import { number } from "./words.js";

const byId = (id) => document.getElementById(id);

/** Of UTF-8, what a snapshot may have; the package refuses more. */
const MOST = 65_536;

export class Inspect {
  #editor;
  #proof = new Proof(byId("proof"));
  #kind;
  #onCompare;
  #isReady = false;
  #scheduled = false;

  /** `onCompare` is given the text when somebody wants it compared with another. */
  constructor(onCompare) {
    this.#onCompare = onCompare;
    this.#editor = new Editor(byId("snapshot-editor"), {
      id: "snapshot-text",
      labelledBy: "snapshot-label",
      describedBy: "detection",
      placeholder: "Paste a snapshot, or drop a file",
      onInput: () => {
        this.#notice("");
        this.#schedule();
      },
      onTooLong: (problem) => this.#notice(problem),
    });
    openWith(byId("snapshot-open"), (files) => this.take(files));
    byId("snapshot-clear").addEventListener("click", () => this.fill(""));
    offerSnapshots(byId("snapshot-example"), (file) => this.try(file));
    for (const radio of document.querySelectorAll("input[name=kind]")) {
      radio.addEventListener("change", () => this.#update());
    }
    this.#showSize("");
  }

  /** Called when the package is there. */
  ready() {
    this.#isReady = true;
    this.#update();
  }

  fill(text) {
    this.#editor.value = text;
    this.#notice("");
    this.#update();
    this.#editor.focus();
  }

  async try(file) {
    this.fill(await example(file));
  }

  async take([file]) {
    if (!file) return;
    const { text, problem } = await readText(file);
    if (problem) this.#notice(problem);
    else this.fill(text);
  }

  #notice(problem) {
    const notice = byId("snapshot-notice");
    notice.textContent = problem;
    notice.hidden = problem === "";
  }

  /** Once a frame is often enough, however fast somebody types. */
  #schedule() {
    if (this.#scheduled) return;
    this.#scheduled = true;
    requestAnimationFrame(() => {
      this.#scheduled = false;
      this.#update();
    });
  }

  #update() {
    const text = this.#editor.value;
    this.#showSize(text);
    if (!this.#isReady) {
      this.#editor.mark([]);
      return;
    }
    if (text.trim() === "") {
      this.#showEmpty();
      return;
    }
    const choice = document.querySelector("input[name=kind]:checked").value;
    const { report, how } = read(text, choice, this.#kind);
    this.#kind = report.kind;
    byId("detection").textContent = how;
    this.#editor.invalid = !report.valid;
    const issues = inOrder(report.issues);
    this.#editor.mark(issues);
    byId("verdict").className = `verdict ${report.valid ? "valid" : "invalid"}`;
    byId("verdict").replaceChildren(
      h("p", { class: "verdict-line" }, verdict(report)),
      h("p", { class: "verdict-more" }, reasons(report), report.valid && [" ", this.#compareButton(text)]),
    );
    this.#showIssues(issues);
    this.#proof.show(text, report);
    say(spoken(report), 700);
  }

  #compareButton(text) {
    return h("button", { type: "button", class: "bare", onclick: () => this.#onCompare(text) }, "Compare with another");
  }

  #showIssues(issues) {
    const list = issueList(issues, (index) => this.#editor.jump(index));
    const keys = h("p", { class: "keys" }, h("kbd", {}, "F8"), " in the text goes to the next, ", h("kbd", {}, "Shift F8"), " to the one before.");
    byId("issues").replaceChildren(...(issues.length > 0 ? [h("h3", { class: "quiet" }, "Issues"), ...list, keys] : []));
  }

  #showEmpty() {
    this.#kind = undefined;
    this.#editor.invalid = false;
    this.#editor.mark([]);
    byId("detection").textContent = "";
    byId("issues").replaceChildren();
    this.#proof.show("", undefined);
    const choices = [
      ["Try an embedding snapshot", "embedding.json"],
      ["Try one with faults", "broken.json"],
    ].map(([name, file]) => h("button", { type: "button", onclick: () => this.try(file) }, name));
    byId("verdict").className = "verdict";
    byId("verdict").replaceChildren(
      h("p", { class: "verdict-line" }, "Nothing to inspect yet"),
      h("p", { class: "verdict-more" }, "Paste a snapshot, drop a file on this page, or open one. You will see whether it is valid, every issue at its place, its digest and its vector space."),
      h("div", { class: "empty-choices" }, choices),
    );
    say("");
  }

  #showSize(text) {
    const bytes = new TextEncoder().encode(text).length;
    const size = byId("snapshot-size");
    size.textContent = `${number(bytes)} of ${number(MOST)} bytes`;
    size.classList.toggle("over", bytes > MOST);
  }
}
