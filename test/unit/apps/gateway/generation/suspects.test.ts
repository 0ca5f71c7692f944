import { expect, test } from 'vitest'
import { createSuspects } from '#apps/gateway/generation/suspects.ts'

function setUp() {
  const clock = { nowMs: 0 }
  const suspects = createSuspects(() => clock.nowMs)
  const claimedBy = (worker: string, outputSeen = false) => {
    const suspect = suspects.open()
    suspect.claimed(worker)
    if (outputSeen) suspect.outputSeen()
    clock.nowMs += 1
    return suspect
  }
  return { suspects, claimedBy, clock }
}

test('a death blames one generation: the last one claimed of those without output', () => {
  const { suspects, claimedBy } = setUp()
  const talking = claimedBy('w1', true)
  const silent = claimedBy('w1')
  const newest = claimedBy('w1')
  const elsewhere = claimedBy('w2')
  suspects.workerDied('w1')
  expect([talking, silent, newest, elsewhere].map((suspect) => suspect.deaths())).toEqual([0, 0, 1, 0])
})

test('without a silent one the youngest output is blamed, within 2 s of its first', () => {
  const { suspects, claimedBy, clock } = setUp()
  const old = claimedBy('w1', true)
  clock.nowMs += 1_990
  const young = claimedBy('w1', true)
  suspects.workerDied('w1')
  expect([old.deaths(), young.deaths()]).toEqual([0, 1])
  clock.nowMs += 5_000
  suspects.workerDied('w1')
  expect([old.deaths(), young.deaths()]).toEqual([0, 1])
})

test('a death that is noticed twice is counted once', () => {
  const { suspects, claimedBy } = setUp()
  const innocent = claimedBy('w1')
  const blamed = claimedBy('w1')
  suspects.workerDied('w1')
  suspects.workerDied('w1')
  blamed.claimed('w2')
  suspects.workerDied('w1')
  expect([innocent.deaths(), blamed.deaths()]).toEqual([0, 1])
  suspects.workerDied('w2')
  expect(blamed.deaths()).toBe(2)
})

test('output of an earlier epoch clears for good, and an ended generation is not blamed', () => {
  const { suspects, claimedBy, clock } = setUp()
  const moved = claimedBy('w1', true)
  clock.nowMs += 10_000
  moved.claimed('w2')
  const ended = claimedBy('w2')
  ended.close()
  suspects.workerDied('w2')
  expect([moved.deaths(), ended.deaths()]).toEqual([0, 0])
})

test('a worker’s own report counts like a death', () => {
  const { suspects } = setUp()
  const suspect = suspects.open()
  suspect.blame()
  suspect.blame()
  expect(suspect.deaths()).toBe(2)
})
