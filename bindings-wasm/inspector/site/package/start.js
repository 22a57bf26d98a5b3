// The one instance of the module: how it starts, and starts anew.
import { __wbg_reset_state, answerAt, initSync, room } from "./glue.js";

import { failure } from "./failure.js";
import { roomOf, store } from "./text.js";

// The least room for texts that the module is asked for, in bytes.
const USUAL_ROOM = 16 << 10;
// What a `TextDecoder` of Safari can decode in its life is a little less than 2 GiB.
const DECODABLE = 1 << 30;
const NOTHING = new Uint8Array();

let isReady = false;
let hasFailed = false;
let starting; // what every caller waits for while the module is being had
let lastFailure; // why it could not be had
let loadAtFirstCall;
// The module's memory, and in it the place of texts. When the memory grows, both are empty.
let memory = NOTHING;
let texts = NOTHING;
let decoder;
let decoded = DECODABLE;

/** Starts the module that `load` answers, unless there is one already. */
export function start(load) {
  if (isReady) return Promise.resolve();
  starting ??= compiled(load).then(instantiate).then(
    () => {
      starting = undefined;
    },
    (cause) => {
      starting = undefined;
      throw (lastFailure = unavailable(cause));
    },
  );
  return starting;
}

/** The same, at once. */
export function startSync(load) {
  if (isReady) return;
  try {
    const module = load();
    instantiate(module instanceof WebAssembly.Module ? module : new WebAssembly.Module(module));
  } catch (cause) {
    throw (lastFailure = unavailable(cause));
  }
}

export function startAtFirstCall(load) {
  loadAtFirstCall = load;
}

/**
 * Calls into the module about a text or two, and gives its answer. `call` is told how many bytes of each are there, and
 * tells how long the answer is. Should it ever fail, the next call finds a fresh instance.
 *
 * What runs from storing the texts to reading the answer is nobody else's, so that no call comes between.
 */
export function ask(call, one, two) {
  if (!isReady) {
    if (!loadAtFirstCall) throw lastFailure ?? notStarted();
    startSync(loadAtFirstCall);
  }
  if (hasFailed) {
    __wbg_reset_state();
    memory = texts = NOTHING;
    hasFailed = false;
  }
  try {
    const most = roomOf(one) + (two ? roomOf(two) : 0);
    if (texts.length <= most) texts = roomFor(most + 1);
    const stored = store(one, texts);
    return answerOf(call(stored, two && store(two, texts.subarray(stored))));
  } catch (cause) {
    hasFailed = true;
    throw failure(
      "MODULE_FAILED",
      "the module failed; the next call starts it anew. This is a bug of space-profiles: please report it with the input",
      { cause },
    );
  }
}

function roomFor(bytes) {
  const size = Math.max(bytes, USUAL_ROOM);
  const at = room(size);
  return memoryNow().subarray(at, at + size);
}

function answerOf(length) {
  const at = answerAt();
  if ((decoded += length) >= DECODABLE) {
    decoder = new TextDecoder("utf-8", { ignoreBOM: true });
    decoded = length;
  }
  return decoder.decode(memoryNow().subarray(at, at + length));
}

function memoryNow() {
  if (memory.length === 0) memory = new Uint8Array(initSync().memory.buffer);
  return memory;
}

function instantiate(module) {
  // Somebody else may have been faster.
  if (!isReady) initSync({ module });
  isReady = true;
  lastFailure = undefined;
}

async function compiled(load) {
  const source = await load();
  if (source instanceof WebAssembly.Module) return source;
  if (typeof Response === "function" && source instanceof Response) {
    // Vite 7 and older move the scripts of packages there, and not what lies beside them.
    const isMoved = source.url.includes("/.vite/deps/");
    const advice = isMoved ? '; set `optimizeDeps: { exclude: ["space-profiles"] }` in Vite\'s configuration' : "";
    if (!source.ok) throw new Error(`${source.url} answered ${source.status} ${source.statusText}`.trimEnd() + advice);
    const type = source.headers.get("Content-Type") ?? "";
    if (type.startsWith("text/html")) throw new Error(`${source.url} answered a page and not the module${advice}`);
    // A server that names another type is no reason to fail, only to be slower.
    return type === "application/wasm"
      ? WebAssembly.compileStreaming(source)
      : WebAssembly.compile(await source.arrayBuffer());
  }
  return WebAssembly.compile(source);
}

function unavailable(cause) {
  const isRefused = cause instanceof WebAssembly.CompileError && /content security policy|unsafe-eval/i.test(cause.message);
  const advice = isRefused ? "; add 'wasm-unsafe-eval' to script-src of the page's Content-Security-Policy" : "";
  const reason = cause instanceof Error ? cause.message : String(cause);
  return failure("MODULE_UNAVAILABLE", `expected to start space_profiles.wasm, found: ${reason}${advice}`, { cause });
}

function notStarted() {
  return failure("MODULE_UNAVAILABLE", "expected a module that was started, found none; call `await init()` first");
}
