// For Node, and for rendering on a server: nothing happens before the first call, which reads the module.
import { readFileSync } from "node:fs";

import { startAtFirstCall, startSync } from "./start.js";

export * from "./functions.js";

const load = () => readFileSync(new URL("./space_profiles.wasm", import.meta.url));

startAtFirstCall(load);

export default async function init() {
  startSync(load);
}
