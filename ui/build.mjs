// Bundles src/ into ../src/evenkeel/api/pages/static. The same input makes the same bytes.
import { build } from "esbuild";
import { copyFile, mkdir } from "node:fs/promises";

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
});
await copyFile("src/index.html", `${target}/index.html`);
