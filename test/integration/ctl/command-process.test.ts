import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'vitest'
import { scratchFolder } from '../../support/run-folder.ts'
import { CHAT, EMBED, ODD } from '../billing/support/billing-database.ts'
import { millrace, spawnMillrace } from './millrace.ts'
import { test } from './ctl-test.ts'

// Tests the process that people start. Other tests run the commands within the test process.

test('a process ends by itself with the output, the notes and the exit code of its command', async ({
  database,
  access,
}) => {
  const { accountId } = await database.createAccount(1_000n)
  await database.createAccount(1_000n)
  // A price cannot be changed at the very moment at which it takes effect.
  database.clock.nowMs += 60_000
  const file = join(scratchFolder('catalog'), 'catalog.json')
  writeFileSync(file, JSON.stringify({ models: [{ ...CHAT, outputPriceNano: '30000000' }, EMBED, ODD] }))
  const adjust = [
    'credits',
    'adjust',
    accountId,
    '-25',
    '--reason',
    'paid twice',
    '--idempotency-key',
    'once',
  ]
  const commands = [
    { words: ['accounts', 'list', '--limit', '1', '--json'], code: 0, stderr: /^there is more: / },
    { words: ['holds', 'list', '--account', accountId], code: 0, stderr: /^nothing found\n$/ },
    { words: ['ledger', 'export', '--account', accountId], code: 0, stderr: /^$/ },
    { words: ['models', 'publish', file, '--dry-run'], code: 0, stderr: /^$/ },
    { words: adjust, code: 1, stderr: /\(insufficient_credits\)\n$/ },
  ]
  for (const { words, code, stderr } of commands) {
    const ended = await spawnMillrace(words, access)
    expect(ended).toMatchObject({ code, stderr: expect.stringMatching(stderr) })
    expect(ended).toEqual(await millrace(words, access))
  }
})
