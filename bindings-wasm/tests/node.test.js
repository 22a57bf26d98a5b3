// The package in Node.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { join } from "node:path";
import { test } from "node:test";
import { pathToFileURL } from "node:url";
import { runInNewContext } from "node:vm";

import { answers, embedding, installed, made, memoryOf, project, vectors } from "./setup.js";
import { attempt, bytesOf, differences } from "./parity.js";

const folder = project("node-app");
const sp = await import(installed(folder, "node.js"));
const good = JSON.stringify(embedding());
const digestOfGood = sp.digest(good);

const codeOf = (call) => attempt(call).error?.code;
const run = (code, ...args) =>
  execFileSync(process.execPath, [...args, "--input-type=module", "--eval", code], { cwd: folder, encoding: "utf8" });

test("G7-15 every vector and case has the answers that Rust gives", () => {
  assert.deepEqual(differences(sp, answers("table.ndjson"), { alsoAsBytes: true }).slice(0, 10), []);
});

test("G7-15 ten thousand generated texts have the answers that Rust gives", () => {
  const lines = answers("generated.ndjson");
  assert.equal(lines.trimEnd().split("\n").length, 10_000);
  assert.deepEqual(differences(sp, lines).slice(0, 10), []);
});

test("the answers of Rust are those of the vectors", () => {
  for (const { id, input, inputHex, sha256 } of vectors("objects.json")) {
    if (inputHex) assert.equal(sp.digest(bytesOf(inputHex)), sha256, id);
  }
  for (const { inputHex, id, wanted } of vectors("rejects.json")) {
    if (inputHex) assert.equal(codeOf(() => sp.digest(bytesOf(inputHex))), wanted.error, id);
  }
});

test("derived ids have the digests of the vectors", () => {
  const material = (id) => {
    const { input, sha256 } = vectors("profile_snapshots.json").find((vector) => vector.id === id);
    const { schemaVersion, ...members } = JSON.parse(input);
    return [members, sha256];
  };
  for (const id of ["vector-space-material-v1", "vector-space-material-v2"]) {
    const [members, sha256] = material(id);
    assert.equal(sp.vectorSpaceId(members), `embedding-space-sha256:${sha256}`);
    assert.equal(sp.vectorSpaceId(JSON.stringify(members)), `embedding-space-sha256:${sha256}`);
  }
  const [members, sha256] = material("capability-digest-material");
  assert.equal(sp.capabilityDigest(members), `sha256:${sha256}`);
});

test("G7-01 whatever is refused is refused with a code, and the module goes on", () => {
  for (const { id, inputHex, wanted } of vectors("rejects.json")) {
    const bytes = inputHex === null ? "[".repeat(100_000) : bytesOf(inputHex);
    const report = sp.validate("embedding", bytes);
    assert.equal(report.valid, false, id);
    // A snapshot's text may be smaller than any JSON's.
    const code = bytes.length > 65_536 ? "JSON_TOO_LARGE" : wanted.error;
    assert.ok(report.issues.some((issue) => issue.code === code), id);
    assert.equal(codeOf(() => sp.canonicalize(bytes)), wanted.error, id);
  }
  assert.equal(sp.validate("embedding", good).digest, digestOfGood);
});

test("G7-03 starting twice keeps the instance", async () => {
  const { initSync } = await import(installed(folder, "glue.js"));
  const instance = initSync();
  await sp.default();
  await Promise.all([sp.default(), sp.default()]);
  assert.equal(initSync(), instance);
  assert.equal(sp.digest(good), digestOfGood);
});

test("G7-08 importing does nothing: no globals, no network, no file", () => {
  const said = run(`
    import fs from "node:fs";
    import { syncBuiltinESMExports } from "node:module";
    const said = [];
    globalThis.fetch = () => said.push("fetched");
    fs.readFileSync = ((read) => (...args) => (String(args[0]).endsWith(".wasm") && said.push("read"), read(...args)))(fs.readFileSync);
    syncBuiltinESMExports();
    const before = Reflect.ownKeys(globalThis).length;
    const sp = await import("space-profiles");
    const slim = await import("space-profiles/slim");
    said.push(Reflect.ownKeys(globalThis).length - before);
    said.push(sp.digest("{}").slice(0, 8), slim.digest("{}").slice(0, 8));
    console.log(JSON.stringify(said));
  `);
  assert.deepEqual(JSON.parse(said), [0, "read", "44136fa3", "44136fa3"]);
});

test("the slim entry starts from a module, from bytes and from a response, and says when it is not started", () => {
  for (const form of [
    "bytes",
    "new WebAssembly.Module(bytes)",
    "new Uint8Array(bytes).buffer",
    'new Response(bytes, { headers: { "Content-Type": "application/wasm" } })',
    "Promise.resolve(new Response(bytes))",
  ]) {
    const said = run(`
            import { readFileSync } from "node:fs";
      import { fileURLToPath } from "node:url";
      import * as sp from "space-profiles/slim";
      const bytes = readFileSync(fileURLToPath(import.meta.resolve("space-profiles/space_profiles.wasm")));
      const said = [];
      const attempt = async (call) => {
        try { await call(); } catch (error) { said.push(error.code); }
      };
      await attempt(() => sp.digest("{}"));
      await attempt(() => sp.init(new Response("", { status: 404 })));
      await attempt(() => sp.init(new Uint8Array(3)));
      await attempt(() => sp.init(undefined));
      await attempt(() => sp.initSync(new Uint8Array(3)));
      await Promise.all([sp.init(${form}), sp.init(${form})]);
      said.push(sp.digest("{}").slice(0, 8));
      console.log(JSON.stringify(said));
    `);
    assert.deepEqual(JSON.parse(said), [...Array(5).fill("MODULE_UNAVAILABLE"), "44136fa3"], form);
  }
});

test("G7-09 numbers are plain numbers, and a BigInt is refused with a code", () => {
  const report = sp.validate("embedding", JSON.stringify(embedding({ revision: 2147483647 })));
  assert.equal(report.valid, true);
  assert.equal(typeof report.identity.dimension, "number");
  assert.equal(JSON.parse(JSON.stringify(report)).digest, report.digest);
  assert.equal(codeOf(() => sp.validate("embedding", { revision: 1n })), "ARGUMENT_INVALID");
  assert.equal(codeOf(() => sp.vectorSpaceId({ revision: 1n })), "ARGUMENT_INVALID");
  assert.equal(typeof sp.diff(good, JSON.stringify(embedding({ revision: 2 }))).to, "number");
});

test("arguments of other types are refused with a code, whatever they are", () => {
  const hostile = {
    get pluginId() {
      throw new Error("no");
    },
  };
  const circular = {};
  circular.self = circular;
  for (const wrong of [undefined, null, 5, NaN, {}, [], Symbol("x"), 10n, () => {}, new Date(), new Map(), hostile, circular]) {
    assert.equal(codeOf(() => sp.validate("embedding", wrong)), "ARGUMENT_INVALID");
    assert.equal(codeOf(() => sp.digest(wrong)), "ARGUMENT_INVALID");
    assert.equal(codeOf(() => sp.canonicalize(wrong)), "ARGUMENT_INVALID");
    assert.equal(codeOf(() => sp.verify(wrong, digestOfGood)), "ARGUMENT_INVALID");
    assert.equal(codeOf(() => sp.verify("{}", wrong)), "ARGUMENT_INVALID");
    assert.equal(codeOf(() => sp.diff(good, wrong)), "ARGUMENT_INVALID");
    assert.equal(codeOf(() => sp.vectorSpaceId(wrong)), "ARGUMENT_INVALID");
    assert.equal(codeOf(() => sp.capabilityDigest(wrong)), "ARGUMENT_INVALID");
    if (wrong !== undefined) assert.equal(codeOf(() => sp.diff(good, good, wrong)), "ARGUMENT_INVALID");
    assert.equal(codeOf(() => sp.validate(wrong, good)), "ARGUMENT_INVALID");
  }
  assert.equal(codeOf(() => sp.validate("Embedding", good)), "ARGUMENT_INVALID");
  assert.match(attempt(() => sp.digest(5)).error.message, /^text: expected a string.*, found a number$/);
});

test("an argument that cannot even be looked at is refused with a code", () => {
  const { proxy, revoke } = Proxy.revocable({}, {});
  revoke();
  const buffer = new ArrayBuffer(2);
  const view = new Uint8Array(buffer);
  structuredClone(buffer, { transfer: [buffer] });
  for (const wrong of [proxy, buffer, view]) {
    assert.equal(codeOf(() => sp.validate("embedding", wrong)), "ARGUMENT_INVALID");
    assert.equal(codeOf(() => sp.validate(wrong, good)), "ARGUMENT_INVALID");
    assert.equal(codeOf(() => sp.verify(wrong, digestOfGood)), "ARGUMENT_INVALID");
    assert.equal(codeOf(() => sp.vectorSpaceId(wrong)), "ARGUMENT_INVALID");
  }
  assert.match(attempt(() => sp.digest(view)).error.message, /transferred/);
});

test("material that JSON has no words for is refused, and not digested as something else", () => {
  const { pluginId, provider, model } = embedding();
  const material = {
    kind: "reasoning",
    selection: { pluginId, provider, model },
    schemaFingerprint: `sha256:${"a".repeat(64)}`,
    pluginUniqueIdentifier: "langgenius/openai:0.2.7",
  };
  const digested = (limit) => attempt(() => sp.capabilityDigest({ ...material, capabilities: { limit } }));
  const strange = [NaN, Infinity, [undefined], [, 1], () => {}, Symbol("x"), 10n, new Map([["a", 1]]), new Set([1]), new Number(5), [[-Infinity]]];
  for (const limit of strange) assert.equal(digested(limit).error?.code, "ARGUMENT_INVALID", String(limit));
  assert.match(digested([NaN]).error.message, /^material: expected an object of plain JSON values, found one that is not: `0` is NaN$/);
  for (const limit of [null, 5, -0, "x", [], {}, Object.create(null), runInNewContext("({ a: [1] })")]) assert.ok(digested(limit).ok, JSON.stringify(limit));
  assert.equal(digested(undefined).ok, attempt(() => sp.capabilityDigest(material)).ok, "a member that is undefined is not there");
});

test("bytes come in any view, shared, of part of a buffer and of another realm", () => {
  const bytes = new TextEncoder().encode(` ${good} `);
  const shared = new Uint8Array(new SharedArrayBuffer(bytes.length));
  shared.set(bytes);
  for (const view of [bytes, bytes.subarray(1), bytes.buffer, new DataView(bytes.buffer), Buffer.from(bytes), shared]) {
    assert.equal(sp.digest(view), digestOfGood);
  }
  const elsewhere = runInNewContext("Uint8Array.from(bytes)", { bytes: [...bytes] });
  assert.equal(sp.digest(elsewhere), digestOfGood);
  assert.equal(sp.digest(elsewhere.buffer), digestOfGood);
});

test("texts of every length are read as they are, whatever the call before was about", () => {
  for (const character of ["a", "\u00e9", "\u6a21", "\u{1F600}"]) {
    for (const units of [0, 1, 63, 4_000, 4_093, 4_094, 4_096, 5_460, 5_462, 16_384, 60_000]) {
      const text = `"${character.repeat(units / character.length)}"`;
      const expected = createHash("sha256").update(text).digest("hex");
      assert.equal(sp.digest(text), expected, `${character} ${units}`);
      assert.equal(sp.digest(Buffer.from(text)), expected, `${character} ${units}`);
      assert.equal(sp.canonicalize(` ${text}`), text);
      assert.equal(sp.verify(text, expected).matches, true);
      assert.equal(sp.digest("{}").slice(0, 8), "44136fa3");
    }
  }
  const [one, two] = [1, 2].map((revision) => JSON.stringify(embedding({ revision })));
  const padded = (text) => text + " ".repeat(20_000);
  for (const [from, to] of [[one, two], [padded(one), two], [one, padded(two)], [padded(one), padded(two)]]) {
    for (const given of [from, Buffer.from(from)]) {
      assert.deepEqual(sp.diff(given, to).changes, [{ path: "/revision", before: 1, after: 2 }]);
    }
  }
});

test("code that runs while an argument is looked at may call, throw or take the other's bytes away", () => {
  const bytes = (text) => new TextEncoder().encode(text);
  const looked = (text, then) =>
    Object.defineProperty(bytes(text), "buffer", {
      get() {
        then();
        return bytes(text).buffer;
      },
    });
  const other = JSON.stringify(embedding({ revision: 2 }));
  const calls = () => assert.equal(sp.canonicalize(`[${" ".repeat(50_000)}]`), "[]");
  const throws = () => {
    throw new Error("no");
  };
  assert.equal(sp.digest(looked(good, calls)), digestOfGood);
  assert.equal(sp.verify(looked(good, calls), digestOfGood).matches, true);
  assert.equal(sp.diff(good, looked(other, calls)).to, 2);
  assert.throws(() => sp.digest(looked(good, throws)), /^Error: no$/);
  assert.throws(() => sp.diff(good, looked(other, throws)), /^Error: no$/);
  const taken = bytes(good);
  assert.equal(sp.diff(taken, looked(other, () => structuredClone(taken.buffer, { transfer: [taken.buffer] }))).from, 1);
  assert.equal(taken.length, 0);
  const changed = bytes(good);
  assert.equal(sp.diff(changed, looked(other, () => changed.fill(0))).from, 1);
  const { pluginId, provider, model, revision } = embedding();
  const material = { pluginId, provider, model, revision };
  const calling = Object.defineProperty({ ...material }, "model", { enumerable: true, get: () => (calls(), model) });
  assert.equal(sp.vectorSpaceId(calling), sp.vectorSpaceId(material));
  assert.equal(sp.digest(good), digestOfGood);
});

test("half a surrogate pair in a JavaScript string is refused where it is", () => {
  for (const [text, path, start, line, column] of [
    ['{"a":"\ud800"}', "/a", 6, 1, 7],
    ['{\n"a": ["\u{1F600}\udc00\ud83d"]}', "/a/0", 11, 2, 10],
    ['{"\udfff": 1}', "/\uFFFD", 2, 1, 3],
    ["\ud800", "", 0, 1, 1],
    ['{"a": \ud800}', "", 6, 1, 7],
    ['"\\\ud800"', "", 2, 1, 3],
    ['"\\\\\ud800"', "", 3, 1, 4],
    // Halves that would make a pair with an escape, if they were escapes too.
    ['"\ud83d\\ude00"', "", 1, 1, 2],
    ['{"a":["x\ud83d\\ude00\\ude00"]}', "/a/0", 8, 1, 9],
  ]) {
    const { error } = attempt(() => sp.digest(text));
    assert.match(error.message, /^expected a whole surrogate pair, found only `\\u(d800|dc00|dfff|d83d)`( at `[^]*`)?$/);
    const found = [error.code, error.path, error.start, error.end, error.line, error.column];
    assert.deepEqual(found, ["JSON_LONE_SURROGATE", path, start, start + 1, line, column], JSON.stringify(text));
  }
  const escape = attempt(() => sp.digest('"\\ud83d\ude00"')).error;
  assert.deepEqual([escape.code, escape.start, escape.end], ["JSON_LONE_SURROGATE", 1, 7]);
  assert.equal(sp.digest('"\\ud83d\\ude00"'), sp.digest('"\u{1F600}"'));
  assert.equal(codeOf(() => sp.digest(`"${"\ud800".repeat(300_000)}"`)), "JSON_LONE_SURROGATE");
  const text = JSON.stringify(embedding()).replace("text-", "\ud800text-").replace("1536", "-1");
  const { valid, issues } = sp.validate("embedding", text);
  assert.equal(valid, false);
  assert.deepEqual(issues.map(({ code, path }) => [code, path]), [["JSON_LONE_SURROGATE", "/model"], ["OUT_OF_RANGE", "/dimension"]]);
  for (const { start, end, path } of issues) assert.equal(text.slice(start, end), path === "/model" ? "\ud800" : "-1");
  const [, later] = sp.validate("embedding", '{"a":\n "\ud800" x').issues;
  assert.deepEqual([later.line, later.column], [2, 6]);
  assert.match(later.message, / in line 2, column 6$/, "a message names the place in the text as the caller has it");
});

test("a report is made of plain objects", () => {
  const report = sp.validate("retrieval", "{}");
  for (const object of [report, report.issues[0], sp.validate("embedding", good).identity, sp.verify("{}", "")]) {
    assert.equal(Object.getPrototypeOf(object), Object.prototype);
  }
  assert.equal(structuredClone(report).valid, false);
});

test("what changed is told, and whether vectors have to be made anew", () => {
  const other = JSON.stringify(embedding({ model: "bge-m3", revision: 2 }));
  assert.deepEqual(sp.diff(good, other), {
    from: 1,
    to: 2,
    needsReembedding: true,
    changes: [
      { path: "/model", before: "text-embedding-3-small", after: "bge-m3" },
      { path: "/revision", before: 1, after: 2 },
    ],
  });
  const { error } = attempt(() => sp.diff(good, "[1", "embedding"));
  assert.deepEqual([error.code, error.argument, error.kind, error.issues[0].code], ["SNAPSHOT_INVALID", "to", "embedding", "JSON_INVALID"]);
});

test("a digest is verified", () => {
  assert.deepEqual(sp.verify(` ${good}`, digestOfGood), { matches: true, keyOrder: "rfc8785", digest: digestOfGood });
  for (const wrong of ["", digestOfGood.toUpperCase(), `sha256:${digestOfGood}`, "\ud800", "f".repeat(64), "x".repeat(5_000_000)]) {
    assert.deepEqual(sp.verify(good, wrong), { matches: false, keyOrder: null, digest: digestOfGood });
  }
});

test("G7-14 hostile sizes are refused, and the module goes on", () => {
  const megabytes = (count) => `"${"\u00e9".repeat(count << 19)}"`;
  for (const text of [megabytes(6), megabytes(200), new Uint8Array(100 << 20)]) {
    const { error } = attempt(() => sp.digest(text));
    assert.equal(error.code, "JSON_TOO_LARGE");
    const size = typeof text === "string" ? Buffer.byteLength(text) : text.length;
    assert.equal(error.message, `expected at most 1048576 bytes, found ${size}`);
    assert.equal(sp.validate("embedding", text).issues[0].message, `expected at most 65536 bytes, found ${size}`);
  }
  for (const text of ["[".repeat(100_000), '{"a":'.repeat(50_000)]) assert.equal(codeOf(() => sp.digest(text)), "JSON_TOO_DEEP");
  const wide = `[${"[],".repeat(340_000)}1]`;
  assert.equal(sp.digest(wide).length, 64);
  const unknown = `{${Array.from({ length: 7_000 }, (_, at) => `"${at}":1`).join()}}`;
  assert.equal(sp.validate("embedding", unknown).issues.length, 7_006);
  assert.equal(sp.digest(good), digestOfGood);
});

test("G7-11 calls leave the memory as it was after the first thousand", async () => {
  const text = JSON.stringify({ ...embedding(), filler: "x".repeat(3_800) });
  const call = () => {
    sp.validate("embedding", text);
    sp.validate("embedding", good);
    attempt(() => sp.digest("[1,"));
    sp.canonicalize(text);
    sp.diff(good, good);
  };
  for (let count = 0; count < 200; count++) call();
  const before = await memoryOf(folder);
  for (let count = 0; count < 20_000; count++) call();
  assert.equal(await memoryOf(folder), before);
});

test("a module that fails is started anew by the next call", async () => {
  const failing = await import(pathToFileURL(join(made.failing, "node.js")).href);
  for (const way of ["panic", "exhaust", "overflow"]) {
    const { error } = attempt(() => failing.digest(`"${way}"`));
    assert.equal(error.code, "MODULE_FAILED", way);
    assert.equal(failing.digest(good), digestOfGood, way);
    assert.deepEqual(failing.validate("embedding", good), sp.validate("embedding", good), way);
  }
});

test("a caller whose stack ends in a call can go on", () => {
  const descend = () => {
    sp.digest(good);
    descend();
  };
  assert.throws(descend);
  assert.equal(sp.digest(good), digestOfGood);
});
