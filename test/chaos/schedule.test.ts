import { expect, test } from 'vitest'
import { createRandom } from './random.ts'
import { disturbedBy, drawSchedule, labelOf, type Scope } from './schedule.ts'

const COUNTS = { gateways: 2, workers: 3, billings: 2 }

function draw(seed: number, scopes?: readonly Scope[], hasStandby = false) {
  const options = {
    hasStandby,
    counts: COUNTS,
    faults: 400,
    meanGapMs: 1_000,
    ...(scopes === undefined ? {} : { scopes }),
  }
  return drawSchedule(createRandom(seed, 'round 1'), options)
}

test('a schedule follows from its seed', () => {
  expect(draw(7)).toEqual(draw(7))
  expect(draw(7)).not.toEqual(draw(8))
})

test('a schedule is in the order of time and has every kind of fault', () => {
  const planned = draw(1)
  const times = planned.map(({ atMs }) => atMs)
  expect(times).toEqual(times.toSorted((a, b) => a - b))
  const kinds = new Set(planned.map(({ fault }) => fault.kind))
  for (const kind of [
    'kill',
    'terminate',
    'freeze',
    'cut',
    'refuse',
    'delay',
    'stall',
    'half-open',
    'engine',
    'step-clock',
    'bad-entry',
    'lose-jobs',
    'double-jobs',
    'read-only',
  ])
    expect(kinds).toContain(kind)
  const labels = new Set(planned.map(({ fault }) => labelOf(fault)))
  for (const part of ['worker', 'gateway', 'billing', 'queue', 'bus', 'postgres', 'simulator'])
    expect(Array.from(labels).some((label) => label.includes(` ${part}`))).toBe(true)
})

test('a standby is promoted only where there is one', () => {
  const kinds = (hasStandby: boolean) => draw(1, undefined, hasStandby).map(({ fault }) => fault.kind)
  expect(kinds(true)).toContain('fail-over')
  expect(kinds(false)).not.toContain('fail-over')
})

test('a schedule leaves the parts alone that it may not disturb', () => {
  for (const { fault } of draw(2, ['workers'])) expect(disturbedBy(fault)).toMatch(/^worker-[123]$/u)
})

test('the draws of a fork do not depend on other draws', () => {
  const [one, other] = [createRandom(3), createRandom(3)]
  one.unit()
  expect(one.fork('a').unit()).toBe(other.fork('a').unit())
  expect(one.fork('a').unit()).not.toBe(one.fork('b').unit())
})
