// What the package does. Everything is decided in the module.
import * as module from "./glue.js";

import { failure, wrongArgument } from "./failure.js";
import { ask } from "./start.js";
import { textOf, textOfMaterial } from "./text.js";

const KINDS = ["embedding", "retrieval"];
const UNKNOWN = 2;

export function validate(kind, text) {
  const number = kindOf(kind);
  const { bytes, length, locate } = textOf(text, "text");
  return located(ask(() => module.validate(number, bytes, length)).slice(1), locate);
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
  const [one, two] = [textOf(from, "from"), textOf(to, "to")];
  const answer = ask(() => module.diff(number, one.bytes, one.length, two.bytes, two.length));
  const document = JSON.parse(accepted(answer, (refusal) => (refusal.argument === "to" ? two : one).locate));
  for (const change of document.changes) {
    if ("before" in change) change.before = JSON.parse(change.before);
    if ("after" in change) change.after = JSON.parse(change.after);
  }
  return document;
}

export function verify(text, digest) {
  if (typeof digest !== "string") throw wrongArgument("digest", "a string of 64 lower-case hex digits", digest);
  const { bytes: claimed } = textOf(digest, "digest");
  return JSON.parse(answerOn(textOf(text, "text"), (bytes, length) => module.verify(bytes, length, claimed)));
}

function kindOf(kind) {
  const number = KINDS.indexOf(kind);
  if (number >= 0) return number;
  const found = typeof kind === "string" ? `\`${kind.slice(0, 60)}\`` : kind;
  throw typeof kind === "string"
    ? Object.assign(new TypeError(`kind: expected "embedding" or "retrieval", found ${found}`), { code: "ARGUMENT_INVALID", argument: "kind" })
    : wrongArgument("kind", '"embedding" or "retrieval"', kind);
}

function answerOn({ bytes, length, locate }, call) {
  return accepted(ask(() => call(bytes, length)), () => locate);
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
  if (document.issues) return locateAll(document, places, locate);
  locate(document, places[0]);
  // The name under which other parsers tell it.
  if (document.start !== undefined) document.offset = document.start;
  return document;
}

/** A document with its issues, each with its place. */
function located(text, locate) {
  const end = text.indexOf("\n");
  if (end < 0) return JSON.parse(text);
  return locateAll(JSON.parse(text.slice(0, end)), JSON.parse(text.slice(end + 1)), locate);
}

function locateAll(document, places, locate) {
  document.issues.forEach((issue, at) => locate(issue, places[at]));
  return document;
}
