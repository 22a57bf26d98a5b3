/** Two snapshots side by side. */

import { test } from "node:test";
import assert from "node:assert/strict";
import { drop, example, focused, open, paste, selected } from "./inspector.mjs";

const line = (page) => page.locator("#difference .verdict-line").textContent();

async function compare(options) {
  const page = await open(options);
  await page.getByRole("tab", { name: "Compare" }).click();
  return page;
}

test("a larger model needs re-embedding, and why is said in a sentence", async () => {
  const page = await compare();
  await paste(page, await example("embedding.json"), "#before-text");
  assert.equal(await line(page), "The snapshot after is missing");
  await paste(page, await example("embedding-larger.json"), "#after-text");
  assert.match(
    await line(page),
    /^Needs re-embedding: dimension 1536 to 3072, model text-embedding-3-small to text-embedding-3-large, and vectorSpaceId [0-9a-f]{12}… to [0-9a-f]{12}…$/,
  );
  const rows = await page.locator(".changes tbody tr").evaluateAll((all) => all.map((row) => [...row.cells].map((cell) => cell.textContent)));
  assert.deepEqual(rows.slice(0, 3), [
    ["/dimension", "1536", "3072"],
    ["/model", '"text-embedding-3-small"', '"text-embedding-3-large"'],
    ["/revision", "1", "2"],
  ]);
});

test("a snapshot that was inspected can be compared with another", async () => {
  const page = await open();
  await paste(page, await example("embedding.json"));
  await page.getByRole("button", { name: "Compare with another" }).click();
  assert.equal(await focused(page), "after-text");
  await paste(page, await example("embedding-larger.json"), "#after-text");
  assert.match(await line(page), /^Needs re-embedding/);
});

test("other retrieval settings need none", async () => {
  const page = await compare();
  await page.selectOption("#pair-example", { label: "Other retrieval settings" });
  await page.locator(".verdict.free").waitFor();
  assert.match(await line(page), /^Needs no re-embedding: defaultMode deep to fast, .* and topK 15 to 30$/);
  await page.getByRole("button", { name: "Swap" }).click();
  assert.match(await line(page), /topK 30 to 15$/);
});

test("the same content in another spelling is no change", async () => {
  const page = await compare();
  const text = await example("embedding.json");
  await paste(page, text, "#before-text");
  await paste(page, JSON.stringify(Object.fromEntries(Object.entries(JSON.parse(text)).reverse())).replace("1536", "1.536e3"), "#after-text");
  assert.equal(await line(page), "Nothing changed");
});

test("one that is not valid is not compared; its issues lead to their places", async () => {
  const page = await compare();
  await paste(page, await example("embedding.json"), "#before-text");
  await paste(page, await example("broken.json"), "#after-text");
  assert.equal(await line(page), "After is not valid");
  await page.locator("#after .issue", { hasText: "/dimension" }).click();
  assert.equal(await selected(page, "after-text"), '"1536"');
});

test("two of different kinds are not called alike", async () => {
  const page = await compare();
  await paste(page, await example("embedding.json"), "#before-text");
  await paste(page, await example("retrieval.json"), "#after-text");
  assert.equal(await line(page), "These are of different kinds");
});

test("two files that are dropped at once are compared, wherever they are dropped", async () => {
  const page = await open();
  await drop(page, "#snapshot-editor", [["before.json", await example("embedding.json")], ["after.json", await example("embedding-larger.json")]]);
  await page.locator(".verdict.costs").waitFor();
  await drop(page, "#after", [["after.json", await example("embedding.json")]]);
  await page.waitForFunction(() => document.querySelector("#difference .verdict-line").textContent === "Nothing changed");
});

test("of more than two files the first two are compared, and that is said", async () => {
  const page = await open();
  const files = ["embedding.json", "embedding-larger.json", "retrieval.json"];
  await drop(page, "body", await Promise.all(files.map(async (name) => [name, await example(name)])));
  await page.locator(".verdict.costs").waitFor();
  await page.getByText("3 files were given; the first two are compared.").waitFor();
  await page.click("#pair-clear");
  assert.equal(await page.getByText("3 files were given").isVisible(), false);
});
