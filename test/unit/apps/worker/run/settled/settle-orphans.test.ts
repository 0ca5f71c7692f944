import { pino } from 'pino'
import { expect, test } from 'vitest'
import { createOrphanSettlements } from '#apps/worker/run/settled/settle-orphans.ts'
import type { Settled } from '#libs/generation-record/generation-record.ts'

function setUp(answers: (Settled['status'] | Error)[]) {
  const sent: unknown[] = []
  const orphans = createOrphanSettlements({
    record: {
      async settle(...settlement) {
        sent.push(settlement)
        const status = answers.shift()
        if (status instanceof Error || status === undefined) throw status ?? new Error('no more answers')
        return { status, worker: null, waited: false }
      },
    },
    worker: 'worker-1',
    log: pino({ level: 'silent' }),
  })
  return { orphans, sent }
}

test('what a dead gateway leaves is settled as our fault and free, by the worker that ran it', async () => {
  const { orphans, sent } = setUp(['recorded'])
  orphans.add({ model: 'demo-chat', id: 'g', epoch: 2, timing: null })
  await orphans.drain()
  const unused = { promptTokens: 0, cachedTokens: 0, completionTokens: 0 }
  const by = { role: 'worker', worker: 'worker-1' }
  expect(sent).toEqual([['demo-chat', { id: 'g', epoch: 2, outcome: 'fault', ...unused }, by]])
})

test('it is sent again until Redis answers, and counted as pending meanwhile', async () => {
  const { orphans, sent } = setUp([
    new Error('Connection is closed.'),
    new Error('Command timed out'),
    'stale',
  ])
  orphans.add({ model: 'demo-chat', id: 'g', epoch: 2, timing: null })
  expect(orphans.pending()).toBe(1)
  await orphans.drain()
  expect([sent.length, orphans.pending()]).toEqual([3, 0])
})
