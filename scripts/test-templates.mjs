// `npm run test:templates -- FOLDER`: renders every FOLDER/*.jinja, each a chat template without a model, and compares
// the text with the text that the Python library transformers renders. Both use a small tokenizer from test/fixtures.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { checkPlatform, ensureDependencies } from './bootstrap/dependencies.mjs'
import { runScript } from './bootstrap/fail.mjs'
import { runNode } from './bootstrap/run-node.mjs'
import { ensurePython } from './python/ensure-python.mjs'
import { runProgram } from './python/run-program.mjs'

const LIMIT_MS = 10 * 60_000
/** A model whose tokenizer has the special tokens that templates name. */
const MODEL = 'test/fixtures/tokenizers/byte-fallback-bpe'

await runScript(async () => {
  const [folder, ...others] = process.argv.slice(2)
  if (folder === undefined || others.length > 0) {
    console.error('npm run test:templates -- FOLDER')
    return 2
  }
  checkPlatform()
  await ensureDependencies({ dev: false })
  const python = join(ensurePython('references'), 'python')
  const templates = resolve(folder)
  const references = mkdtempSync(join(tmpdir(), 'millrace-templates-'))
  try {
    const script = 'scripts/python/references/render_templates.py'
    const options = { env: { HF_HUB_OFFLINE: '1' }, limitMs: LIMIT_MS }
    const code = await runProgram(python, [script, templates, MODEL, references], options)
    return code === 0 ? await runNode(['test/templates/main.ts', templates, MODEL, references]) : code
  } finally {
    rmSync(references, { recursive: true, force: true })
  }
})
