// The package as its users get it: packed, and installed into projects of their own.
import { execFileSync } from "node:child_process";
import { cpSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

const here = fileURLToPath(new URL(".", import.meta.url));
const work = join(here, ".work");

/** What xtask made: the package, one that fails on purpose, and core's answers. */
export const made = {
  package: join(here, "../pkg"),
  failing: join(work, "failing"),
  answers: join(work, "answers"),
  testdata: join(here, "../../testdata"),
};

export const read = (file) => readFileSync(file, "utf8");
export const vectors = (file) => JSON.parse(read(join(made.testdata, "vectors", file))).vectors;
export const answers = (file) => read(join(made.answers, file));

export const csp =
  "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; style-src 'self'; connect-src 'self'";

/** A fresh project with the packed package installed. */
export function project(name, files = {}) {
  const folder = join(work, name);
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  const manifest = { name, private: true, type: "module" };
  write(folder, { "package.json": JSON.stringify(manifest), ...files });
  const npm = (...args) => execFileSync("npm", args, { cwd: folder, encoding: "utf8", stdio: ["ignore", "pipe", "inherit"] });
  const tarball = npm("pack", "--silent", made.package).trim().split("\n").at(-1);
  npm("install", "--silent", "--offline", "--no-audit", "--no-fund", `./${tarball}`);
  return folder;
}

export function write(folder, files) {
  for (const [name, content] of Object.entries(files)) writeFileSync(join(folder, name), content);
}

export const copy = (from, to) => cpSync(from, to, { recursive: true });

export const installed = (folder, file) => pathToFileURL(join(folder, "node_modules/space-profiles", file)).href;

/** The bytes of WebAssembly memory that the package holds. */
export async function memoryOf(folder) {
  const { initSync } = await import(installed(folder, "glue.js"));
  return initSync().memory.buffer.byteLength;
}

export function chromium() {
  const found = [process.env.CHROMIUM, "/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"];
  const path = found.find((path) => path && existsSync(path));
  if (!path) throw new Error("expected Chromium, found none; install it or set CHROMIUM to its path");
  return { executablePath: path, args: ["--no-sandbox", "--disable-dev-shm-usage"], headless: true };
}

export const embedding = (changes = {}) => ({
  pluginId: "langgenius/openai",
  provider: "openai",
  model: "text-embedding-3-small",
  dimension: 1536,
  revision: 1,
  vectorSpaceId: `embedding-space-sha256:${"a".repeat(64)}`,
  ...changes,
});
