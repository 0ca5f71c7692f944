import { randomUUID } from 'node:crypto'
import type { Claim, GenerationRecord } from '#libs/generation-record/generation-record.ts'
import type { Serves } from '#libs/generation-record/requirements.ts'
import { untilAnswered } from '#libs/lifecycle/until-answered.ts'

/** Claims the next generation that this worker can run. Rejects if the record gives no answer. */
export type ClaimGeneration = (model: string, serves: Serves) => Promise<Claim>

const PAUSES = { firstPauseMs: 50, lastPauseMs: 500 }
/**
 * If a claim has no answer after this time, the worker gives it up. The time is longer than a stall of Redis or of this
 * process. The claim may have succeeded although its answer was lost, because the worker has lost its connection to the
 * queue Redis. While the worker reports such a claim to the gateway, no other worker can run the generation. Once it no
 * longer reports the claim, the gateway queues the generation again.
 */
const GIVE_UP_AFTER_MS = 30_000

/**
 * A claim whose answer was lost may have succeeded. So the claim is repeated with the same nonce, for which the record
 * returns the same generation, until an answer arrives or the claim is given up. Meanwhile `isClaiming` lets the worker
 * report the claim to a gateway that asks.
 */
export function createClaimGeneration(deps: {
  record: Pick<GenerationRecord, 'claim'>
  worker: string
  /** The dead gateways. A claim that meets one of their generations settles it. */
  buried: () => readonly string[]
  nowMs: () => number
}): { claim: ClaimGeneration; isClaiming: (nonce: string) => boolean } {
  const { record, worker, buried, nowMs } = deps
  const open = new Set<string>()

  return {
    async claim(model, serves) {
      const nonce = randomUUID()
      const giveUpAtMs = nowMs() + GIVE_UP_AFTER_MS
      const ask = async () => await record.claim(model, { worker, nonce, serves, buried: buried() })
      open.add(nonce)
      try {
        return await untilAnswered(ask, { ...PAUSES, giveUp: () => nowMs() >= giveUpAtMs })
      } finally {
        // The caller of `claim` opens the run in its next step, and this process reads no message in between. So if a
        // gateway asks whether this worker runs the generation, the worker finds either the claim or the run.
        open.delete(nonce)
      }
    },
    isClaiming: (nonce) => open.has(nonce),
  }
}
