
export function __wbg_reset_state () {
__wbg_instance_id++;
__wbg_reinit_scheduled = false;
            wasmInstance = new WebAssembly.Instance(wasmModule, __wbg_get_imports());
            wasm = wasmInstance.exports;
            wasm.__wbindgen_start();
            }

/**
 * Where the answer to the last call is.
 * @returns {number}
 */
export function answerAt() {
let ret;
__wbg_call_guard();
ret = wasm.answerAt();
return ret >>> 0;
}

/**
 * The RFC 8785 canonical text.
 * @param {number} stored
 * @param {number} length
 * @returns {number}
 */
export function canonicalize(stored, length) {
let ret;
__wbg_call_guard();
ret = wasm.canonicalize(stored, length);
return ret >>> 0;
}

/**
 * The capability digest that follows from its material.
 * @param {number} stored
 * @param {number} length
 * @returns {number}
 */
export function capabilityDigest(stored, length) {
let ret;
__wbg_call_guard();
ret = wasm.capabilityDigest(stored, length);
return ret >>> 0;
}

/**
 * What changed between two snapshots. A kind that is none is found out.
 * @param {number} kind
 * @param {number} from_stored
 * @param {number} from_length
 * @param {number} to_stored
 * @param {number} to_length
 * @returns {number}
 */
export function diff(kind, from_stored, from_length, to_stored, to_length) {
let ret;
__wbg_call_guard();
ret = wasm.diff(kind, from_stored, from_length, to_stored, to_length);
return ret >>> 0;
}

/**
 * The digest of the canonical text.
 * @param {number} stored
 * @param {number} length
 * @returns {number}
 */
export function digest(stored, length) {
let ret;
__wbg_call_guard();
ret = wasm.digest(stored, length);
return ret >>> 0;
}

/**
 * Makes room for texts of so many bytes together, which lose what they held, and says where.
 * @param {number} bytes
 * @returns {number}
 */
export function room(bytes) {
let ret;
__wbg_call_guard();
ret = wasm.room(bytes);
return ret >>> 0;
}

/**
 * The report on a snapshot's text.
 * @param {number} kind
 * @param {number} stored
 * @param {number} length
 * @returns {number}
 */
export function validate(kind, stored, length) {
let ret;
__wbg_call_guard();
ret = wasm.validate(kind, stored, length);
return ret >>> 0;
}

/**
 * The vector space id that follows from its material.
 * @param {number} stored
 * @param {number} length
 * @returns {number}
 */
export function vectorSpaceId(stored, length) {
let ret;
__wbg_call_guard();
ret = wasm.vectorSpaceId(stored, length);
return ret >>> 0;
}

/**
 * Whether the digest that comes second is a text's, as far as this build can tell: it knows no collation.
 * @param {number} stored
 * @param {number} length
 * @param {number} claimed_stored
 * @returns {number}
 */
export function verify(stored, length, claimed_stored) {
let ret;
__wbg_call_guard();
ret = wasm.verify(stored, length, claimed_stored);
return ret >>> 0;
}
function __wbg_get_imports() {
            const import0 = {
            __proto__: null,
        __wbindgen_init_externref_table: function() {
const table = wasm.__wbindgen_externrefs;
table.set(0, undefined);
table.set(1024, undefined);
table.set(1025, null);
table.set(1026, true);
table.set(1027, false);
},
};
        return {
            __proto__: null,
            "./space_profiles_wasm_bg.js": import0,
        };
}

function __wbg_call_guard() {
                if (__wbg_reinit_scheduled) {
                    __wbg_reset_state();
                    return;
                }
}


let __wbg_instance_id = 0;

let __wbg_reinit_scheduled = false;

let wasmModule, wasmInstance, wasm;
            function __wbg_finalize_init(instance, module) {
                wasmInstance = instance;
                wasm = instance.exports;
                wasmModule = module;
                wasm.__wbindgen_start();
return wasm;
            }

            async function __wbg_load(module, imports) {
                if (typeof Response === 'function' && module instanceof Response) {
                    if (!module.ok) {
                        throw new Error(`failed to fetch Wasm: ${module.status} ${module.statusText} fetching '${module.url}'`);
                    }

                    if (typeof WebAssembly.instantiateStreaming === 'function') {
                        try {
                            return await WebAssembly.instantiateStreaming(module, imports);
                        } catch (e) {
                            const validResponse = expectedResponseType(module.type);

                            if (validResponse && module.headers.get('Content-Type') !== 'application/wasm') {
                                console.warn("`WebAssembly.instantiateStreaming` failed because your server does not serve Wasm with `application/wasm` MIME type. Falling back to `WebAssembly.instantiate` which is slower. Original error:\n", e);

                            } else { throw e; }
                        }
                    }

                    const bytes = await module.arrayBuffer();
                    return await WebAssembly.instantiate(bytes, imports);
                } else {
                    const instance = await WebAssembly.instantiate(module, imports);

                    if (instance instanceof WebAssembly.Instance) {
                        return { instance, module };
                    } else {
                        return instance;
                    }
                }

                function expectedResponseType(type) {
                    switch (type) {
                        case 'basic': case 'cors': case 'default': return true;
                    }
                    return false;
                }
            }

            function initSync(module) {
                if (wasm !== undefined) return wasm;

                
                if (module !== undefined) {
                    if (Object.getPrototypeOf(module) === Object.prototype) {
                        ({module} = module)
                    } else {
                        console.warn('using deprecated parameters for `initSync()`; pass a single object instead')
                    }
                }

                const imports = __wbg_get_imports();
                if (!(module instanceof WebAssembly.Module)) {
                    module = new WebAssembly.Module(module);
                }
                const instance = new WebAssembly.Instance(module, imports);
                return __wbg_finalize_init(instance, module);
            }

            let __wbg_init_promise;
            async function __wbg_init(module_or_path) {
                if (wasm !== undefined) return wasm;
                if (__wbg_init_promise === undefined) {
                    __wbg_init_promise = __wbg_init_once(module_or_path);
                    __wbg_init_promise.catch(() => { __wbg_init_promise = undefined; });
                }
                return __wbg_init_promise;
            }

            async function __wbg_init_once(module_or_path) {
                
                if (module_or_path !== undefined) {
                    if (Object.getPrototypeOf(module_or_path) === Object.prototype) {
                        ({module_or_path} = module_or_path)
                    } else {
                        console.warn('using deprecated parameters for the initialization function; pass a single object instead')
                    }
                }

                
                const imports = __wbg_get_imports();

                if (typeof module_or_path === 'string' || (typeof Request === 'function' && module_or_path instanceof Request) || (typeof URL === 'function' && module_or_path instanceof URL)) {
                    module_or_path = fetch(module_or_path);
                }

                const { instance, module } = await __wbg_load(await module_or_path, imports);

                return __wbg_finalize_init(instance, module);
            }
            
export { initSync, __wbg_init as default };