/** What a text is read as: the kind that was chosen, or the one that suits it better. */

import { ask, canonicalize, validate } from "./package.js";
import { count, number, tally } from "./words.js";

const KINDS = ["embedding", "retrieval"];

const refusals = (report) => report.issues.filter((issue) => issue.severity === "error");

const errors = (report) => refusals(report).length;

/** Whether nothing but its JSON is wrong with a text, so that its kind does not matter yet. */
const isNotJson = (report) => !report.valid && refusals(report).every((issue) => issue.code.startsWith("JSON_"));

/**
 * Reads a text. `choice` is a kind or `detected`; `last` is the kind that it was read as before, which stays where
 * nothing speaks for the other one.
 */
export function read(text, choice, last) {
  const reports = KINDS.map((kind) => validate(kind, text));
  if (choice !== "detected") {
    const chosen = reports.find((report) => report.kind === choice);
    const valid = reports.find((report) => report.valid);
    const hint = !chosen.valid && valid ? ` As ${valid.kind} it would be valid.` : "";
    return { report: chosen, how: `Read as ${choice}, as you chose.${hint}` };
  }
  const [one, two] = reports;
  if (!one.valid && !two.valid && isCapability(text)) {
    return { report: one, how: "This looks like a capability snapshot, which a store judges together with its snapshot. Here it is read as an embedding snapshot." };
  }
  const difference = errors(one) - errors(two);
  if (difference === 0) {
    const report = reports.find((candidate) => candidate.kind === last) ?? one;
    return { report, how: isNotJson(one) ? "" : `Nothing tells its kind; read as ${report.kind}.` };
  }
  const [report, other] = difference < 0 ? [one, two] : [two, one];
  if (report.valid) return { report, how: `Detected ${report.kind}: it is valid as that.` };
  return {
    report,
    how: `Detected ${report.kind}: ${count(errors(report), "error")}; as ${other.kind} it has ${number(errors(other))}.`,
  };
}

/** Whether a text is meant to be a typed capability snapshot: no snapshot has these members. */
function isCapability(text) {
  const { value } = ask(() => JSON.parse(canonicalize(text)));
  return typeof value === "object" && value !== null && ["kind", "verification"].some((name) => Object.hasOwn(value, name));
}

/** The verdict in a line. */
export function verdict(report) {
  if (report.valid) return `Valid ${report.kind} snapshot`;
  return isNotJson(report) ? "Not acceptable JSON" : `Not a valid ${report.kind} snapshot`;
}

/** What the verdict comes from, in a sentence. */
export function reasons(report) {
  const said = tally(report.issues);
  if (isNotJson(report)) return `${said}. Whatever it is meant to be, it must be JSON that every reader understands alike.`;
  if (!report.valid) return said;
  return said === "" ? "Every rule of its kind is kept." : `With ${said}: it is accepted, and worth a look.`;
}

/** The verdict in a sentence, for people who hear the page. */
export function spoken(report) {
  const issues = report.issues.length > 0 ? `: ${tally(report.issues)}` : "";
  return `${verdict(report)}${issues}.`;
}
