export * from "./index.js";

type Platform = typeof globalThis;

/** `WebAssembly.Module`, where the platform's types have it. */
type Compiled = Platform extends { WebAssembly: { Module: { prototype: infer Module } } } ? Module : never;
/** What `fetch` answers, where the platform's types have it. */
type Answer = Platform extends { Response: { prototype: infer Response } } ? Response : never;
type Bytes = ArrayBufferView | ArrayBuffer;

/** The module `space_profiles.wasm`, in whatever form the caller has it. */
export type Module = Compiled | Bytes | Answer;

/**
 * Starts the module; nothing else does. Calling it again is harmless and keeps the instance.
 *
 * @throws {SpaceProfilesError} `MODULE_UNAVAILABLE`
 */
export function init(module: Module | Promise<Module>): Promise<void>;

/**
 * The same at once.
 *
 * @throws {SpaceProfilesError} `MODULE_UNAVAILABLE`
 */
export function initSync(module: Compiled | Bytes): void;

export default init;
