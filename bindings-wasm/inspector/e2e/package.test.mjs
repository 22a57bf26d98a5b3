/** The page's copy of the package gives the answers of the package that `cargo xtask wasm` builds. */

import { test } from "node:test";
import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { readFile, readdir } from "node:fs/promises";
import { open } from "./inspector.mjs";

const ROOT = new URL("../../../", import.meta.url);
const FRESH = new URL("bindings-wasm/pkg/", ROOT);

const read = async (path) => readFile(new URL(path, ROOT), "utf8");

/** Texts of every sort: the vectors, accepted and refused, and the examples. */
async function texts() {
  const vectors = ["objects", "rejects"].map(async (name) => JSON.parse(await read(`testdata/vectors/${name}.json`)).vectors);
  const inputs = (await Promise.all(vectors)).flat().filter((vector) => vector.inputHex);
  const site = "bindings-wasm/inspector/site/examples/";
  const examples = await Promise.all((await readdir(new URL(site, ROOT))).map((name) => read(site + name)));
  return [...inputs.map((vector) => Buffer.from(vector.inputHex, "hex").toString()), ...examples];
}

/** What a package says of texts. It runs in Node and in the page, so it sees nothing of this file. */
function answers(functions, all) {
  const ask = (question) => {
    try {
      return question();
    } catch ({ code, message, path, start, end }) {
      return { code, message, path, start, end };
    }
  };
  const answered = all.map((text) => [
    ask(() => functions.canonicalize(text)),
    ask(() => functions.digest(text)),
    ask(() => functions.validate("embedding", text)),
    ask(() => functions.validate("retrieval", text)),
    ask(() => functions.diff(text, all.at(-1))),
    ask(() => functions.vectorSpaceId(text)),
    ask(() => functions.capabilityDigest(text)),
  ]);
  return JSON.stringify(answered);
}

test("the page's package answers as a fresh build does", { skip: !existsSync(FRESH) && "nothing was built" }, async () => {
  const all = await texts();
  const fresh = await import(new URL("slim.js", FRESH));
  fresh.initSync(await readFile(new URL("space_profiles.wasm", FRESH)));
  const page = await open();
  await page.evaluate(async () => { window.functions = await import("/package/slim.js"); });
  const shown = await page.evaluate(`(${answers})(window.functions, ${JSON.stringify(all)})`);
  assert.ok(all.length > 50);
  assert.deepEqual(JSON.parse(shown), JSON.parse(answers(fresh, all)));
});
