import { expect, test } from 'vitest'
import { createProgress } from '#apps/gateway/generation/measure/progress.ts'

const CLAIM = { promptTokens: 30, after: 0, guided: false }
const REPORTED = { promptTokens: 31, cachedTokens: 40, completionTokens: 12, reasoningTokens: 4 }

const LOST = { wasHandedBack: false }
const HANDED_BACK = { wasHandedBack: true }

test('the prompt counts once, as the first worker counted it, and cached tokens as the first run found them', () => {
  const progress = createProgress('chat')
  progress.claimed(CLAIM)
  progress.promptCached(16)
  progress.claimed({ promptTokens: 31, after: 5, guided: false })
  progress.promptCached(32)
  expect(progress.complete(REPORTED)).toEqual({ ...REPORTED, promptTokens: 30, cachedTokens: 16 })
})

test('a continued run’s cache is not charged as cached: it includes the output', () => {
  const progress = createProgress('chat')
  progress.claimed(CLAIM)
  progress.claimed({ ...CLAIM, after: 5 })
  expect(progress.complete(REPORTED).cachedTokens).toBe(0)
})

test('an undisturbed run reports its cached tokens at its end', () => {
  const progress = createProgress('chat')
  progress.claimed(CLAIM)
  expect(progress.complete({ ...REPORTED, cachedTokens: 16 }).cachedTokens).toBe(16)
})

test('a caller who leaves pays nothing before the claim, then the prompt and what was received', () => {
  const progress = createProgress('chat')
  expect(progress.received(0)).toMatchObject({ promptTokens: 0, completionTokens: 0 })
  progress.claimed(CLAIM)
  expect(progress.received(7)).toMatchObject({ promptTokens: 30, completionTokens: 7 })
})

test('of an embedding the inputs count whose vectors were received', () => {
  const progress = createProgress('embedding')
  progress.claimed(CLAIM)
  progress.vectorsReceived(11)
  expect(progress.received(0)).toMatchObject({ promptTokens: 11, completionTokens: 0 })
})

test('epochs without output are counted in a row', () => {
  const progress = createProgress('chat')
  progress.epochLost(LOST)
  progress.claimed(CLAIM)
  progress.epochLost(LOST)
  expect(progress.fruitlessEpochs()).toBe(2)
  progress.claimed(CLAIM)
  progress.outputSeen()
  progress.epochLost(LOST)
  expect(progress.fruitlessEpochs()).toBe(0)
})

test('an epoch that was handed back before its engine was called is not fruitless', () => {
  const progress = createProgress('chat')
  progress.epochLost(HANDED_BACK)
  expect(progress.fruitlessEpochs()).toBe(0)
  progress.claimed(CLAIM)
  progress.epochLost(HANDED_BACK)
  expect(progress.fruitlessEpochs()).toBe(1)
})
