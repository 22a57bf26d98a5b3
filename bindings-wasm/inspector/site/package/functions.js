// What the package does. Everything is decided in the module.
import * as module from "./glue.js";

import { failure, wrongArgument } from "./failure.js";
import { ask } from "./start.js";
import { kept, lengthOf, textOf, textOfMaterial } from "./text.js";

const KINDS = ["embedding", "retrieval"];
const UNKNOWN = 2;

export function validate(kind, text) {
  const number = kindOf(kind);
  const given = textOf(text, "text");
  const answer = ask((stored) => module.validate(number, stored, lengthOf(given, stored)), given);
  const line = linesOf(answer);
  if (answer[0] === "!") return { valid: false, kind, issues: locatedIssues(line(), line(), given.locate) };
  const digest = line();
  const identity = { pluginId: line(), provider: line(), model: line() };
  const dimension = line();
  if (dimension) identity.dimension = Number(dimension);
  const vectorSpaceId = line();
  if (vectorSpaceId) identity.vectorSpaceId = vectorSpaceId;
  const canonical = line();
  const issues = line();
  return { valid: true, kind, issues: issues ? locatedIssues(issues, line(), given.locate) : [], canonical, digest, identity };
}

export function canonicalize(text) {
  return answerOn(textOf(text, "text"), module.canonicalize);
}

export function digest(text) {
  return answerOn(textOf(text, "text"), module.digest);
}

export function vectorSpaceId(material) {
  return answerOn(textOfMaterial(material, "material"), module.vectorSpaceId);
}

export function capabilityDigest(material) {
  return answerOn(textOfMaterial(material, "material"), module.capabilityDigest);
}

export function diff(from, to, kind) {
  const number = kind === undefined ? UNKNOWN : kindOf(kind);
  const one = kept(textOf(from, "from"));
  const two = textOf(to, "to");
  const compare = (storedOne, storedTwo) =>
    module.diff(number, storedOne, lengthOf(one, storedOne), storedTwo, lengthOf(two, storedTwo));
  return JSON.parse(accepted(ask(compare, one, two), (refusal) => (refusal.argument === "to" ? two : one).locate));
}

export function verify(text, digest) {
  if (typeof digest !== "string") throw wrongArgument("digest", "a string of 64 lower-case hex digits", digest);
  const claimed = textOf(digest, "digest");
  return JSON.parse(answerOn(textOf(text, "text"), module.verify, claimed));
}

function kindOf(kind) {
  const number = KINDS.indexOf(kind);
  if (number < 0) throw wrongArgument("kind", '"embedding" or "retrieval"', kind);
  return number;
}

function answerOn(text, call, other) {
  const answer = ask((stored, storedOther) => call(stored, lengthOf(text, stored), storedOther), text, other);
  return accepted(answer, () => text.locate);
}

/** What the module answered to an input that it accepts; throws otherwise. */
function accepted(answer, locator) {
  if (answer[0] === "=") return answer.slice(1);
  const { code, message, ...members } = refusal(answer.slice(1), locator);
  throw failure(code, message, members);
}

function refusal(text, locator) {
  const [document, places] = text.split("\n").map((line) => JSON.parse(line));
  const locate = locator(document);
  if (document.issues) document.issues.forEach((issue, at) => locate(issue, places[at]));
  else {
    locate(document, places[0]);
    // The name under which other parsers tell it.
    if (document.start !== undefined) document.offset = document.start;
  }
  return document;
}

function locatedIssues(issues, places, locate) {
  const where = JSON.parse(places);
  return JSON.parse(issues).map((issue, at) => locate(issue, where[at]));
}

/** Gives the lines of an answer, behind its mark, one by one; after the last one empty ones. */
function linesOf(answer) {
  let start = 1;
  // `split` takes four times as long.
  return () => {
    const end = answer.indexOf("\n", start);
    const line = end < 0 ? answer.slice(start) : answer.slice(start, end);
    start = end < 0 ? answer.length : end + 1;
    return line;
  };
}
