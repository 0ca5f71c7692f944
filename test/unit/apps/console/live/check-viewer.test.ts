import { expect, test } from 'vitest'
import { createCheckViewer } from '#apps/console/live/check-viewer.ts'

/**
 * `answer` is the status of billing's next answer, or null if billing does not answer. `asked` has the received tokens.
 */
function setUp() {
  const state: { nowMs: number; answer: number | null } = { nowMs: 0, answer: 200 }
  const asked: string[] = []
  const check = createCheckViewer({
    async askWhoami(token) {
      asked.push(token)
      if (state.answer === null) throw new Error('no answer')
      return state.answer
    },
    nowMs: () => state.nowMs,
  })
  return { state, asked, check }
}

test.each([
  [200, 'accepted'],
  [401, 'refused'],
  [403, 'refused'],
  [429, 'not-known'],
  [500, 'not-known'],
  [null, 'not-known'],
] as const)('when billing answers %s the viewer is %s', async (answer, expected) => {
  const { state, check } = setUp()
  state.answer = answer
  expect(await check('a')).toBe(expected)
})

test('an answer counts for 5 s and no longer', async () => {
  const { state, asked, check } = setUp()
  expect(await check('a')).toBe('accepted')
  state.answer = 401
  state.nowMs = 4_999
  expect(await check('a')).toBe('accepted')
  state.nowMs = 5_000
  expect(await check('a')).toBe('refused')
  expect(asked).toEqual(['a', 'a'])
})

test('several questions at once reach billing once, and one token says nothing of another', async () => {
  const { state, asked, check } = setUp()
  expect(await Promise.all([check('a'), check('a'), check('a')])).toEqual([
    'accepted',
    'accepted',
    'accepted',
  ])
  state.answer = 401
  expect(await check('b')).toBe('refused')
  expect(asked).toEqual(['a', 'b'])
})

test('a wrong token reaches billing once in 5 s', async () => {
  const { state, asked, check } = setUp()
  state.answer = 401
  for (let tries = 0; tries < 10; tries += 1) expect(await check('wrong')).toBe('refused')
  expect(asked).toEqual(['wrong'])
})

test('no more than a thousand tokens are remembered, and the others are asked about each time', async () => {
  const { state, asked, check } = setUp()
  for (let index = 0; index < 1_000; index += 1) await check(`token ${index}`)
  await check('late')
  await check('late')
  expect(asked.filter((token) => token === 'late')).toHaveLength(2)
  // The old answers are forgotten, so there is room again.
  state.nowMs = 5_000
  await check('late')
  await check('late')
  expect(asked.filter((token) => token === 'late')).toHaveLength(3)
})
