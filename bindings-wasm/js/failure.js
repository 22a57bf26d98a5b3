// The errors that this package throws: plain ones, with a code.

export function failure(code, message, members) {
  const { cause, ...others } = members ?? {};
  return Object.assign(new Error(message, cause && { cause }), { name: "SpaceProfilesError", code, ...others });
}

export function wrongArgument(name, expected, found) {
  const message = `${name}: expected ${expected}, found ${described(found)}`;
  return Object.assign(new TypeError(message), { code: "ARGUMENT_INVALID", argument: name });
}

export function described(value) {
  if (value === null || value === undefined) return String(value);
  if (typeof value === "string") return `\`${value.slice(0, 60)}\``;
  if (isArray(value)) return "an array";
  return typeof value === "object" ? "an object" : `a ${typeof value}`;
}

/** `Array.isArray`, which throws of a proxy that was revoked. */
export function isArray(value) {
  try {
    return Array.isArray(value);
  } catch {
    return false;
  }
}
