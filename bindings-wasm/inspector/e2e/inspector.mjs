/** Serves the inspector from the binary, opens it in Chromium, and watches what the page does meanwhile. */

import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { createInterface } from "node:readline";
import { after, afterEach, before } from "node:test";
import assert from "node:assert/strict";
import { chromium } from "playwright-core";

const ROOT = new URL("../../../", import.meta.url);
const BINARY = process.env.SPACE_PROFILES ?? new URL("target/debug/space-profiles", ROOT).pathname;
const CHROMIUM = process.env.CHROMIUM ?? ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"].find(existsSync);
const QUIET = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update", "--disable-sync", "--no-default-browser-check", "--no-first-run"];

let server;
let browser;
let url;
const opened = [];

before(async () => {
  url = process.env.INSPECTOR_URL ?? (await serve());
  browser = await chromium.launch({ executablePath: CHROMIUM, args: QUIET });
});

after(async () => {
  await browser?.close();
  server?.kill("SIGINT");
});

/** Whatever a test is about, the page must not complain, nor ask anybody else for anything. */
afterEach(async () => {
  for (const { context, page, seen } of opened.splice(0)) {
    const violations = await page.evaluate(() => window.violations);
    await context.close();
    assert.deepEqual({ ...seen, violations }, { complaints: [], elsewhere: [], violations: [] });
  }
});

async function serve() {
  server = spawn(BINARY, ["--json", "inspector"], { stdio: ["ignore", "pipe", "inherit"] });
  for await (const line of createInterface({ input: server.stdout })) return JSON.parse(line).url;
  throw new Error(`${BINARY} said nothing`);
}

/** A page that is ready, or with `route` about to load. */
export async function open({ width = 1280, height = 860, dark = false, route, quiet = true } = {}) {
  const context = await browser.newContext({ viewport: { width, height }, colorScheme: dark ? "dark" : "light", reducedMotion: "reduce" });
  await context.grantPermissions(["clipboard-read", "clipboard-write"]);
  const page = await context.newPage();
  const seen = { complaints: [], elsewhere: [] };
  page.on("console", (message) => seen.complaints.push(`${message.type()}: ${message.text()}`));
  page.on("pageerror", (error) => seen.complaints.push(String(error)));
  page.on("request", (request) => {
    if (new URL(request.url()).origin !== new URL(url).origin) seen.elsewhere.push(request.url());
  });
  await page.addInitScript(() => {
    window.violations = [];
    document.addEventListener("securitypolicyviolation", (event) => window.violations.push(`${event.violatedDirective} ${event.blockedURI}`));
    window.shifts = 0;
    new PerformanceObserver((list) => {
      for (const entry of list.getEntries()) if (!entry.hadRecentInput) window.shifts += entry.value;
    }).observe({ type: "layout-shift", buffered: true });
  });
  if (quiet) opened.push({ context, page, seen });
  if (route) await page.route(...route);
  await page.goto(url);
  if (!route) await page.getByText("Nothing to inspect yet").waitFor();
  return page;
}

/** Pastes a text as a person does. */
export async function paste(page, text, into = "#snapshot-text") {
  await page.evaluate((content) => navigator.clipboard.writeText(content), text);
  await page.focus(into);
  await page.keyboard.press("Control+A");
  await page.keyboard.press("Control+V");
  await settled(page);
}

/** The page answers in the frame after an input. */
export const settled = (page) => page.evaluate(() => new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve))));

/** Drops files on an element. Contents are texts or arrays of bytes. */
export async function drop(page, selector, files) {
  const transfer = await page.evaluateHandle((contents) => {
    const data = new DataTransfer();
    for (const [name, content] of contents) data.items.add(new File([typeof content === "string" ? content : new Uint8Array(content)], name));
    return data;
  }, files);
  await page.dispatchEvent(selector, "dragover", { dataTransfer: transfer });
  await page.dispatchEvent(selector, "drop", { dataTransfer: transfer });
}

export const verdict = (page) => page.locator("#verdict .verdict-line").textContent();
export const selected = (page, id = "snapshot-text") =>
  page.evaluate((name) => {
    const { value, selectionStart, selectionEnd } = document.getElementById(name);
    return value.slice(selectionStart, selectionEnd);
  }, id);
export const focused = (page) => page.evaluate(() => document.activeElement.id || document.activeElement.textContent);

const examples = new Map();

/** An example of the page, as text. */
export async function example(name) {
  if (!examples.has(name)) examples.set(name, await (await fetch(new URL(`examples/${name}`, url))).text());
  return examples.get(name);
}
