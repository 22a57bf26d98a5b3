// The package's answers, in the form of the files that `cargo run --example answers` writes. Runs in Node and in pages.

export const bytesOf = (hex) => Uint8Array.from(hex.match(/../g) ?? [], (pair) => parseInt(pair, 16));

const given = (input) => input.text ?? bytesOf(input.hex);
const otherDigest = "0".repeat(64);

export function attempt(call) {
  try {
    return { ok: call() };
  } catch (error) {
    const { name, cause, ...members } = error;
    return { error: { message: error.message, ...members } };
  }
}

export function answersOf(sp, text, other) {
  const digest = attempt(() => sp.digest(text));
  return {
    canonicalize: attempt(() => sp.canonicalize(text)),
    digest,
    embedding: sp.validate("embedding", text),
    retrieval: sp.validate("retrieval", text),
    vectorSpaceId: attempt(() => sp.vectorSpaceId(text)),
    capabilityDigest: attempt(() => sp.capabilityDigest(text)),
    diff: attempt(() => sp.diff(other, text)),
    verify: attempt(() => sp.verify(text, digest.ok ?? otherDigest)),
    verifyOther: attempt(() => sp.verify(text, otherDigest)),
  };
}

/** What differs from the answers in a file, as text; nothing if nothing does. */
export function differences(sp, lines, { alsoAsBytes = false } = {}) {
  const found = [];
  for (const line of lines.split("\n").filter(Boolean)) {
    const { id, input, other, answers } = JSON.parse(line);
    const mine = answersOf(sp, given(input), given(other));
    compare(id, answers, mine, found);
    if (alsoAsBytes && input.text !== undefined) {
      compare(`${id} as bytes`, answers, answersOf(sp, new TextEncoder().encode(input.text), given(other)), found);
    }
    if (input.text !== undefined) checkPlaces(id, input.text, mine, found);
  }
  return found;
}

function compare(path, expected, mine, found) {
  if (Object.is(expected, mine) || (expected === 0 && mine === 0)) return;
  const isObject = (value) => typeof value === "object" && value !== null;
  if (isObject(expected) && isObject(mine) && Array.isArray(expected) === Array.isArray(mine)) {
    for (const key of new Set([...Object.keys(expected), ...Object.keys(mine)])) {
      if (Object.hasOwn(expected, key) !== Object.hasOwn(mine, key)) found.push(`${path}.${key}: there on one side only`);
      else compare(`${path}.${key}`, expected[key], mine[key], found);
    }
    return;
  }
  found.push(`${path}: expected ${JSON.stringify(expected)}, found ${JSON.stringify(mine)}`);
}

/** Lines and columns once more, from the offsets alone. */
function checkPlaces(id, text, answers, found) {
  const issues = [answers.embedding, answers.retrieval].flatMap((report) => report.issues);
  const errors = [answers.digest, answers.canonicalize].flatMap((answer) => answer.error ?? []);
  for (const { code, message, start, end, line, column } of [...issues, ...errors]) {
    if (start === undefined) {
      if (code !== "JSON_TOO_LARGE") found.push(`${id}: ${code} has no place`);
      continue;
    }
    const before = text.slice(0, start).split("\n");
    const isRight = line === before.length && column === before.at(-1).length + 1 && start <= end && end <= text.length;
    if (!isRight) found.push(`${id}: ${code} is said to be at ${line}:${column}, ${start} to ${end}`);
    const [said] = message.match(/ in line \d+, column \d+$/) ?? [];
    if (said && said !== ` in line ${line}, column ${column}`) found.push(`${id}: ${code} is at ${line}:${column}, and its message says${said}`);
  }
}
