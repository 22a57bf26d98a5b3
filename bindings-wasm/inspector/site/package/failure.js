// The errors that this package throws: plain ones, with a code.

export function failure(code, message, members) {
  const { cause, ...others } = members ?? {};
  return Object.assign(new Error(message, cause && { cause }), { name: "SpaceProfilesError", code, ...others });
}

export function wrongArgument(name, expected, found) {
  const message = `${name}: expected ${expected}, found ${described(found)}`;
  return Object.assign(new TypeError(message), { code: "ARGUMENT_INVALID", argument: name });
}

function described(value) {
  if (value === null) return "null";
  if (Array.isArray(value)) return "an array";
  const type = typeof value;
  return type === "object" || type === "undefined" ? (type === "object" ? "an object" : type) : `a ${type}`;
}
