import { expect, test } from 'vitest'
import { NO_SWITCHES } from '#apps/scaler/decide/keda-switches.ts'
import { scaleGateways } from '#apps/scaler/scale-gateways.ts'

const POOL = { deployment: 'gateway', min: 2, max: 10, streamsPerPod: 100 }

function targetOf(
  target: number,
  load: { openStreams: number; loopDelayMs?: number } | null,
  lastDownMs = 0,
) {
  const gateways = load === null ? null : { loopDelayMs: 1, ...load }
  const rest = { switches: NO_SWITCHES, replicas: target, nowMs: 300_000 }
  return scaleGateways({ pool: POOL, state: { target, lastDownMs }, load: gateways, ...rest }).target
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

test('while KEDA is paused, the number stays where it is, and goes on from there', () => {
  const paused = (switches: object, openStreams: number, replicas = 6) =>
    scaleGateways({
      pool: POOL,
      state: { target: 7, lastDownMs: 0 },
      load: { openStreams, loopDelayMs: 1 },
      switches: { ...NO_SWITCHES, ...switches },
      replicas,
      nowMs: 300_000,
    })
  const both = { isOutPaused: true, isInPaused: true }
  expect(paused(both, 0)).toEqual({ target: 6, lastDownMs: 300_000 })
  expect(paused(both, 900, 12).target).toBe(12)
  expect(paused({ isInPaused: true }, 0)).toEqual({ target: 7, lastDownMs: 300_000 })
  expect(paused({ isInPaused: true }, 0, 9).target).toBe(9)
  expect(paused({ isInPaused: true }, 900).target).toBe(9)
  expect(paused({ isOutPaused: true }, 900).target).toBe(6)
  expect(paused({ isOutPaused: true }, 0).target).toBe(5)
})
