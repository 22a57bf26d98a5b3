/** Sentences: what the package answers, in plain words. */

const NUMBER = new Intl.NumberFormat("en");

export const number = (value) => NUMBER.format(value);

export const count = (n, one, many = `${one}s`) => `${number(n)} ${n === 1 ? one : many}`;

/** "3 errors and 1 warning" */
export function tally(issues) {
  const errors = issues.filter((issue) => issue.severity === "error").length;
  const warnings = issues.length - errors;
  const parts = [];
  if (errors > 0) parts.push(count(errors, "error"));
  if (warnings > 0) parts.push(count(warnings, "warning"));
  return parts.join(" and ");
}

/** The digits that people tell hashes apart by. */
const short = (hash) => `${hash.slice(hash.indexOf(":") + 1).slice(0, 12)}…`;

/** A value in a sentence: vector space ids by their first digits. */
function brief(value) {
  if (value === undefined) return "none";
  if (typeof value !== "string") return JSON.stringify(value);
  return value.startsWith("embedding-space-sha256:") ? short(value) : value;
}

/** "/rerank/model/provider" as "rerank model provider" */
export const named = (path) => path.slice(1).split("/").map((key) => key.replaceAll("~1", "/").replaceAll("~0", "~")).join(" ");

const list = new Intl.ListFormat("en", { type: "conjunction" });

/** What a difference means, first in two or three words and then why. */
export function verdictOfDiff({ needsReembedding, changes }) {
  if (changes.length === 0) return { strong: "Nothing changed", rest: "" };
  const what = changes
    .filter((change) => change.path !== "/revision")
    .map((change) => `${named(change.path)} ${brief(change.before)} to ${brief(change.after)}`);
  const rest = what.length > 0 ? `: ${list.format(what)}` : ": only the revision changed";
  return { strong: needsReembedding ? "Needs re-embedding" : "Needs no re-embedding", rest };
}

/** Where an issue is: "line 5, column 16". */
export function place(issue) {
  return `line ${number(issue.line)}, column ${number(issue.column)}`;
}
