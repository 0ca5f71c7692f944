import { expect, test } from 'vitest'
import { createStartWaits } from '#apps/gateway/generation/admission/start-waits.ts'
import type { ModelScale } from '#libs/event-bus/scaling-signals.ts'
import { generationCall } from '../../../../../support/generation-call.ts'

function setUp(options: { state?: ModelScale['state'] | null; etaMs?: number | null } = {}) {
  const now = {
    ms: 1_000,
    served: false,
    sold: true,
    state: options.state === undefined ? 'warming' : options.state,
  }
  const log: string[] = []
  const waits = createStartWaits({
    picture: {
      find: () =>
        now.served
          ? { slots: 4, running: 0, meanGenerationMs: null, slotTokensPerS: null, contextWindow: 4_096 }
          : null,
    },
    modelStates: {
      find: (model) =>
        now.state === null
          ? null
          : { model, state: now.state, ready: 0, target: 1, etaMs: options.etaMs ?? null },
    },
    demand: { awaitStart: (model) => log.push(`await ${model}`) },
    isSold: () => now.sold,
    most: 8,
    onEnd: (model, how) => log.push(`${model} ${how}`),
    nowMs: () => now.ms,
  })
  const { caller } = generationCall()
  const callOf = (account = 'account-1') =>
    generationCall({ startWaitS: 30, caller: { ...caller, accountId: account } })
  return { waits, now, log, callOf }
}

test('it admits a request that asks to wait while its model is warming or stopped', () => {
  const { waits, callOf } = setUp()
  expect(waits.admits(callOf())).toBe(true)
  expect(waits.admits(generationCall({ startWaitS: null }))).toBe(false)
  expect(setUp({ state: 'stopped' }).waits.admits(callOf())).toBe(true)
  for (const state of [null, 'serving', 'starved', 'off'] as const) {
    expect([state, setUp({ state }).waits.admits(callOf())]).toEqual([state, false])
  }
})

test('one account gets a quarter of a model’s places, and each end frees one', () => {
  const { waits, log, callOf } = setUp()
  const enter = (account: string) => {
    const call = callOf(account)
    return waits.admits(call) ? waits.enter(call) : null
  }
  const first = enter('a')
  first?.begin()
  const second = enter('a')
  expect(second).not.toBeNull()
  expect(enter('a')).toBeNull()
  for (const account of ['b', 'c', 'd']) for (const _ of [1, 2]) expect(enter(account)).not.toBeNull()
  // The account with the most gives up its youngest wait.
  const late = enter('e')
  expect([late?.leftMs(), first?.leftMs()]).toEqual([30_000, 30_000])
  expect(second?.leftMs()).toBe(0)
  expect(enter('f')).not.toBeNull()
  expect(enter('f')).toBeNull()
  expect(waits.counts()).toEqual(new Map([['demo-chat', 8]]))
  expect(log).toEqual(['await demo-chat', 'demo-chat refused', 'demo-chat refused'])
  first?.end('started')
  first?.end('left')
  expect(log.slice(3)).toEqual(['demo-chat started'])
  expect(enter('e')).not.toBeNull()
})

test('the places of all models are counted apart, and none is kept without a wait', () => {
  const { waits } = setUp()
  const other = generationCall({ startWaitS: 30, model: { ...generationCall().model, id: 'other' } })
  const entered = [generationCall({ startWaitS: 30 }), other].map(waits.enter)
  expect(waits.counts()).toEqual(
    new Map([
      ['demo-chat', 1],
      ['other', 1],
    ]),
  )
  for (const wait of entered) wait.end('failed')
  expect(waits.counts()).toEqual(new Map())
})

test('the time runs from the moment at which the generation is queued', () => {
  const { waits, now, callOf } = setUp()
  const wait = waits.enter(callOf())
  now.ms += 5_000
  expect(wait.leftMs()).toBe(30_000)
  wait.begin()
  now.ms += 10_000
  expect(wait.leftMs()).toBe(20_000)
})

test('a wait that never began is no end of a wait, unless the record refused it', () => {
  const { waits, log, callOf } = setUp()
  waits.enter(callOf()).end('failed')
  expect(log).toEqual([])
  waits.enter(callOf()).end('refused')
  expect(log).toEqual(['demo-chat refused'])
})

test('the client learns of the predicted time until a worker is ready or the wait is over', () => {
  const { waits, now, callOf } = setUp({ etaMs: 12_000 })
  const told: number[] = []
  const call = { ...callOf(), onStartWait: (wait: { limitS: number }) => told.push(wait.limitS) }
  const wait = waits.enter(call)
  expect(told).toEqual([])
  wait.begin()
  expect([told, wait.expectedMs()]).toEqual([[30], 12_000])
  now.served = true
  expect(wait.expectedMs()).toBeNull()
  now.served = false
  wait.end('started')
  expect(wait.expectedMs()).toBeNull()
})

test('the state is that of the workers, the catalog or the scaler', () => {
  const { waits, now, callOf } = setUp()
  const wait = waits.enter(callOf())
  for (const state of ['warming', 'stopped', 'starved', 'off', null] as const) {
    now.state = state
    expect(wait.state()).toBe(state ?? 'unserved')
  }
  now.served = true
  expect(wait.state()).toBe('serving')
  Object.assign(now, { served: false, state: 'warming', sold: false })
  expect(wait.state()).toBe('disabled')
})
