/** One snapshot: pasted, opened, dropped; its verdict, its issues, and what it comes to. */

import { test } from "node:test";
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { drop, example, focused, open, paste, selected, settled, verdict } from "./inspector.mjs";

const ID = "embedding-space-sha256:dee54439e74d6aa00be2145649df55d567e0587ee48bd89a7b27a9b10a846fa1";

test("a valid snapshot that is pasted shows its digest, canonical text, identity and vector space", async () => {
  const page = await open();
  await paste(page, await example("embedding.json"));
  assert.equal(await verdict(page), "Valid embedding snapshot");
  assert.equal(await page.textContent("#detection"), "Detected embedding: it is valid as that.");
  const canonical = await page.textContent("#canonical");
  assert.ok(canonical.startsWith('{"dimension":1536,"model"'));
  assert.equal(await page.textContent("#digest"), createHash("sha256").update(canonical).digest("hex"));
  assert.equal(await page.textContent("#vector-space-id"), ID);
  assert.match(await page.textContent(".facts"), /text-embedding-3-small.*1,536/);
  await page.getByText("Derived, version 1").waitFor();
  const material = await page.locator("#material").textContent();
  assert.equal(createHash("sha256").update(material).digest("hex"), ID.split(":")[1]);
});

test("what is copied is what is shown", async () => {
  const page = await open();
  await paste(page, await example("embedding.json"));
  for (const [name, id] of [["the digest", "#digest"], ["the canonical text", "#canonical"], ["the vector space id", "#vector-space-id"]]) {
    await page.getByRole("button", { name: `Copy ${name}` }).click();
    await page.getByText("Copied", { exact: true }).first().waitFor();
    assert.equal(await page.evaluate(() => navigator.clipboard.readText()), await page.textContent(id));
  }
});

test("every issue is marked at its place, listed in the order of the text, and told apart by severity", async () => {
  const page = await open();
  await paste(page, await example("broken.json"));
  assert.equal(await verdict(page), "Not a valid embedding snapshot");
  assert.equal(await page.textContent("#verdict .verdict-more"), "5 errors and 1 warning");
  const places = await page.locator(".issue-place").evaluateAll((all) => all.map((one) => [...one.children].map((part) => part.textContent)));
  assert.deepEqual(places, [
    ["/provider", "line 3, column 15", "OUTER_WHITE_SPACE"],
    ["/model", "line 4, column 12", "INVISIBLE_CHARACTER"],
    ["/dimension", "line 5, column 16", "WRONG_TYPE"],
    ["/revision", "line 6, column 15", "OUT_OF_RANGE"],
    ["/vectorSpaceId", "line 7, column 20", "BAD_FORMAT"],
    ["/apiKey", "line 8, column 3", "UNKNOWN_FIELD"],
  ]);
  const marks = await page.locator("#snapshot-editor mark").evaluateAll((all) => all.map((one) => [one.textContent, one.className.trim()]));
  assert.deepEqual(marks, [
    ['" openai"', "error"],
    ['"text-embedding\u200b-3-small"', "warning"],
    ['"1536"', "error"],
    ["0", "error"],
    ['"embedding-space-sha256:DEE54439"', "error"],
    ['"apiKey"', "error"],
  ]);
  assert.equal(await page.getAttribute("#snapshot-text", "aria-invalid"), "true");
  assert.equal(await page.locator(".issue.warning .quiet").textContent(), "Warning: ");
});

test("an issue leads to its place, and so do F8 and Shift F8", async () => {
  const page = await open();
  await paste(page, await example("broken.json"));
  await page.locator(".issue", { hasText: "/dimension" }).click();
  assert.deepEqual([await selected(page), await focused(page)], ['"1536"', "snapshot-text"]);
  await page.keyboard.press("F8");
  assert.equal(await selected(page), "0");
  await page.keyboard.press("Shift+F8");
  await page.keyboard.press("Shift+F8");
  assert.equal(await selected(page), '"text-embedding\u200b-3-small"');
});

test("a member that is missing is marked where it would be", async () => {
  const page = await open();
  await paste(page, '{\n  "topK": 5,\n  "rerank": {"enabled": true},\n  "defaultMode": "fast"\n}');
  assert.equal(await verdict(page), "Not a valid retrieval snapshot");
  await page.locator(".issue", { hasText: "/rerank/model" }).click();
  assert.equal(await selected(page), "{");
  assert.ok((await page.evaluate(() => document.getElementById("snapshot-text").selectionStart)) > 20);
});

test("what is not JSON is marked where it breaks", async () => {
  const page = await open();
  await paste(page, '{\n  "model": "m",\n  "model": "n"\n}');
  assert.equal(await verdict(page), "Not a valid embedding snapshot");
  await page.locator(".issue", { hasText: "JSON_DUPLICATE_KEY" }).click();
  assert.equal(await selected(page), '"model"');
  await paste(page, '{"a": ');
  assert.equal(await verdict(page), "Not acceptable JSON");
  assert.equal(await page.locator(".issue-place").textContent(), "line 1, column 7JSON_INVALID");
  assert.equal(await page.locator("#proof > *").count(), 0);
});

test("the place of an issue survives characters outside the basic plane, wrapping and many lines", async () => {
  const page = await open({ width: 500 });
  const lines = Array.from({ length: 500 }, (_, index) => `    "🛰️ ${"word-and-word ".repeat(index % 9)}"`);
  await paste(page, `{\n  "notes": [\n${lines.join(",\n")}\n  ],\n  "revision": 0\n}`);
  await page.locator(".issue", { hasText: "/revision" }).click();
  assert.equal(await selected(page), "0");
  const [mark, editor] = await page.evaluate(() => {
    const marks = [...document.querySelectorAll("#snapshot-editor mark")];
    return [marks.at(-1), document.getElementById("snapshot-editor")].map((element) => element.getBoundingClientRect().toJSON());
  });
  assert.ok(mark.top >= editor.top && mark.bottom <= editor.bottom, "the mark is in sight");
});

test("numbers and marks stay beside their text whatever is wrapped", async () => {
  for (const width of [360, 700, 1280]) {
    const page = await open({ width });
    for (const text of ["", "\n\n\n", "a\n", `"${"x".repeat(3000)}"`, "word ".repeat(900), "  \t tabs\tand   spaces   ".repeat(80), "日本語のテキスト、".repeat(90), "a-b/c:d,e;f".repeat(90)]) {
      await page.fill("#snapshot-text", text);
      await settled(page);
      const [drawn, typed] = await page.evaluate(() => {
        const area = document.getElementById("snapshot-text");
        const lines = document.querySelectorAll("#snapshot-editor .line");
        const drawn = [...lines].reduce((sum, line) => sum + line.getBoundingClientRect().height, 0);
        area.style.height = "0";
        const padding = 2 * Number.parseFloat(getComputedStyle(area).paddingTop);
        const typed = area.scrollHeight - padding;
        area.style.height = "";
        return [drawn, typed];
      });
      assert.ok(Math.abs(drawn - typed) <= 1, `${width} px, ${JSON.stringify(text.slice(0, 12))}: ${drawn} and ${typed}`);
    }
  }
});

test("64 KiB stay smooth to type in", async () => {
  const page = await open();
  const members = Array.from({ length: 2200 }, (_, index) => `  "member${index}": ${index},`).join("\n");
  await paste(page, `{\n${members}\n  "topK": 5\n}`.slice(0, 65_500));
  const usual = await page.evaluate(async () => {
    const area = document.getElementById("snapshot-text");
    area.focus();
    area.setSelectionRange(1, 1);
    const times = [];
    for (let i = 0; i < 21; i += 1) {
      const start = performance.now();
      document.execCommand("insertText", false, " ");
      await new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve)));
      times.push(performance.now() - start);
    }
    return times.sort((a, b) => a - b)[10];
  });
  assert.ok(usual < 250, `a key takes ${usual.toFixed(0)} ms`);
});

test("a text of very many lines gets its own verdict, and soon", async () => {
  const page = await open();
  await paste(page, await example("embedding.json"));
  assert.equal(await verdict(page), "Valid embedding snapshot");
  const [took, said] = await page.evaluate(async () => {
    const area = document.getElementById("snapshot-text");
    const start = performance.now();
    area.value = `[${"1,\n".repeat(200_000)}1]`;
    area.dispatchEvent(new Event("input", { bubbles: true }));
    await new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve)));
    return [performance.now() - start, document.querySelector("#verdict .verdict-line").textContent];
  });
  assert.equal(said, "Not acceptable JSON");
  assert.ok(took < 20_000, `${took.toFixed(0)} ms`);
  await page.click("#snapshot-clear");
  await paste(page, await example("broken.json"));
  assert.equal(await page.locator("#snapshot-editor mark").count(), 6, "lines are drawn again");
});

test("a text of megabytes is not pasted, and the text before stays", async () => {
  const page = await open();
  await paste(page, await example("embedding.json"));
  await paste(page, "1,\n".repeat(1_000_000));
  await page.getByText("What was pasted has 3,000,000 characters, more than any snapshot has.").waitFor();
  assert.equal(await verdict(page), "Valid embedding snapshot");
  await paste(page, await example("broken.json"));
  assert.equal(await page.isVisible("#snapshot-notice"), false);
  await page.getByRole("tab", { name: "Compare" }).click();
  await paste(page, "1,\n".repeat(1_000_000), "#after-text");
  await page.locator("#after").getByText("What was pasted has 3,000,000 characters").waitFor();
});

test("a file that is dropped is inspected; what cannot be a snapshot is said", async () => {
  const page = await open();
  await drop(page, "body", [["retrieval.json", await example("retrieval.json")]]);
  await page.getByText("Valid retrieval snapshot").waitFor();
  await drop(page, "#snapshot-editor", [["latin1.json", [0x7b, 0x22, 0xe9, 0x22, 0x7d]]]);
  await page.getByText("latin1.json is not UTF-8 text").waitFor();
  await drop(page, "#snapshot-editor", [["large.json", " ".repeat((1 << 20) + 1)]]);
  await page.getByText("large.json has 1,048,577 bytes").waitFor();
  assert.equal(await verdict(page), "Valid retrieval snapshot", "the text before is still there");
  await drop(page, "#snapshot-editor", [["bom.json", [0xef, 0xbb, 0xbf, 0x7b, 0x7d]]]);
  await page.locator(".issue", { hasText: "JSON_BOM" }).waitFor();
});

test("a file can be opened, and opened again", async () => {
  const page = await open();
  for (const _ of [1, 2]) {
    await page.click("#snapshot-clear");
    const [chooser] = await Promise.all([page.waitForEvent("filechooser"), page.click("#snapshot-open")]);
    await chooser.setFiles({ name: "e.json", mimeType: "application/json", buffer: Buffer.from(await example("embedding.json")) });
    await page.getByText("Valid embedding snapshot").waitFor();
  }
});

test("a chosen kind wins over the detected one", async () => {
  const page = await open();
  await paste(page, await example("embedding.json"));
  await page.getByRole("radio", { name: "Retrieval" }).check();
  assert.equal(await verdict(page), "Not a valid retrieval snapshot");
  assert.equal(await page.textContent("#detection"), "Read as retrieval, as you chose. As embedding it would be valid.");
  await page.getByRole("radio", { name: "Detect" }).check();
  assert.equal(await verdict(page), "Valid embedding snapshot");
});

test("a digest can be compared with the text's", async () => {
  const page = await open();
  await paste(page, await example("embedding.json"));
  const digest = await page.textContent("#digest");
  for (const [typed, said] of [[digest, "The same"], ["0".repeat(64), "Not the same"], ["abc", "Not the same"]]) {
    await page.fill("#expected-digest", typed);
    await page.locator(".check .answer", { hasText: said }).waitFor();
  }
  assert.equal(await focused(page), "expected-digest");
});

test("an id of version 2 is derived with the capability snapshot, and is left open without", async () => {
  const page = await open();
  await paste(page, await example("embedding-version-2.json"));
  await page.getByText("Not derivable from the snapshot alone.").waitFor();
  await page.getByText("Check version 2 with a capability snapshot").click();
  await paste(page, "{}", "#capability-text");
  await page.getByText("No version 2").waitFor();
  await page.getByRole("button", { name: "Try the example" }).click();
  await page.getByText("Derived, version 2").waitFor();
  assert.match(await page.locator("#material").textContent(), /^\{"installIdentity":\{"capabilityDigest":"sha256:[0-9a-f]{64}","dimension":1536/);
  await paste(page, (await example("capability.json")).replace("openai:0.2.7", "openai:0.2.8"), "#capability-text");
  await page.getByText("Neither version derives it").waitFor();
});

test("a capability snapshot that cannot be one is told, and marked where it breaks", async () => {
  const page = await open();
  await paste(page, await example("embedding-version-2.json"));
  await page.getByText("Check version 2 with a capability snapshot").click();
  for (const text of ["null", "5", "[]", '"x"']) {
    await paste(page, text, "#capability-text");
    await page.getByText("No version 2: expected an object").waitFor();
  }
  await paste(page, '{"kind": "embedding",}', "#capability-text");
  assert.equal(await page.locator(".small-editor mark").textContent(), "}");
  await paste(page, await example("capability.json"), "#capability-text");
  assert.equal(await page.locator(".small-editor mark").count(), 0);
});

test("a capability snapshot of another model proves nothing, even if the id follows from it", async () => {
  const page = await open();
  const snapshot = await example("embedding-version-2.json");
  const capability = await example("capability.json");
  await paste(page, snapshot);
  await page.getByText("Check version 2 with a capability snapshot").click();
  for (const [shown, given] of [
    [snapshot.replace('"dimension": 1536', '"dimension": 1024'), capability],
    [snapshot, capability.replace('"model": "text-embedding-3-small"', '"model": "bge-m3"')],
    [snapshot, capability.replace('"kind": "embedding"', '"kind": "rerank"')],
  ]) {
    await paste(page, shown);
    await paste(page, given, "#capability-text");
    await page.getByText("It is not about this snapshot’s model").waitFor();
    assert.equal(await page.getByText("Derived, version 2").count(), 0);
    assert.equal(await page.getByText("Version 2 gives the snapshot’s id").count(), 0);
  }
});

test("a capability snapshot in the place of a snapshot is told from a broken one", async () => {
  const page = await open();
  await paste(page, await example("capability.json"));
  assert.match(await page.textContent("#detection"), /^This looks like a capability snapshot/);
  await paste(page, await example("broken.json"));
  assert.match(await page.textContent("#detection"), /^Detected embedding/);
});

test("the verdict is told to people who hear the page, once it has settled", async () => {
  const page = await open();
  await paste(page, await example("broken.json"));
  await page.waitForFunction(() => document.getElementById("spoken").textContent === "Not a valid embedding snapshot: 5 errors and 1 warning.");
  assert.equal(await page.getAttribute("#spoken", "role"), "status");
});

test("each example can be tried, and the page can be emptied", async () => {
  const page = await open();
  for (const [name, expected] of [
    ["An embedding snapshot", "Valid embedding snapshot"],
    ["A retrieval snapshot", "Valid retrieval snapshot"],
    ["Bound to an installed model", "Valid embedding snapshot"],
    ["One with several faults", "Not a valid embedding snapshot"],
  ]) {
    await page.selectOption("#snapshot-example", { label: name });
    await page.waitForFunction((text) => document.querySelector("#verdict .verdict-line").textContent === text, expected);
  }
  await page.click("#snapshot-clear");
  assert.equal(await verdict(page), "Nothing to inspect yet");
  assert.equal(await page.locator("#issues > *, #proof > *, #snapshot-editor mark").count(), 0);
});
