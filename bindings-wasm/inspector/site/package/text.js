// Texts on their way into the module, and places on their way back.

import { described, isArray, wrongArgument } from "./failure.js";

// More than the module reads of any text. Of one that is longer only so much is copied, and its length is told.
const MOST = (1 << 20) + 1;
// Strings up to here are encoded where the module reads them, which is several times faster than into an array of
// their own. Longer ones might take three times the room that they need there.
const SHORT = 4 << 10;
const encoder = new TextEncoder();

/**
 * A string or bytes on their way into the module: `{content, length, locate}`. The content is bytes, or a short string
 * that is well formed; how long that is in bytes shows when it is encoded.
 */
export function textOf(value, name) {
  if (typeof value === "string") return ofString(value);
  const parts = bytesOf(value);
  if (!parts) throw wrongArgument(name, "a string, or UTF-8 as a Uint8Array or another view of bytes; give it JSON text", value);
  const [buffer, offset, size] = parts;
  const length = Math.min(size, 0xffffffff);
  try {
    return { content: new Uint8Array(buffer, offset, Math.min(length, MOST)), length, locate: asItIs };
  } catch {
    throw wrongArgument(name, "bytes that are still there; copy them before their buffer is transferred", value);
  }
}

const sizeOfBuffer = Object.getOwnPropertyDescriptor(ArrayBuffer.prototype, "byteLength").get;

/** The buffer, offset and size of a view or a buffer, from whichever realm it comes; nothing of anything else. */
function bytesOf(value) {
  if (ArrayBuffer.isView(value)) return [value.buffer, value.byteOffset, value.byteLength];
  try {
    return [value, 0, sizeOfBuffer.call(value)];
  } catch {
    return undefined;
  }
}

/** Text as `textOf` takes it, or what becomes such text: material that is given as an object. */
export function textOfMaterial(value, name) {
  if (typeof value === "string" || bytesOf(value)) return textOf(value, name);
  const wanted = "an object of plain JSON values";
  if (typeof value !== "object" || value === null || isArray(value)) throw wrongArgument(name, wanted, value);
  let text;
  try {
    text = JSON.stringify(value, plain);
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    const message = `${name}: expected ${wanted}, found one that is not: ${reason}`;
    throw Object.assign(wrongArgument(name, wanted, value), { message, cause });
  }
  if (text === undefined) throw wrongArgument(name, wanted, value);
  // Places in a text that the caller never saw say nothing.
  return { ...textOf(text, name), locate: nowhere };
}

/** Refuses what JSON has no words for: `JSON.stringify` would call it null or `{}`, or leave it out. */
function plain(key, value) {
  if (hasWords(value, this)) return value;
  throw new TypeError(`\`${key}\` is ${typeof value === "number" ? value : described(value)}`);
}

function hasWords(value, holder) {
  switch (typeof value) {
    case "number":
      return Number.isFinite(value);
    case "object":
      return value === null || Array.isArray(value) || isPlainObject(value);
    case "undefined":
      // A member that is undefined is one that is not there; an element is one.
      return !Array.isArray(holder);
    default:
      return typeof value === "string" || typeof value === "boolean";
  }
}

/** Whether an object has no class, in whichever realm it was made. */
function isPlainObject(object) {
  const prototype = Object.getPrototypeOf(object);
  return prototype === null || Object.getPrototypeOf(prototype) === null;
}

/** The same text, whatever becomes of the bytes that it was given as. */
export function kept(text) {
  return typeof text.content === "string" ? text : { ...text, content: text.content.slice() };
}

/** The most bytes that a text can take in the module. */
export function roomOf({ content }) {
  return typeof content === "string" ? content.length * 3 : content.length;
}

/** Puts a text where the module reads it, and answers how many bytes those are. */
export function store({ content }, room) {
  if (typeof content === "string") return encoder.encodeInto(content, room).written;
  room.set(content);
  return content.length;
}

/** How many bytes a text has, of which so many were stored. */
export function lengthOf({ length }, stored) {
  return length ?? stored;
}

function ofString(text) {
  if (text.length > MOST) {
    return { content: encoder.encode(text.slice(0, MOST)), length: utf8Length(text), locate: asItIs };
  }
  if (!isWellFormed(text)) {
    const { escaped, locate } = withEscapes(text);
    return { content: encoder.encode(escaped), length: undefined, locate };
  }
  return { content: text.length > SHORT ? encoder.encode(text) : text, length: undefined, locate: asItIs };
}

const LONE = /\p{Surrogate}/u;
const isWellFormed = String.prototype.isWellFormed
  ? (text) => text.isWellFormed()
  : (text) => !LONE.test(text);

function utf8Length(text) {
  let length = 0;
  for (let at = 0; at < text.length; at++) {
    const unit = text.charCodeAt(at);
    if (unit < 0x80) length += 1;
    else if (unit < 0x800) length += 2;
    else if ((unit & 0xfc00) === 0xd800 && (text.charCodeAt(at + 1) & 0xfc00) === 0xdc00) {
      length += 4;
      at++;
    } else length += 3;
  }
  return length;
}

/** Halves of surrogate pairs that are told one by one; the text is refused because of the first. */
const TOLD_HALVES = 20;
/** A half that pairs with nothing: not with an escape before it, nor, being followed by another, with one behind. */
const HALF = "\\ud800\\ud800";

/**
 * UTF-8 has no half of a surrogate pair: an encoder would put U+FFFD there, and the digest would be another text's.
 * So the module is given an escape for the half, which it refuses, and its answer is told of the text as it was.
 */
function withEscapes(text) {
  const halves = []; // where they stand in the text that the module sees, and what they are
  let grown = 0;
  const escaped = text.replace(/\\[^]|\p{Surrogate}/gu, (found, at) => {
    const isEscape = found.length > 1;
    if (isEscape && !LONE.test(found)) return found;
    // Behind a backslash an escape would be escaped itself; that is not JSON in any case.
    const isTold = !isEscape && halves.length < TOLD_HALVES;
    const replaced = isTold ? HALF : isEscape ? "\\\uFFFD" : "\uFFFD";
    const start = at + grown + (isEscape ? 1 : 0);
    halves.push({ start, end: at + grown + replaced.length, unit: found.charCodeAt(found.length - 1).toString(16) });
    grown += replaced.length - found.length;
    return replaced;
  });
  // A half is one unit, whatever stands for it.
  const original = (offset) =>
    halves.reduce((at, { start, end }) => (offset > start ? at - (Math.min(offset, end) - start) + 1 : at), offset);
  const locate = (issue, place) => {
    if (!place) return issue;
    const half = halves.find(({ start }) => start === place[0]);
    if (half) {
      const isHalf = issue.code === "JSON_LONE_SURROGATE";
      const [, where] = (isHalf && issue.message.match(/( at `[^]*`)$/)) || [null, ""];
      issue.code = "JSON_LONE_SURROGATE";
      issue.message = `expected a whole surrogate pair, found only \`\\u${half.unit}\`${where}`;
    }
    const [start, end] = [original(place[0]), original(place[1])];
    const before = text.slice(0, start);
    const [line, column] = [before.split("\n").length, before.length - before.lastIndexOf("\n")];
    issue.message = issue.message.replace(/ in line \d+, column \d+$/, ` in line ${line}, column ${column}`);
    return asItIs(issue, [start, end, line, column]);
  };
  return { escaped, locate };
}

function asItIs(issue, place) {
  if (place) [issue.start, issue.end, issue.line, issue.column] = place;
  return issue;
}

function nowhere(issue) {
  return issue;
}
