// For whoever brings the module along: nothing is fetched or read.
import { start, startSync } from "./start.js";

export * from "./functions.js";

export function init(module) {
  return start(() => module);
}

export function initSync(module) {
  startSync(() => module);
}

export default init;
