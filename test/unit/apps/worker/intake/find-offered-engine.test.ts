import { expect, test } from 'vitest'
import { findOfferedEngine } from '#apps/worker/intake/find-offered-engine.ts'

const engine = (name: string, fields: { model?: string; ready?: boolean; running?: number } = {}) => ({
  name,
  state: () => ({
    model: 'm',
    ready: true,
    slots: 2,
    running: 0,
    meanGenerationMs: null,
    slotTokensPerS: null,
    contextWindow: 1,
    ...fields,
  }),
})

const find = (...engines: ReturnType<typeof engine>[]) => findOfferedEngine(engines, 'm')?.name

test('an offer is for a ready engine of its model', () => {
  expect(find(engine('other', { model: 'o' }), engine('lost', { ready: false }), engine('ready'))).toBe(
    'ready',
  )
  expect(find(engine('lost', { ready: false }))).toBeUndefined()
})

test('an engine with a free slot gets the offer before a full one, and without any it waits for the first', () => {
  const full = engine('full', { running: 2 })
  expect(find(full, engine('free', { running: 1 }))).toBe('free')
  expect(find(full, engine('also full', { running: 2 }))).toBe('full')
})
