// For browsers and bundlers: the module is fetched from beside this file.
import { start } from "./start.js";

export * from "./functions.js";

export default function init() {
  return start(() => fetch(new URL("./space_profiles.wasm", import.meta.url)));
}

// A page must not fail to load because of this package: if the module could not be had, each call says why, and
// `init()` tries again.
await init().catch(() => {});
