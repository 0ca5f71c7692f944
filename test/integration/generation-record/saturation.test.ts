import { expect, test } from 'vitest'
import type { Enqueueing } from '#libs/generation-record/generation-record.ts'
import { NO_SEATS } from '#libs/generation-record/seats.ts'
import {
  generationClaim,
  generationJob,
  generationEnqueue,
  enqueuePlace,
} from '../../support/generation-job.ts'
import { createRandom } from '../../support/random.ts'
import { GATEWAY, record, settlementOf, useRecord } from './record-under-test.ts'

useRecord()

/** Much shorter than the waits, as in a queue that is always long. */
const HELD_MS = 20

type Turn = {
  readonly caller: number
  readonly arrivedAt: number
  readonly job: ReturnType<typeof generationJob>
}
type Slot = { readonly worker: string; turn: Turn | null }

/**
 * Simulates callers who always wait or run, at workers whose slots are always taken, with the real scripts. In each step a
 * slot becomes free: its caller waits again at once, and the worker claims its next generation. `accountOf` returns the
 * account of a caller. A caller with `hasHome` has a conversation. The calls of `isBrief` end at once. Returns for each claim of the last two thirds its caller,
 * whether the worker had the caller's turn before, and the wait, in claims.
 */
async function saturate(options: {
  workers: number
  slots: number
  callers: number
  steps: number
  accountOf: (caller: number) => string
  hasHome: (caller: number) => boolean
  isBrief?: (caller: number) => boolean
}) {
  const { workers, slots, callers, steps, accountOf, hasHome, isBrief = () => false } = options
  const random = createRandom(7)
  const { model } = generationJob()
  const turns = new Map<string, Turn>()
  const homes = new Map<number, string>()
  const all: Slot[] = Array.from({ length: workers * slots }, (_, at) => ({
    worker: `worker-${at % workers}`,
    turn: null,
  }))
  const claims: { caller: number; atHome: boolean; waited: number }[] = []

  async function waits(caller: number, arrivedAt: number): Promise<void> {
    const job = generationJob({ model })
    const seat = [`seat-${caller}`]
    const seats: Enqueueing['seats'] = hasHome(caller)
      ? { taken: seat, sought: seat, otherwise: null, heldMs: HELD_MS }
      : NO_SEATS
    turns.set(job.id, { caller, arrivedAt, job })
    const place = enqueuePlace({ accountId: accountOf(caller), cost: 100, mostAhead: 1e9 })
    expect(await record.enqueue(await generationEnqueue(job, { seats, place }))).toMatchObject({
      status: 'waiting',
    })
  }

  async function end({ job, caller }: Turn, at: number): Promise<void> {
    void record.settle(model, settlementOf(job), GATEWAY)
    await waits(caller, at)
  }

  for (let caller = 0; caller < callers; caller += 1) await waits(caller, 0)
  for (let at = 0; at < steps + all.length; at += 1) {
    const slot = at < all.length ? all[at] : all[Math.floor(random() * all.length)]
    if (slot === undefined) throw new Error('there is no slot')
    if (slot.turn !== null) await end(slot.turn, at)
    const claimed = await record.claim(model, generationClaim({ worker: slot.worker }))
    if (claimed.status !== 'claimed') throw new Error('nothing waits')
    const turn = turns.get(claimed.id)
    if (turn === undefined) throw new Error('an unknown generation was claimed')
    turns.delete(claimed.id)
    const { caller, arrivedAt } = turn
    slot.turn = isBrief(caller) ? null : turn
    if (isBrief(caller)) await end(turn, at)
    claims.push({ caller, atHome: homes.get(caller) === slot.worker, waited: at - arrivedAt })
    homes.set(caller, slot.worker)
  }
  return claims.slice(Math.floor(claims.length / 3))
}

function quantile(numbers: readonly number[], part: number): number {
  const sorted = numbers.toSorted((a, b) => a - b)
  return sorted[Math.floor(sorted.length * part)] ?? NaN
}

test('at full load of 64 workers most turns come home, and no wait is much longer than in the fair order', async () => {
  const [workers, slots, callers] = [64, 4, 768]
  const claims = await saturate({
    workers,
    slots,
    callers,
    steps: 3_000,
    accountOf: (caller) => `account-${caller}`,
    hasHome: () => true,
  })
  const atHome = claims.filter((claim) => claim.atHome).length / claims.length
  const waits = claims.map(({ waited }) => waited)
  const fairWait = callers - workers * slots
  expect(atHome).toBeGreaterThanOrEqual(0.7)
  expect(quantile(waits, 0.99)).toBeLessThanOrEqual(2.2 * fairWait)
})

test('a flood of invented conversations delays a quiet account by little', async () => {
  const QUIET = 0
  const measure = async (isFloodHomed: boolean) => {
    const claims = await saturate({
      workers: 16,
      slots: 4,
      callers: 193,
      steps: 1_500,
      accountOf: (caller) => (caller === QUIET ? 'quiet' : `flood-${caller % 3}`),
      hasHome: (caller) => isFloodHomed && caller !== QUIET,
      isBrief: (caller) => caller === QUIET,
    })
    const waits = claims.filter(({ caller }) => caller === QUIET).map(({ waited }) => waited)
    expect(waits.length).toBeGreaterThan(50)
    return quantile(waits, 0.9)
  }
  expect(await measure(true)).toBeLessThanOrEqual(2 * (await measure(false)))
})
