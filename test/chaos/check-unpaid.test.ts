import { expect, test } from 'vitest'
import { checkUnpaid } from './check-unpaid.ts'
import type { Asked } from './clients.ts'
import type { Done } from './run-faults.ts'

const ASKED: Asked = {
  ask: {
    name: 'a',
    model: 'demo-chat',
    path: '/chat/completions',
    shape: 'chat-stream',
    headers: {},
    body: {},
    guided: false,
  },
  known: {
    answer: { output: {}, finish: null, usage: null, error: null, ended: true },
    bytes: 0,
    promptTokens: 5,
    completionTokens: 40,
  },
  payer: { account: { id: 'poor', keyId: 'key', apiKey: 'secret' }, isPoor: true },
  call: {
    gateway: 'gateway-1',
    id: 'an-id',
    status: 200,
    body: '',
    end: 'complete',
    startMs: 10_000,
    endMs: 20_000,
  },
  outcome: { kind: 'unpaid', usage: null },
}

/** A token of the model costs 600 nano-credits. */
const sample = (atMs: number, nano: bigint) => ({ atMs, available: new Map([['poor', nano]]) })
const RICH_ENOUGH = [sample(9_000, 0n), sample(11_000, 600n), sample(19_000, 5_000n), sample(21_000, 0n)]

const fault = (fields: Partial<Done>): Done => ({
  label: 'kill worker',
  disturbed: 'worker-1',
  startMs: 17_000,
  endMs: 18_000,
  ...fields,
})

const check = (samples = RICH_ENOUGH, done: readonly Done[] = []) =>
  checkUnpaid({ samples, asked: [ASKED], done })

test('an answer may end as unpaid if the credits for one token were missing while it ran', () => {
  expect(check([...RICH_ENOUGH, sample(15_000, 599n)])).toEqual([])
  expect(check()).toEqual(['an-id (a) ended as unpaid although there were credits'])
})

test('a fault of billing, of the bus or of its gateway explains the end, if it was shortly before', () => {
  const billing = { label: 'kill billing', disturbed: 'billing-1' }
  expect(check(RICH_ENOUGH, [fault(billing)])).toEqual([])
  expect(check(RICH_ENOUGH, [fault({ label: 'cut worker→bus' })])).toEqual([])
  expect(check(RICH_ENOUGH, [fault({ label: 'freeze gateway', disturbed: 'gateway-1' })])).toEqual([])
  expect(check(RICH_ENOUGH, [fault({ label: 'freeze gateway', disturbed: 'gateway-2' })])).toHaveLength(1)
  expect(check(RICH_ENOUGH, [fault({})])).toHaveLength(1)
  expect(check(RICH_ENOUGH, [fault({ ...billing, startMs: 9_000, endMs: 11_000 })])).toHaveLength(1)
})

test('a balance below zero is a problem', () => {
  expect(check([sample(15_000, -1n)])).toEqual(['account poor has -1 nano-credits'])
})
