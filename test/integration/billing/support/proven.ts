import { randomUUID } from 'node:crypto'
import type { Settlement } from '#libs/contracts/settlement.ts'
import { proveSettlement } from '#libs/contracts/settlement-proof.ts'
import { receipts, settlement } from './billing-database.ts'

/** Returns a receipt of this reservation whose account billing does not know, so nothing can be charged by it. */
const signReceipt = (reservationId: string) =>
  receipts.sign({
    reservationId,
    accountId: randomUUID(),
    keyId: randomUUID(),
    model: 'chat',
    inputTokens: 0,
    outputTokens: 0,
    deadlineMs: 0,
    priceVersion: 1n,
    inputPriceNano: 0n,
    cachedInputPriceNano: 0n,
    outputPriceNano: 0n,
    grantedTokens: 0,
    amountNano: 0n,
    clamped: false,
  })

/** Returns the content of a receipt that billing has signed for this reservation; null if it is not genuine. */
export const readReceipt = (receipt: string, reservationId: string) =>
  receipts.verify(settlement(reservationId, { receipt }))?.receipt ?? null

/** Returns the settlement with the proof of a gateway, if it has no receipt. */
export const proven = (settlement: Settlement): Settlement => ({
  ...settlement,
  receipt: settlement.receipt ?? proveSettlement(signReceipt(settlement.id), settlement),
})
