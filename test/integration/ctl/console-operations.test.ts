import { expect } from 'vitest'
import { ADMIN } from '#libs/admin-contract/admin-contract.ts'
import { deadLetters, reserveCall, settlement, START_MS } from '../billing/support/billing-database.ts'
import { test } from './ctl-test.ts'

test('requests: those that failed or were slow, and the timing of one', async ({ database, command }) => {
  const { keyId } = await database.createAccount(100_000n)
  const [slow, failed] = [reserveCall(keyId), reserveCall(keyId)]
  await database.money.reserve([slow, failed])
  await database.money.settle([
    settlement(slow.reservationId),
    settlement(failed.reservationId, { outcome: 'fault' }),
  ])
  await database.servicePool.query(
    `insert into request_timings (reservation_id, waited_ms, ahead, first_token_ms, ran_ms, streamed, written_at)
     values ($1, 14200, 124, 410, 5900, true, now())`,
    [slow.reservationId],
  )
  const faults = (await command('requests', 'list', '--outcome', 'fault')).stdout
  expect(faults.split('\n')).toHaveLength(3)
  expect(faults).toContain(`\n${failed.reservationId}  2030-01-01 00:00:00Z  `)
  const listed = await command('requests', 'list', '--min-ms', '20510', '--limit', '1', '--json')
  expect(JSON.parse(listed.stdout)).toMatchObject({ data: [{ id: slow.reservationId }], nextCursor: null })
  expect((await command('requests', 'list', '--min-ms', '20511')).stdout).toBe('')
  const shown = (await command('requests', 'show', slow.reservationId)).stdout
  expect(shown).toMatch(/waited \(ms\) +14200\n +were ahead of it +124\n/)
  expect(shown).toMatch(/streamed +yes\n/)
})

test('state: a table for people, and 1 when the books do not agree', async ({ database, command }) => {
  const { code, stdout } = await command('state')
  expect(code).toBe(0)
  expect(stdout).toMatch(/^they agree +-$/m)
  expect(stdout).toMatch(/^written off in 24 h +0 for 0 requests$/m)
  expect(stdout).toMatch(/^chat +0\.4$/m)
  deadLetters.set('chat', 2)
  const aside = await command('state')
  deadLetters.clear()
  expect(aside).toMatchObject({ code: 1, stdout: expect.stringMatching(/^dead letters +chat: 2$/m) })
  await database.pool.query('insert into reconciliation_runs (at, counts) values ($1, $2)', [
    new Date(START_MS),
    JSON.stringify([{ question: 'held', rows: 2 }]),
  ])
  const wrong = await command('state')
  expect(wrong.code).toBe(1)
  expect(wrong.stdout).toMatch(/^they agree +NO$/m)
})

test('sessions: list and end', async ({ database, command }) => {
  const opened = await database.operator.call(ADMIN.openSession, { userAgent: 'a browser' })
  if (opened.kind !== 'session') throw new Error('it is a ticket')
  const { id } = opened.session
  expect((await command('sessions', 'list', '--open', 'true')).stdout).toMatch(
    new RegExp(`^${id} +bootstrap +owner +yes .* a browser$`, 'm'),
  )
  expect((await command('sessions', 'end', id)).stdout).toMatch(/^ended +2030-01-01 00:00:00Z$/m)
  expect((await command('sessions', 'list', '--open', 'true')).stdout).toBe('')
})
