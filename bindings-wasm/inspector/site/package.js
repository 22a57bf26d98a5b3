/**
 * The npm package `space-profiles`, once it is there. What is valid, what a digest is and what differs is decided by
 * it alone; the page shows its answers.
 */

import init, * as package_ from "./package/space_profiles.js";

export const { canonicalize, capabilityDigest, diff, digest, validate, vectorSpaceId, verify } = package_;

/** Loads the WebAssembly module. */
export const load = () => init();

/** A question that the package may refuse with an error: `{ value }` or `{ error }`. */
export function ask(question) {
  try {
    return { value: question() };
  } catch (error) {
    return { error };
  }
}
