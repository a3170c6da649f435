// Bundles src/ into ../src/evenkeel/api/pages/static. The same input makes the same bytes.
import { build } from "esbuild";
import { createHash } from "node:crypto";
import { mkdir, readFile, readdir, writeFile } from "node:fs/promises";

const target = "../src/evenkeel/api/pages/static";
await mkdir(target, { recursive: true });
await build({
  entryPoints: ["src/app.js", "src/app.css"],
  outdir: target,
  bundle: true,
  minify: true,
  format: "esm",
  target: "es2020",
  legalComments: "inline",
  charset: "utf8",
  loader: { ".svg": "dataurl" },
});
// the page's policy allows pictures that are in the page, no others
const logo = `data:image/svg+xml,${encodeURIComponent((await readFile("src/logo.svg", "utf8")).trim())}`;
const page = (await readFile("src/index.html", "utf8")).replace("LOGO", logo);
await writeFile(`${target}/index.html`, page);

// what the bundle was made of, so that a test notices sources that were changed without it
const sources = (await readdir("src", { recursive: true, withFileTypes: true }))
  .filter((entry) => entry.isFile())
  .map((entry) => `${entry.parentPath}/${entry.name}`);
const digest = createHash("sha256");
for (const name of [...sources, "build.mjs", "package.json", "package-lock.json"].sort()) {
  digest.update(`${name}\0`);
  digest.update(await readFile(name));
}
await writeFile(`${target}/sources.sha256`, `${digest.digest("hex")}\n`);
