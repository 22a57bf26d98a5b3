// From a text to verdict and digest. `JSON.parse` is less strict than the contract: of two equal keys it keeps one,
// and it rounds what a double cannot hold. That is left as it is, in its favour.
import { canonical } from "./canonical.js";
import * as rules from "./rules.js";

/** Validates with rules of zod and whichever SHA-256 the platform has. */
export function validator(sha256) {
  return function validate(kind, text) {
    let value;
    try {
      value = JSON.parse(text);
    } catch (error) {
      return { valid: false, kind, issues: [{ path: "", code: "JSON_INVALID", message: error.message }] };
    }
    const { success, error } = rules[kind].safeParse(value);
    if (!success) {
      const issues = error.issues.map(({ path, code, message }) => ({ path: pointer(path), code, message }));
      return { valid: false, kind, issues };
    }
    const canonicalText = canonical(value);
    return { valid: true, kind, issues: [], canonical: canonicalText, digest: sha256(canonicalText) };
  };
}

const pointer = (path) => path.map((step) => `/${String(step).replaceAll("~", "~0").replaceAll("/", "~1")}`).join("");
