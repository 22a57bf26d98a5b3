
export function __wbg_reset_state () {
__wbg_instance_id++;
cachedUint8ArrayMemory0 = null;
if (typeof numBytesDecoded !== 'undefined') numBytesDecoded = 0;
if (typeof WASM_VECTOR_LEN !== 'undefined') WASM_VECTOR_LEN = 0;
__wbg_reinit_scheduled = false;
            wasmInstance = new WebAssembly.Instance(wasmModule, __wbg_get_imports());
            wasm = wasmInstance.exports;
            wasm.__wbindgen_start();
            }

/**
 * The RFC 8785 canonical text.
 * @param {Uint8Array | number[]} text
 * @param {number} length
 * @returns {string}
 */
export function canonicalize(text, length) {
let deferred3_0;
let deferred3_1;
try {
const val2 = +length;
const ptr0 = passArray8ToWasm0(text, wasm.__wbindgen_malloc);
const len0 = WASM_VECTOR_LEN;
let ret;
__wbg_call_guard();
ret = wasm.canonicalize(ptr0, len0, val2);
deferred3_0 = ret[0];
deferred3_1 = ret[1];
return getStringFromWasm0(ret[0], ret[1]);
} finally {
__wbg_call_guard();
wasm.__wbindgen_free(deferred3_0, deferred3_1, 1);
}
}

/**
 * The capability digest that follows from its material.
 * @param {Uint8Array | number[]} material
 * @param {number} length
 * @returns {string}
 */
export function capabilityDigest(material, length) {
let deferred3_0;
let deferred3_1;
try {
const val2 = +length;
const ptr0 = passArray8ToWasm0(material, wasm.__wbindgen_malloc);
const len0 = WASM_VECTOR_LEN;
let ret;
__wbg_call_guard();
ret = wasm.capabilityDigest(ptr0, len0, val2);
deferred3_0 = ret[0];
deferred3_1 = ret[1];
return getStringFromWasm0(ret[0], ret[1]);
} finally {
__wbg_call_guard();
wasm.__wbindgen_free(deferred3_0, deferred3_1, 1);
}
}

/**
 * What changed between two snapshots. A kind that is none is found out.
 * @param {number} kind
 * @param {Uint8Array | number[]} from
 * @param {number} from_length
 * @param {Uint8Array | number[]} to
 * @param {number} to_length
 * @returns {string}
 */
export function diff(kind, from, from_length, to, to_length) {
let deferred6_0;
let deferred6_1;
try {
const val3 = +kind;
const val4 = +from_length;
const val5 = +to_length;
let ptr0, len0, ptr1, len1;
try {
ptr0 = passArray8ToWasm0(from, wasm.__wbindgen_malloc);
len0 = WASM_VECTOR_LEN;
ptr1 = passArray8ToWasm0(to, wasm.__wbindgen_malloc);
len1 = WASM_VECTOR_LEN;
} catch (e) {
if (ptr1) { wasm.__wbindgen_free(ptr1, len1 * 1, 1); }
if (ptr0) { wasm.__wbindgen_free(ptr0, len0 * 1, 1); }
throw e;
}
let ret;
__wbg_call_guard();
ret = wasm.diff(val3, ptr0, len0, val4, ptr1, len1, val5);
deferred6_0 = ret[0];
deferred6_1 = ret[1];
return getStringFromWasm0(ret[0], ret[1]);
} finally {
__wbg_call_guard();
wasm.__wbindgen_free(deferred6_0, deferred6_1, 1);
}
}

/**
 * The digest of the canonical text.
 * @param {Uint8Array | number[]} text
 * @param {number} length
 * @returns {string}
 */
export function digest(text, length) {
let deferred3_0;
let deferred3_1;
try {
const val2 = +length;
const ptr0 = passArray8ToWasm0(text, wasm.__wbindgen_malloc);
const len0 = WASM_VECTOR_LEN;
let ret;
__wbg_call_guard();
ret = wasm.digest(ptr0, len0, val2);
deferred3_0 = ret[0];
deferred3_1 = ret[1];
return getStringFromWasm0(ret[0], ret[1]);
} finally {
__wbg_call_guard();
wasm.__wbindgen_free(deferred3_0, deferred3_1, 1);
}
}

/**
 * The report on a snapshot's text.
 * @param {number} kind
 * @param {Uint8Array | number[]} text
 * @param {number} length
 * @returns {string}
 */
export function validate(kind, text, length) {
let deferred4_0;
let deferred4_1;
try {
const val2 = +kind;
const val3 = +length;
const ptr0 = passArray8ToWasm0(text, wasm.__wbindgen_malloc);
const len0 = WASM_VECTOR_LEN;
let ret;
__wbg_call_guard();
ret = wasm.validate(val2, ptr0, len0, val3);
deferred4_0 = ret[0];
deferred4_1 = ret[1];
return getStringFromWasm0(ret[0], ret[1]);
} finally {
__wbg_call_guard();
wasm.__wbindgen_free(deferred4_0, deferred4_1, 1);
}
}

/**
 * The vector space id that follows from its material.
 * @param {Uint8Array | number[]} material
 * @param {number} length
 * @returns {string}
 */
export function vectorSpaceId(material, length) {
let deferred3_0;
let deferred3_1;
try {
const val2 = +length;
const ptr0 = passArray8ToWasm0(material, wasm.__wbindgen_malloc);
const len0 = WASM_VECTOR_LEN;
let ret;
__wbg_call_guard();
ret = wasm.vectorSpaceId(ptr0, len0, val2);
deferred3_0 = ret[0];
deferred3_1 = ret[1];
return getStringFromWasm0(ret[0], ret[1]);
} finally {
__wbg_call_guard();
wasm.__wbindgen_free(deferred3_0, deferred3_1, 1);
}
}

/**
 * Whether a digest is a text's, as far as this build can tell: it knows no collation.
 * @param {Uint8Array | number[]} text
 * @param {number} length
 * @param {Uint8Array | number[]} claimed
 * @returns {string}
 */
export function verify(text, length, claimed) {
let deferred4_0;
let deferred4_1;
try {
const val3 = +length;
let ptr0, len0, ptr1, len1;
try {
ptr0 = passArray8ToWasm0(text, wasm.__wbindgen_malloc);
len0 = WASM_VECTOR_LEN;
ptr1 = passArray8ToWasm0(claimed, wasm.__wbindgen_malloc);
len1 = WASM_VECTOR_LEN;
} catch (e) {
if (ptr1) { wasm.__wbindgen_free(ptr1, len1 * 1, 1); }
if (ptr0) { wasm.__wbindgen_free(ptr0, len0 * 1, 1); }
throw e;
}
let ret;
__wbg_call_guard();
ret = wasm.verify(ptr0, len0, val3, ptr1, len1);
deferred4_0 = ret[0];
deferred4_1 = ret[1];
return getStringFromWasm0(ret[0], ret[1]);
} finally {
__wbg_call_guard();
wasm.__wbindgen_free(deferred4_0, deferred4_1, 1);
}
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

function getStringFromWasm0(ptr, len) {
                    ptr = ptr >>> 0;
                    return decodeText(getUint8ArrayMemory0().subarray(ptr, ptr + len));
                }

let cachedUint8ArrayMemory0 = null;
                function getUint8ArrayMemory0() {
                    if (cachedUint8ArrayMemory0 === null || cachedUint8ArrayMemory0.byteLength === 0) {
                        cachedUint8ArrayMemory0 = new Uint8Array(wasm.memory.buffer);
                    }
                    return cachedUint8ArrayMemory0;
                }

function passArray8ToWasm0(arg, malloc) {
                    const ptr = malloc(arg.length * 1, 1) >>> 0;
                    getUint8ArrayMemory0().set(arg, ptr / 1);
                    WASM_VECTOR_LEN = arg.length;
                    return ptr;
                }

let __wbg_reinit_scheduled = false;

let cachedTextDecoder = new TextDecoder('utf-8', { ignoreBOM: true });
cachedTextDecoder.decode();
                        const MAX_SAFARI_DECODE_BYTES = 2146435072;
                        let numBytesDecoded = 0;
                        function decodeText(bytes) {
                            numBytesDecoded += bytes.length;
                            if (numBytesDecoded >= MAX_SAFARI_DECODE_BYTES) {
                                cachedTextDecoder = new TextDecoder('utf-8', { ignoreBOM: true });
                                cachedTextDecoder.decode();
                                numBytesDecoded = bytes.length;
                            }
                            return cachedTextDecoder.decode(bytes);
                        }

let WASM_VECTOR_LEN = 0;

let wasmModule, wasmInstance, wasm;
            function __wbg_finalize_init(instance, module) {
                wasmInstance = instance;
                wasm = instance.exports;
                wasmModule = module;
                cachedUint8ArrayMemory0 = null;
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