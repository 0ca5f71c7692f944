// `npm run test:model [-- PART OF A NAME]`: explores the model of the generation's record with more faults than `npm
// test` does, and prints a trace for each weaker rule. Takes one to three minutes and about 1 GB of memory.
import { checkPlatform, ensureDependencies } from './bootstrap/dependencies.mjs'
import { runScript } from './bootstrap/fail.mjs'
import { runNode } from './bootstrap/run-node.mjs'

await runScript(async () => {
  checkPlatform()
  await ensureDependencies({ dev: true })
  return await runNode(['--max-old-space-size=600', 'test/protocol-model/main.ts', ...process.argv.slice(2)])
})
