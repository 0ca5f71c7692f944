import { expect, test } from 'vitest'
import { createSuspects } from '#apps/gateway/generation/suspects.ts'

function setUp() {
  const suspects = createSuspects()
  function open() {
    const given = { tokens: 0 }
    return { suspect: suspects.open(() => given.tokens), given }
  }
  return { suspects, open }
}

/** Opens a generation that was present at an engine's death in an earlier epoch. */
function openTried(open: ReturnType<typeof setUp>['open']) {
  const opened = open()
  opened.given.tokens = 50
  opened.suspect.epochLost('present')
  opened.given.tokens = 0
  return opened
}

test('presence at deaths is counted, with the most tokens that an epoch gave', () => {
  const { open } = setUp()
  const { suspect, given } = open()
  expect(suspect.engineDeaths()).toEqual({ count: 0, mostTokens: 0 })
  for (const tokens of [40, 90, 10]) {
    given.tokens = tokens
    suspect.epochLost('present')
    suspect.epochLost('none')
  }
  expect(suspect.engineDeaths()).toEqual({ count: 3, mostTokens: 90 })
  expect(suspect.isKiller()).toBe(false)
})

test('who is the suspect of a second death kills engines; of a first one it may be chance', () => {
  const { open } = setUp()
  const { suspect } = open()
  suspect.epochLost('suspect')
  expect(suspect.isKiller()).toBe(false)
  suspect.epochLost('none')
  expect(suspect.isKiller()).toBe(false)
  suspect.epochLost('suspect')
  expect(suspect.isKiller()).toBe(true)
})

test('of a worker’s death only those are suspect that have no token of it, and one that was on trial', () => {
  const { suspects, open } = setUp()
  const [talking, silent, tried, elsewhere] = [open(), open(), openTried(open), openTried(open)]
  talking.given.tokens = 1
  tried.given.tokens = 2
  for (const { suspect } of [talking, silent, tried]) suspect.claimed('w1')
  elsewhere.suspect.claimed('w2')
  suspects.workerDied('w1')
  for (const { suspect } of [talking, silent, tried, elsewhere]) suspect.epochLost(null)
  expect([talking, silent, tried, elsewhere].map(({ suspect }) => suspect.engineDeaths().count)).toEqual([
    0, 1, 2, 1,
  ])
  expect(tried.suspect.isKiller()).toBe(true)
  expect(silent.suspect.isKiller()).toBe(false)
})

test('a worker’s death with several on trial proves nothing against any', () => {
  const { suspects, open } = setUp()
  const tried = [openTried(open), openTried(open)]
  for (const { suspect } of tried) suspect.claimed('w1')
  suspects.workerDied('w1')
  for (const { suspect } of tried) suspect.epochLost(null)
  expect(tried.map(({ suspect }) => [suspect.engineDeaths().count, suspect.isKiller()])).toEqual([
    [2, false],
    [2, false],
  ])
})

test('one that may wait for its turn, one that has been read, and one that has ended are not concerned', () => {
  const { suspects, open } = setUp()
  const [waits, read, ended] = [openTried(open), openTried(open), openTried(open)]
  waits.suspect.claimFound('w1')
  read.suspect.claimed('w1')
  read.given.tokens = 3
  ended.suspect.claimed('w1')
  ended.suspect.close()
  suspects.workerDied('w1')
  for (const { suspect } of [waits, read, ended]) suspect.epochLost(null)
  expect([waits, read, ended].map(({ suspect }) => suspect.engineDeaths().count)).toEqual([1, 1, 1])
})

test('a new one whose claim was only found may have killed the worker, and a death that is noticed twice counts once', () => {
  const { suspects, open } = setUp()
  const { suspect } = open()
  suspect.claimFound('w1')
  suspects.workerDied('w1')
  suspects.workerDied('w1')
  suspect.epochLost(null)
  expect(suspect.engineDeaths().count).toBe(1)
  suspects.workerDied('w1')
  suspect.epochLost(null)
  expect(suspect.engineDeaths().count).toBe(1)
})
