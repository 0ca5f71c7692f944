import { expect, test } from 'vitest'
import { scaleGateways } from '#apps/scaler/scale-gateways.ts'

const POOL = { deployment: 'gateway', min: 2, max: 10, streamsPerPod: 100 }

function targetOf(
  target: number,
  load: { openStreams: number; loopDelayMs?: number } | null,
  lastDownMs = 0,
) {
  const gateways = load === null ? null : { loopDelayMs: 1, ...load }
  return scaleGateways({ pool: POOL, state: { target, lastDownMs }, load: gateways, nowMs: 300_000 }).target
}

test('each gateway has its share of the streams, within minimum and maximum', () => {
  expect(targetOf(2, { openStreams: 401 })).toBe(5)
  expect(targetOf(2, { openStreams: 0 })).toBe(2)
  expect(targetOf(2, { openStreams: 5_000 })).toBe(10)
})

test('late event loops ask for a quarter more', () => {
  expect(targetOf(4, { openStreams: 400, loopDelayMs: 51 })).toBe(5)
  expect(targetOf(4, { openStreams: 400, loopDelayMs: 50 })).toBe(4)
})

test('the number falls by one in five minutes', () => {
  expect(targetOf(6, { openStreams: 200 })).toBe(5)
  expect(targetOf(6, { openStreams: 200 }, 1)).toBe(6)
})

test('without reports of gateways the number stays', () => {
  expect(targetOf(6, null)).toBe(6)
})
