// `npm run references -- FOLDER…`: writes FOLDER/chat-reference.json; `npx millrace models check` compares Millrace's
// prompts with it. Without a folder, this command writes the references of the tests.
import { join } from 'node:path'
import { checkPlatform } from './bootstrap/dependencies.mjs'
import { runScript } from './bootstrap/fail.mjs'
import { ensurePython } from './python/ensure-python.mjs'
import { runProgram } from './python/run-program.mjs'

const LIMIT_MS = 10 * 60_000
const TOKENIZERS = 'test/fixtures/tokenizers'
const WITH_TEMPLATE = ['models/tiny', `${TOKENIZERS}/byte-level-bpe`, `${TOKENIZERS}/byte-fallback-bpe`]

await runScript(async () => {
  checkPlatform()
  const python = join(ensurePython('references'), 'python')
  const folders = process.argv.slice(2)
  const runs =
    folders.length > 0
      ? folders.map((folder) => ['render_chats.py', folder])
      : [
          ['make_tokenizers.py', TOKENIZERS],
          ['render_snippets.py', 'test/fixtures/chat-template/template-snippets.json'],
          ...WITH_TEMPLATE.map((folder) => ['render_chats.py', folder]),
        ]
  for (const [script, path] of runs) {
    const file = join('scripts/python/references', script)
    const code = await runProgram(python, [file, path], { env: { HF_HUB_OFFLINE: '1' }, limitMs: LIMIT_MS })
    if (code !== 0) return code
  }
  return 0
})
