import { expect, test } from 'vitest'
import { createClaimGeneration } from '#apps/worker/intake/claim-generation.ts'
import type { Claim, Claiming } from '#libs/generation-record/generation-record.ts'

const SERVES = { features: ['chat'], window: 4_096 }
const NOTHING: Claim = { status: 'nothing' }

function setUp(answers: (Claim | Error)[], clock: () => number = Date.now) {
  const asked: Claiming[] = []
  const known: boolean[] = []
  const claims = createClaimGeneration({
    record: {
      async claim(_model, claiming) {
        asked.push(claiming)
        known.push(claims.isClaiming(claiming.nonce))
        const answer = answers.shift()
        if (answer === undefined || answer instanceof Error) throw answer ?? new Error('no more answers')
        return answer
      },
    },
    worker: 'worker-1',
    buried: () => ['gateway-9'],
    nowMs: clock,
  })
  return { claims, asked, known }
}

test('a claim whose answer was lost is repeated under its nonce, which is known as open until then', async () => {
  const { claims, asked, known } = setUp([new Error('Command timed out'), NOTHING])
  expect(await claims.claim('demo-chat', SERVES)).toEqual(NOTHING)
  const [first, second] = asked
  expect(first).toMatchObject({ worker: 'worker-1', serves: SERVES, buried: ['gateway-9'] })
  expect(second?.nonce).toBe(first?.nonce)
  expect([known, claims.isClaiming(first?.nonce ?? '')]).toEqual([[true, true], false])
})

test('every claim has a nonce of its own', async () => {
  const { claims, asked } = setUp([NOTHING, NOTHING])
  await claims.claim('demo-chat', SERVES)
  await claims.claim('demo-chat', SERVES)
  expect(new Set(asked.map(({ nonce }) => nonce)).size).toBe(2)
})

test('a claim that is never answered is given up after 30 s, and denied from then on', async () => {
  let now = 0
  const { claims, asked } = setUp([new Error('Connection is closed.')], () => (now += 40_000))
  await expect(claims.claim('demo-chat', SERVES)).rejects.toThrow('Connection is closed.')
  expect(claims.isClaiming(asked[0]?.nonce ?? '')).toBe(false)
})
