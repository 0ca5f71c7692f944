import { setImmediate as nextTurn } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { createClaimInRoom } from '#apps/worker/run/room/claim-in-room.ts'
import { createPrefills } from '#apps/worker/run/room/prefills.ts'
import { createQuarantine } from '#apps/worker/run/room/quarantine.ts'
import type { Claim } from '#libs/generation-record/generation-record.ts'

const LEFT: Claim = { status: 'nothing', leavesUnserved: true }
const GOT: Claim = { status: 'incomplete', id: 'one', epoch: 1, gateway: 'gateway', stream: 1 }

/** Sets up a worker whose claims are answered by hand. A look makes two claims, like a worker with two free slots. */
function setUp(kind: 'chat' | 'embedding') {
  const offered: string[][] = []
  const answers: ((answer: Claim) => void)[] = []
  let looks = 0
  const look = () => {
    looks += 1
    void claim()
    void claim()
  }
  const prefills = createPrefills(10_000, look)
  const quarantine = createQuarantine({ nowMs: () => 0, onRoom: look })
  const claim = createClaimInRoom({
    features: [kind],
    prefills: kind === 'chat' ? prefills : null,
    quarantine,
    claim: async (features) => {
      offered.push([...features])
      return await new Promise((resolve) => answers.push(resolve))
    },
    look,
  })
  /** Answers all claims, the first one with `first`, in this order, and lets all that follows from the answers happen. */
  async function answer(order: 'first' | 'last', first: Claim = LEFT) {
    const open = answers.splice(0).map((resolve, at) => () => resolve(at === 0 ? first : LEFT))
    for (const resolve of order === 'first' ? open : open.toReversed()) resolve()
    await nextTurn()
    await nextTurn()
  }
  return { quarantine, offered, answer, look, looks: () => looks }
}

test.each(['first', 'last'] as const)(
  'what no claim of this worker can get is not claimed again and again (%s claim answered first)',
  async (order) => {
    for (const kind of ['chat', 'embedding'] as const) {
      const { answer, look, looks } = setUp(kind)
      look()
      for (let round = 0; round < 10; round += 1) await answer(order)
      expect(looks()).toBe(1)
    }
  },
)

test('an embedding in quarantine keeps the others waiting without a claim, until it ends', async () => {
  const { quarantine, answer, look, looks, offered } = setUp('embedding')
  const run = {
    job: { id: 'one', request: { kind: 'embedding' } },
    engineDeaths: 1,
    output: { tokens: 0, mostTokens: null, firstMs: null, lastMs: null },
    hasOutput: () => false,
    blame: 'none',
  } as const
  const open = { ...run }
  quarantine.open(open)
  look()
  for (let round = 0; round < 10; round += 1) await answer('first')
  expect(looks()).toBe(1)
  expect(offered).toEqual([['embedding'], ['embedding']])
  quarantine.end(open)
  expect(looks()).toBe(2)
  expect(offered.at(2)).toEqual(['embedding', 'alone'])
})

test('one claim offers all words that have room, the others none', async () => {
  const { look, offered, answer, looks } = setUp('chat')
  look()
  expect(offered).toEqual([['chat', 'long', 'alone'], ['chat']])
  // The claim with the place gets a generation, and the other one has left some that need a place.
  await answer('last', GOT)
  expect(looks()).toBe(2)
  expect(offered.slice(2)).toEqual([['chat', 'long', 'alone'], ['chat']])
})
