// What is in the package: its files, its types, its documentation.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readFileSync, readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath, pathToFileURL } from "node:url";
import { brotliCompressSync, constants } from "node:zlib";

import { answers, project, read, write } from "./setup.js";

const folder = project("types-app");
const packed = join(folder, "node_modules/space-profiles");
const tsc = fileURLToPath(new URL("node_modules/typescript/bin/tsc", import.meta.url));
const RESOLUTIONS = [["esnext", "bundler"], ["nodenext", "nodenext"]];

/** Compiles a program as strictly as TypeScript can, the package's own types too. */
function check(program, options) {
  const strict = { strict: true, exactOptionalPropertyTypes: true, noUncheckedIndexedAccess: true, skipLibCheck: false };
  const compilerOptions = { ...strict, noEmit: true, target: "es2022", types: [], ...options };
  write(folder, { "use.ts": program, "tsconfig.json": JSON.stringify({ compilerOptions, files: ["use.ts"] }) });
  try {
    execFileSync(process.execPath, [tsc, "--project", folder], { encoding: "utf8" });
  } catch (error) {
    assert.fail(error.stdout);
  }
}

test("the package has what it says it has, and nothing else", () => {
  const manifest = JSON.parse(read(join(packed, "package.json")));
  assert.match(manifest.version, /^[1-9]|^0\.[0-9]*[1-9]/);
  const files = readdirSync(packed).sort();
  assert.deepEqual(files, [
    "LICENSE-APACHE",
    "LICENSE-MIT",
    "README.md",
    "failure.js",
    "functions.js",
    "glue.js",
    "index.d.ts",
    "index.js",
    "node.js",
    "package.json",
    "slim.d.ts",
    "slim.js",
    "space_profiles.wasm",
    "start.js",
    "text.js",
  ]);
  const targets = Object.values(manifest.exports).flatMap((target) => (typeof target === "string" ? target : Object.values(target)));
  for (const target of targets) assert.ok(statSync(join(packed, target)).isFile(), target);
  // Whatever is left out as having no effect must not be what starts the module.
  assert.deepEqual(manifest.sideEffects, ["./index.js", "./node.js"]);
});

test("the module and its JavaScript are within their budget, and name no folder of who built them", () => {
  const quality = { params: { [constants.BROTLI_PARAM_QUALITY]: 11 } };
  const wasm = readFileSync(join(packed, "space_profiles.wasm"));
  const size = brotliCompressSync(wasm, quality).length;
  assert.ok(size <= 45_000, `${size} bytes`);
  for (const place of ["/home/", "/root/", ".cargo/registry", process.cwd()]) assert.equal(wasm.includes(place), false, place);
  const scripts = readdirSync(packed).filter((file) => file.endsWith(".js"));
  for (const script of scripts) assert.doesNotMatch(read(join(packed, script)), /\beval\(|new Function\(/, script);
});

test("types know every code of core, and no other", () => {
  const codes = JSON.parse(answers("codes.json"));
  const use = `
import init, { canonicalize, capabilityDigest, diff, digest, validate, vectorSpaceId, verify } from "space-profiles";
import type { Change, ErrorCode, Identity, Issue, IssueCode, JsonCode, Report, SpaceProfilesError, Verification } from "space-profiles";
import * as slim from "space-profiles/slim";

type Same<A, B> = [A] extends [B] ? ([B] extends [A] ? true : never) : never;
const jsonCodes = ${JSON.stringify(codes.json)} as const;
const issueCodes = ${JSON.stringify(codes.issues)} as const;
const everyJsonCode: Same<(typeof jsonCodes)[number], JsonCode> = true;
const everyIssueCode: Same<(typeof issueCodes)[number], IssueCode> = true;
const everyErrorCode: Same<Exclude<ErrorCode, JsonCode>, "SNAPSHOT_INVALID" | "ARGUMENT_INVALID" | "MODULE_UNAVAILABLE" | "MODULE_FAILED"> = true;

const started: Promise<void> = init();
const report: Report = validate("embedding", new Uint8Array());
if (report.valid) {
  const identity: Identity = report.identity;
  const text: string = report.canonical + report.digest + identity.model;
} else {
  const issues: Issue[] = report.issues;
  const line: number | undefined = issues[0]?.line;
  // @ts-expect-error of an invalid text there is no digest
  const none: string = report.digest;
}
const texts: string[] = [canonicalize("{}"), digest(new DataView(new ArrayBuffer(2)))];
const id: string = vectorSpaceId({ pluginId: "p", provider: "p", model: "m", revision: 1 });
const sum: string = capabilityDigest({
  kind: "embedding", selection: { pluginId: "p", provider: "p", model: "m" }, schemaFingerprint: "", pluginUniqueIdentifier: "", dimension: 1,
});
const changes: Change[] = diff("{}", "{}", "retrieval").changes;
const verification: Verification = verify("{}", "");
// @ts-expect-error there is no such kind
validate("rerank", "{}");
// @ts-expect-error a text is no object
digest({});
try {
  digest("[");
} catch (error) {
  const { code, line } = error as SpaceProfilesError;
  if (code === "JSON_INVALID") console.log(line);
}
slim.initSync(new WebAssembly.Module(new Uint8Array()));
const slimStarted: Promise<void> = slim.init(fetch("/space_profiles.wasm"));
const slimText: string = slim.digest("{}");
`;
  for (const [module, moduleResolution] of RESOLUTIONS) check(use, { module, moduleResolution, lib: ["es2022", "dom"] });
});

test("types need none of a browser's", () => {
  const use = `
import { digest, vectorSpaceId } from "space-profiles";
import init, { initSync } from "space-profiles/slim";

initSync(new Uint8Array());
const started: Promise<void> = init(Promise.resolve(new ArrayBuffer(2)));
const texts: string[] = [digest(new Uint8Array()), vectorSpaceId({ pluginId: "p", provider: "p", model: "m", revision: 1 })];
// @ts-expect-error a number is no module
initSync(5);
`;
  for (const [module, moduleResolution] of RESOLUTIONS) check(use, { module, moduleResolution, lib: ["es2022"] });
});

test("types name every function that the package has", async () => {
  for (const [entry, types] of [["node.js", "index.d.ts"], ["slim.js", "slim.d.ts"]]) {
    const module = await import(pathToFileURL(join(packed, entry)).href);
    const declared = read(join(packed, "index.d.ts")) + read(join(packed, types));
    for (const name of Object.keys(module)) {
      const pattern = name === "default" ? /export default/ : new RegExp(`export function ${name}\\(`);
      assert.match(declared, pattern, name);
    }
  }
  // The page's entry has the same functions as Node's.
  assert.equal(read(join(packed, "index.js")).includes('export * from "./functions.js"'), true);
});

test("the README's first example prints what it says", () => {
  const [, example] = read(join(packed, "README.md")).match(/```js\n([^]*?)```/);
  const expected = example.split("\n").filter((line) => line.startsWith("// ")).map((line) => line.slice(3));
  write(folder, { "example.mjs": example });
  const printed = execFileSync(process.execPath, ["example.mjs"], { cwd: folder, encoding: "utf8" });
  assert.deepEqual(printed.trimEnd().split("\n"), expected);
});

test("the README names every code that the package throws of its own", () => {
  const readme = read(join(packed, "README.md"));
  for (const code of ["SNAPSHOT_INVALID", "ARGUMENT_INVALID", "MODULE_UNAVAILABLE", "MODULE_FAILED"]) assert.ok(readme.includes(code), code);
});
