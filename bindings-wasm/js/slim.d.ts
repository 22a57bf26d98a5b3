export * from "./index.js";

/** The module `space_profiles.wasm`, in whatever form the caller has it. */
export type Module = WebAssembly.Module | BufferSource | Response;

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
export function initSync(module: WebAssembly.Module | BufferSource): void;

export default init;
