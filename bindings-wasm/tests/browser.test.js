// The package in Chromium: behind Vite, as it is, in a worker, and under a Content-Security-Policy.
import assert from "node:assert/strict";
import { createServer } from "node:http";
import { readFile } from "node:fs/promises";
import { extname, join } from "node:path";
import { after, before, test } from "node:test";

import { chromium as playwright } from "playwright-core";
import { build, preview, createServer as createVite } from "vite";
import { createServer as createVite7 } from "vite-7";

import { chromium, copy, csp, embedding, made, project, read, vectors } from "./setup.js";

const good = JSON.stringify(embedding());

const app = {
  "index.html": '<!doctype html><p id="digest"></p><script type="module" src="/main.js"></script>',
  "main.js": `
    import * as sp from "space-profiles";
    import { attempt, bytesOf, differences } from "./parity.js";
    const inWorker = (inputs) => new Promise((resolve, reject) => {
      const worker = new Worker(new URL("./worker.js", import.meta.url), { type: "module" });
      worker.onmessage = (event) => (event.data === "ready" ? worker.postMessage(inputs) : resolve(event.data));
      worker.onerror = reject;
    });
    const differencesFrom = async (file) => differences(sp, await (await fetch(file)).text()).slice(0, 10);
    globalThis.tests = { sp, attempt, bytesOf, differencesFrom, inWorker };
    document.querySelector("#digest").textContent = sp.digest(${JSON.stringify(vectors("objects.json")[0].input)});
  `,
  "worker.js": `
    import { digest } from "space-profiles";
    onmessage = (event) => postMessage(event.data.map(digest));
    postMessage("ready");
  `,
};
const vite = (root) => ({ root, logLevel: "error", configFile: false, worker: { format: "es" } });

let browser;
const closing = [];

before(async () => {
  browser = await playwright.launch(chromium());
});

after(async () => {
  for (const close of closing) await close();
  await browser.close();
});

const types = { ".js": "text/javascript", ".html": "text/html", ".wasm": "application/wasm" };

/** A server of a folder's files; what answers no file answers the page. */
async function serve(folder, page, headers = {}) {
  const server = createServer(async (request, response) => {
    const path = new URL(request.url, "http://localhost").pathname;
    const body = path === "/" ? page : await readFile(join(folder, path)).catch(() => undefined);
    response.writeHead(body === undefined ? 404 : 200, { "Content-Type": types[extname(path)] ?? "text/html", ...headers });
    response.end(body);
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  closing.push(() => new Promise((resolve) => server.close(resolve).closeAllConnections()));
  return `http://127.0.0.1:${server.address().port}/`;
}

async function open(url) {
  const page = await browser.newPage();
  const problems = [];
  page.on("pageerror", (error) => problems.push(String(error)));
  page.on("console", (message) => {
    const { url } = message.location();
    // Browsers ask for one, and nobody has it.
    if (message.type() === "error" && !url.endsWith("/favicon.ico")) problems.push(`${message.text()} ${url}`);
  });
  await page.goto(url);
  return { page, problems };
}

const bare = '<!doctype html><script type="module" src="/index.js"></script>';

let built;
/** The application, built by Vite and served under the Content-Security-Policy. */
async function builtApp() {
  if (built) return built;
  const folder = project("vite-app", app);
  copy(new URL("parity.js", import.meta.url).pathname, join(folder, "parity.js"));
  await build(vite(folder));
  copy(made.answers, join(folder, "dist/answers"));
  const headers = { "Content-Security-Policy": csp };
  const server = await preview({ ...vite(folder), preview: { port: 0, host: "127.0.0.1", headers } });
  closing.push(() => server.close());
  built = await open(server.resolvedUrls.local[0]);
  await built.page.waitForFunction(() => globalThis.tests);
  return built;
}

test("G7-05 G7-12 Vite builds a page that works under a Content-Security-Policy", async () => {
  const { page, problems } = await builtApp();
  assert.equal(await page.textContent("#digest"), vectors("objects.json")[0].sha256);
  assert.deepEqual(problems, []);
});

test("G7-15 Chromium gives the answers that Rust gives to every vector and case", async () => {
  const { page } = await builtApp();
  assert.deepEqual(await page.evaluate(() => tests.differencesFrom("/answers/table.ndjson")), []);
});

test("G7-15 Chromium gives the answers that Rust gives to ten thousand generated texts", async () => {
  const { page } = await builtApp();
  assert.deepEqual(await page.evaluate(() => tests.differencesFrom("/answers/generated.ndjson")), []);
});

test("G7-07 a worker gives the same digests", async () => {
  const { page } = await builtApp();
  const objects = vectors("objects.json").filter(({ inputHex }) => inputHex);
  const digests = await page.evaluate(
    (inputs) => tests.inWorker(inputs.map(tests.bytesOf)),
    objects.map(({ inputHex }) => inputHex),
  );
  assert.deepEqual(digests, objects.map(({ sha256 }) => sha256));
});

test("half a surrogate pair is refused in Chromium too", async () => {
  const { page } = await builtApp();
  const { error } = await page.evaluate(() => tests.attempt(() => tests.sp.digest('["\u{1F600}' + String.fromCharCode(0xd800) + '"]')));
  assert.deepEqual([error.code, error.path, error.start], ["JSON_LONE_SURROGATE", "/0", 4]);
});

test("G7-14 hostile sizes are refused in Chromium too", async () => {
  const { page } = await builtApp();
  const codes = await page.evaluate((good) => {
    const texts = ["x".repeat(200 << 20), "\u00e9".repeat(3 << 20), "[".repeat(100_000)];
    const codes = texts.map((text) => tests.attempt(() => tests.sp.digest(text)).error.code);
    return [...codes, tests.sp.validate("embedding", good).valid];
  }, good);
  assert.deepEqual(codes, ["JSON_TOO_LARGE", "JSON_TOO_LARGE", "JSON_TOO_DEEP", true]);
});

test("G7-05 Vite's development server serves it", async () => {
  const folder = project("vite-dev", app);
  copy(new URL("parity.js", import.meta.url).pathname, join(folder, "parity.js"));
  const config = { ...vite(folder), server: { port: 0, host: "127.0.0.1" } };
  const server = await createVite(config);
  await server.listen();
  closing.push(() => server.close());
  const { page, problems } = await open(server.resolvedUrls.local[0]);
  await page.waitForFunction(() => document.querySelector("#digest").textContent);
  assert.equal(await page.textContent("#digest"), vectors("objects.json")[0].sha256);
  assert.deepEqual(problems, []);
});

test("G7-05 Vite 7's development server serves it as the README says, and without that the error says it", async () => {
  const folder = project("vite-7-dev", {
    "index.html": '<!doctype html><p id="said"></p><script type="module" src="/main.js"></script>',
    "main.js": `
      import { digest } from "space-profiles";
      const said = document.querySelector("#said");
      try { said.textContent = digest("{}"); } catch (error) { said.textContent = error.code + ": " + error.message; }
    `,
  });
  const [, excluded] = read(join(made.package, "README.md")).match(/`optimizeDeps: { exclude: (\[[^\]]*\]) }`/);
  const asAdvised = { exclude: JSON.parse(excluded) };
  for (const [optimizeDeps, said] of [[asAdvised, /^44136fa3/], [undefined, /^MODULE_UNAVAILABLE: .*optimizeDeps/]]) {
    const server = await createVite7({ ...vite(folder), optimizeDeps, server: { port: 0, host: "127.0.0.1" } });
    await server.listen();
    closing.push(() => server.close());
    const { page } = await open(server.resolvedUrls.local[0]);
    await page.waitForFunction(() => document.querySelector("#said").textContent);
    assert.match(await page.textContent("#said"), said);
  }
});

test("G7-08 a page that Vite renders on the server has it too", async () => {
  const render = 'import { digest } from "space-profiles"; export const render = () => `<p>${digest("{}")}</p>`;';
  const folder = project("vite-ssr", { "render.js": render });
  await build({ ...vite(folder), build: { ssr: "render.js" } });
  const rendered = await import(join(folder, "dist/render.js"));
  assert.match(rendered.render(), /^<p>44136fa3/);
});

test("G7-07 G7-12 without a bundler it works under the same policy", async () => {
  const url = await serve(made.package, bare, { "Content-Security-Policy": csp });
  const { page, problems } = await open(url);
  const objects = vectors("objects.json").filter(({ inputHex }) => inputHex);
  const digests = await page.evaluate(
    async (inputs) => {
      const { digest } = await import("/index.js");
      return inputs.map((hex) => digest(Uint8Array.from(hex.match(/../g), (pair) => parseInt(pair, 16))));
    },
    objects.map(({ inputHex }) => inputHex),
  );
  assert.deepEqual(digests, objects.map(({ sha256 }) => sha256));
  assert.deepEqual(problems, []);
});

test("G7-12 a policy without wasm-unsafe-eval makes calls fail with an error that names it", async () => {
  const policy = csp.replace(" 'wasm-unsafe-eval'", "");
  const url = await serve(made.package, bare, { "Content-Security-Policy": policy });
  const { page } = await open(url);
  const [code, message, again] = await page.evaluate(async () => {
    const sp = await import("/index.js");
    const said = [];
    try {
      sp.digest("{}");
    } catch (error) {
      said.push(error.code, error.message);
    }
    await sp.default().catch((error) => said.push(error.code));
    return said;
  });
  assert.equal(code, "MODULE_UNAVAILABLE");
  assert.match(message, /'wasm-unsafe-eval'/);
  assert.equal(again, "MODULE_UNAVAILABLE");
});

test("a page goes on without the module, and tries again when asked to", async () => {
  const url = await serve(made.package, bare);
  const page = await browser.newPage();
  await page.route("**/*.wasm", (route) => route.fulfill({ status: 503 }));
  await page.goto(url);
  const digest = () =>
    page.evaluate(async () => {
      const sp = await import("/index.js");
      try {
        return sp.digest("{}").slice(0, 8);
      } catch (error) {
        return `${error.code}: ${error.message}`;
      }
    });
  assert.match(await digest(), /^MODULE_UNAVAILABLE: .* 503/);
  await page.unroute("**/*.wasm");
  await page.evaluate(async () => {
    const { default: init } = await import("/index.js");
    await Promise.all([init(), init()]);
  });
  assert.equal(await digest(), "44136fa3");
});

test("a page in the module's place is told from a module that is broken", async () => {
  const url = await serve(made.package, bare);
  const page = await browser.newPage();
  await page.route("**/*.wasm", (route) => route.fulfill({ status: 200, contentType: "text/html", body: bare }));
  await page.goto(url);
  const message = await page.evaluate(async () => {
    const sp = await import("/index.js");
    return sp.default().catch((error) => `${error.code}: ${error.message}`);
  });
  assert.match(message, /^MODULE_UNAVAILABLE: .*space_profiles\.wasm answered a page and not the module$/);
});

test("the module is compiled even if the server names another type of it", async () => {
  const url = await serve(made.package, bare);
  const page = await browser.newPage();
  await page.route("**/*.wasm", async (route) => {
    const response = await route.fetch();
    await route.fulfill({ response, headers: { "content-type": "application/octet-stream" } });
  });
  await page.goto(url);
  assert.equal(await page.evaluate(async () => (await import("/index.js")).digest("{}").slice(0, 8)), "44136fa3");
});
