import type { Settlement } from '#libs/contracts/settlement.ts'
import type { Receipts } from '../money/receipts.ts'

/** Returns why nothing may be settled by this settlement; null if it may. Rejects when Redis does not answer. */
export type CheckProof = (settlement: Settlement) => Promise<string | null>

const FREE: readonly Settlement['outcome'][] = ['fault', 'never-ran']

/**
 * Processes that may write to Redis could settle the holds of others. So a settlement needs the proof of the gateway that
 * has the hold. A worker that settles for a dead gateway has no such proof, only that the hold is the gateway's: its
 * settlement must be free, and the gateway's liveness key must be gone.
 */
export function createCheckProof(deps: {
  receipts: Pick<Receipts, 'verify'>
  isGatewayAlive: (gateway: string) => Promise<boolean>
}): CheckProof {
  return async (settlement) => {
    const proof = deps.receipts.verify(settlement)
    if (proof === null) return 'no proof of the gateway that has the hold'
    if (proof.orphanOf === null) return null
    const { outcome, promptTokens, completionTokens } = settlement
    // Tokens count in the rate of a key, even if they cost nothing.
    if (!FREE.includes(outcome) || promptTokens + completionTokens > 0)
      return 'a worker settled with a cost or usage'
    return (await deps.isGatewayAlive(proof.orphanOf)) ? 'a worker settled for a gateway that is alive' : null
  }
}
