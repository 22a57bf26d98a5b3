// The package beside zod, in Node and in Chromium. Told in JSON on standard input: `{seconds, inputs: [{kind, text,
// digest}]}`; answers in JSON: `{programs, rows: [{case, subject, samples}], bytes}`.
import { execFileSync } from "node:child_process";
import { copyFileSync, existsSync, mkdirSync, readFileSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import { extname, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { brotliCompressSync, constants, gzipSync } from "node:zlib";

import { build } from "esbuild";
import { chromium } from "playwright-core";

/** By subject, which bundle. Node can hash with OpenSSL, and so with the processor's own instructions, as well. */
const IN_NODE = { "space-profiles": "space-profiles-node", zod: "zod-browser", "zod with OpenSSL": "zod-node" };
const IN_CHROMIUM = { "space-profiles": "space-profiles-browser", zod: "zod-browser" };
/** How often a first answer is measured; each time needs a fresh process or a fresh browser context. */
const STARTS = 15;

const here = fileURLToPath(new URL(".", import.meta.url));
const work = join(here, ".work");
const packageFolder = join(here, "../../bindings-wasm/pkg");

const { seconds, inputs } = JSON.parse(readFileSync(0, "utf8"));
const rows = [];

await bundle();
inNode();
const version = await inChromium();
process.stdout.write(JSON.stringify({ programs: { node: process.version, chromium: version }, rows, bytes: sizes() }));

/** Everything as an application would ship it: a file for each subject and platform, and the module beside ours. */
async function bundle() {
  rmSync(work, { recursive: true, force: true });
  mkdirSync(work);
  for (const platform of ["node", "browser"]) {
    const entryPoints = {
      [`space-profiles-${platform}`]: join(packageFolder, platform === "node" ? "node.js" : "index.js"),
      [`zod-${platform}`]: join(here, `peer/${platform}.js`),
    };
    await build({ entryPoints, platform, outdir: work, bundle: true, minify: true, format: "esm", target: "es2022", logLevel: "error" });
  }
  copyFileSync(join(packageFolder, "space_profiles.wasm"), join(work, "space_profiles.wasm"));
  copyFileSync(join(here, "measure.js"), join(work, "measure.js"));
}

function inNode() {
  const files = Object.values(IN_NODE).map((bundle) => pathToFileURL(join(work, `${bundle}.js`)).href);
  const run = (task) =>
    JSON.parse(execFileSync(process.execPath, [join(here, "in-node.js"), JSON.stringify(task)], { encoding: "utf8" }));
  for (const input of inputs) {
    put(`validate ${input.kind}, Node`, IN_NODE, run({ modules: files, input, seconds }));
  }
  const samples = files.map(() => []);
  for (let start = 0; start < STARTS; start++) {
    files.forEach((file, at) => samples[at].push(run({ modules: [file], input: inputs[0] }) * 1e6));
  }
  put("first answer, Node", IN_NODE, samples);
}

async function inChromium() {
  const server = await serve();
  const browser = await chromium.launch({ executablePath: executable(), args: ["--no-sandbox", "--disable-dev-shm-usage"] });
  const url = `http://127.0.0.1:${server.address().port}/`;
  /** In a fresh context nothing was fetched or compiled before. */
  const inPage = async (work, argument) => {
    const context = await browser.newContext();
    const page = await context.newPage();
    await page.goto(url);
    const answer = await page.evaluate(work, argument);
    await context.close();
    return answer;
  };
  const files = Object.values(IN_CHROMIUM).map((bundle) => `/${bundle}.js`);
  const validations = async ({ modules, input, seconds }) => {
    const { validations } = await import("/measure.js");
    return validations(await Promise.all(modules.map((module) => import(module))), input, seconds);
  };
  const firstAnswer = async ({ module, input }) => (await import("/measure.js")).firstAnswer(module, input);
  for (const input of inputs) {
    put(`validate ${input.kind}, Chromium`, IN_CHROMIUM, await inPage(validations, { modules: files, input, seconds }));
  }
  const samples = files.map(() => []);
  for (let start = 0; start < STARTS; start++) {
    for (const [at, module] of files.entries()) {
      samples[at].push((await inPage(firstAnswer, { module, input: inputs[0] })) * 1e6);
    }
  }
  put("first answer, Chromium", IN_CHROMIUM, samples);
  const version = browser.version();
  await browser.close();
  server.close();
  return version;
}

/** A page that is isolated from others has a clock of five microseconds; other pages have one of a hundred. */
async function serve() {
  const types = { ".js": "text/javascript", ".wasm": "application/wasm" };
  const isolated = { "Cross-Origin-Opener-Policy": "same-origin", "Cross-Origin-Embedder-Policy": "require-corp" };
  const server = createServer((request, response) => {
    const file = join(work, new URL(request.url, "http://localhost").pathname);
    const type = types[extname(file)];
    const isThere = type !== undefined && existsSync(file);
    response.writeHead(200, { "Content-Type": isThere ? type : "text/html", ...isolated });
    response.end(isThere ? readFileSync(file) : "<!doctype html><title>benchmark</title>");
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  return server;
}

function executable() {
  const found = [process.env.CHROMIUM, "/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"];
  const path = found.find((path) => path && existsSync(path));
  if (!path) throw new Error("expected Chromium, found none; install it or set CHROMIUM to its path");
  return path;
}

function put(name, subjects, samples) {
  Object.keys(subjects).forEach((subject, at) => rows.push({ case: name, subject, samples: samples[at] }));
}

function sizes() {
  const quality = { params: { [constants.BROTLI_PARAM_QUALITY]: 11 } };
  const read = (...files) => files.map((file) => readFileSync(join(work, file)));
  const packed = (compress, files) => files.reduce((sum, file) => sum + compress(file).length, 0);
  const whole = {
    "space-profiles: module": read("space_profiles.wasm"),
    "space-profiles: module and JavaScript": read("space_profiles.wasm", "space-profiles-browser.js"),
    "zod, canonical form and SHA-256": read("zod-browser.js"),
  };
  const bytes = {};
  for (const [name, files] of Object.entries(whole)) {
    bytes[name] = packed((file) => file, files);
    bytes[`${name}, gzip`] = packed((file) => gzipSync(file, { level: 9 }), files);
    bytes[`${name}, Brotli`] = packed((file) => brotliCompressSync(file, quality), files);
  }
  return bytes;
}
