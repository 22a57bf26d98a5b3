/**
 * The npm package `space-profiles`. What is valid, what a digest is and what differs is decided by it alone; the page
 * shows its answers. Its slim entry lets the page be there before the module is.
 */

import init from "./package/slim.js";

export { canonicalize, capabilityDigest, diff, digest, validate, vectorSpaceId, verify } from "./package/slim.js";

/** Loads the WebAssembly module. */
export const load = () => init(fetch(new URL("./package/space_profiles.wasm", import.meta.url)));

/** A question that the package may refuse with an error: `{ value }` or `{ error }`. */
export function ask(question) {
  try {
    return { value: question() };
  } catch (error) {
    return { error };
  }
}
