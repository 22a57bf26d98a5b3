/** The page itself: keyboard, colours, widths, policy, and what happens when something fails. */

import { test } from "node:test";
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { example, focused, open, paste, selected, verdict } from "./inspector.mjs";

const axe = await readFile(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

/** Brings the page into each state that it has. */
const STATES = {
  empty: async () => {},
  valid: async (page) => paste(page, await example("embedding.json")),
  open: async (page) => {
    await paste(page, await example("embedding-version-2.json"));
    await page.getByText("Check version 2 with a capability snapshot").click();
    await page.getByRole("button", { name: "Try the example" }).click();
    await page.getByText("Derived, version 2").waitFor();
    await page.getByText("Material").click();
    await page.fill("#expected-digest", "abc");
  },
  broken: async (page) => paste(page, await example("broken.json")),
  "not JSON": async (page) => paste(page, "{'a': 1}"),
  "nothing to compare": async (page) => page.getByRole("tab", { name: "Compare" }).click(),
  compared: async (page) => {
    await page.getByRole("tab", { name: "Compare" }).click();
    await page.selectOption("#pair-example", { label: "A larger model" });
    await page.locator(".changes").waitFor();
  },
};

for (const dark of [false, true]) {
  test(`axe finds nothing to object to, ${dark ? "dark" : "light"}`, async () => {
    for (const width of [1280, 360]) {
      for (const [state, reach] of Object.entries(STATES)) {
        const page = await open({ dark, width });
        await reach(page);
        await page.evaluate(axe);
        const found = await page.evaluate(async () => {
          const { violations } = await window.axe.run(document, { runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"] });
          return violations.flatMap(({ id, nodes }) => nodes.map((node) => `${id}: ${node.failureSummary} ${node.html}`));
        });
        assert.deepEqual(found, [], `${state} at ${width} px`);
      }
    }
  });

  test(`every text colour has 4.5 : 1 on whatever it stands on, ${dark ? "dark" : "light"}`, async () => {
    const page = await open({ dark });
    const ratios = await page.evaluate(() => {
      const style = getComputedStyle(document.documentElement);
      const probe = document.body.appendChild(document.createElement("i"));
      const light = (name) => {
        probe.style.color = style.getPropertyValue(`--${name}`);
        const [r, g, b] = getComputedStyle(probe).color.match(/[\d.]+/g).map((part) => part / 255).map((part) => (part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4));
        return 0.2126 * r + 0.7152 * g + 0.0722 * b;
      };
      const ratio = (one, two) => {
        const [high, low] = [light(one), light(two)].sort((a, b) => b - a);
        return (high + 0.05) / (low + 0.05);
      };
      const pairs = [];
      for (const paper of ["page", "sheet", "error-wash", "warning-wash"]) {
        for (const text of ["ink", "soft", "error", "warning", "good", "accent"]) pairs.push([`${text} on ${paper}`, ratio(text, paper), 4.5]);
        pairs.push([`edge on ${paper}`, ratio("edge", paper), 3]);
      }
      return pairs;
    });
    assert.deepEqual(ratios.filter(([, found, least]) => found < least), []);
  });
}

test("light and dark follow the system", async () => {
  const paper = (page) => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  const [light, dark] = [await paper(await open()), await paper(await open({ dark: true }))];
  assert.notEqual(light, dark);
});

test("nothing is wider than the window, from 320 pixels up", async () => {
  for (const width of [320, 360, 768, 1280]) {
    for (const [state, reach] of Object.entries(STATES)) {
      const page = await open({ width });
      await reach(page);
      const wide = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
      assert.equal(wide, 0, `${state} at ${width} px`);
    }
  }
});

test("everything can be done with the keyboard alone", async () => {
  const page = await open();
  const press = async (...keys) => { for (const key of keys) await page.keyboard.press(key); };
  await page.evaluate((text) => navigator.clipboard.writeText(text), await example("broken.json"));
  await press("Tab");
  assert.equal(await focused(page), "skip");
  await press("Enter");
  assert.equal(await focused(page), "snapshot-text");
  await press("Control+V");
  await page.getByText("Not a valid embedding snapshot").first().waitFor();
  await press("Tab");
  assert.equal(await page.evaluate(() => document.activeElement.value), "detected", "the kinds are one stop");
  await press("ArrowRight", "ArrowRight");
  assert.equal(await verdict(page), "Not a valid retrieval snapshot");
  await press("ArrowLeft", "ArrowLeft", "Tab");
  assert.ok(await page.evaluate(() => document.activeElement.matches(".issue")));
  const ring = await page.evaluate(() => getComputedStyle(document.activeElement).outlineStyle);
  assert.notEqual(ring, "none", "where the focus is can be seen");
  await press("Enter");
  assert.equal(await selected(page), '" openai"');
  await press("Shift+Tab", "Shift+Tab", "Shift+Tab", "Shift+Tab", "ArrowRight");
  assert.equal(await focused(page), "tab-compare");
  await press("Tab", "Tab", "Tab", "Tab", "Tab");
  assert.equal(await focused(page), "before-text", "only the view that is shown can be reached");
});

test("the page does not move by itself while it loads", async () => {
  const page = await open();
  assert.ok((await page.evaluate(() => window.shifts)) < 0.01);
});

test("the policy keeps scripts from elsewhere, evaluated text and other hosts out", async () => {
  const page = await open({ quiet: false });
  const refused = await page.evaluate(async () => {
    const tries = {
      fetch: () => fetch("https://example.com/"),
      image: () => new Promise((resolve, reject) => Object.assign(new Image(), { onload: resolve, onerror: reject, src: "https://example.com/x.png" })),
      script: () => new Promise((resolve, reject) => document.head.append(Object.assign(document.createElement("script"), { onload: resolve, onerror: reject, src: "https://example.com/x.js" }))),
      socket: () => new Promise((resolve, reject) => Object.assign(new WebSocket("wss://example.com/"), { onopen: resolve, onerror: reject })),
    };
    const answers = [];
    for (const [name, attempt] of Object.entries(tries)) {
      try { await attempt(); } catch { answers.push(name); }
    }
    return answers;
  });
  assert.deepEqual(refused, ["fetch", "image", "script", "socket"]);
  const violations = await page.evaluate(() => window.violations.map((violation) => violation.split(" ")[0]));
  assert.deepEqual([...new Set(violations)].sort(), ["connect-src", "img-src", "script-src-elem"]);
  await page.context().close();
});

test("if the module cannot be loaded, the page says so and what to do", async () => {
  const page = await open({ quiet: false, route: ["**/*.wasm", (route) => route.abort()] });
  await page.getByRole("alert").filter({ hasText: "The validator could not be loaded" }).waitFor();
  assert.equal(await verdict(page), "No verdict");
  await page.context().close();
});

test("while the module is loading, the page says so, and a text that was pasted meanwhile is inspected", async () => {
  let arrive;
  const arrival = new Promise((resolve) => { arrive = resolve; });
  const page = await open({ route: ["**/*.wasm", async (route) => { await arrival; await route.continue(); }] });
  await page.getByText("Loading the validator…").waitFor();
  await page.fill("#snapshot-text", await example("embedding.json"));
  arrive();
  await page.getByText("Valid embedding snapshot").first().waitFor();
});
