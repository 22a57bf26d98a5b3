/** The list of issues; each leads to its place in the text. */

import { h, icon, quoted } from "./dom.js";
import { number, place } from "./words.js";

/** In the order of the text; what has no place comes first. */
export const inOrder = (issues) => issues.toSorted((one, two) => (one.start ?? -1) - (two.start ?? -1));

/** More than anybody reads; each keystroke makes the list anew. */
const MOST = 100;

/** The list, and how much longer it would be; nothing if there are no issues. */
export function issueList(issues, onJump) {
  if (issues.length === 0) return [];
  const items = issues.slice(0, MOST).map((issue, index) =>
    h("li", {}, h("button", { type: "button", class: `issue ${issue.severity}`, onclick: () => onJump(index) }, ...said(issue))),
  );
  // `list-style: none` makes Safari forget that this is a list.
  const list = h("ol", { class: "issue-list", role: "list" }, items);
  const more = issues.length - items.length;
  return more > 0 ? [list, h("p", { class: "keys" }, `${number(more)} more are marked in the text.`)] : [list];
}

function said(issue) {
  const severity = issue.severity === "error" ? "Error" : "Warning";
  return [
    icon(issue.severity),
    h("span", { class: "issue-text" }, h("span", { class: "quiet" }, `${severity}: `), quoted(issue.message)),
    h(
      "span",
      { class: "issue-place" },
      // A fault of the JSON itself is at a place of the text, in no member.
      issue.path === "" && issue.start !== undefined ? null : h("code", {}, issue.path || "whole text"),
      issue.start === undefined ? null : h("span", {}, place(issue)),
      h("span", { class: "mono" }, issue.code),
    ),
  ];
}

