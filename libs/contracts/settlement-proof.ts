import { createHmac, createSecretKey } from 'node:crypto'
import type { Settlement } from './settlement.ts'

/**
 * Proofs that keep the right to settle a hold with billing and with the gateway that made the reservation.
 *
 * A receipt, as billing signs it, is `<payload>.<mac>`. Billing gives it to the gateway over gRPC. The MAC is the hold's
 * secret: it is never written to Redis, which other processes can read. In Redis a proof, which is an HMAC with this
 * secret, is in the place of the MAC. Billing computes the secret again from the payload. There are two proofs:
 *
 * - `proveSettlement`: in the settlement of the gateway. It covers the id, the outcome and the usage, so it is of no use
 *   for another settlement.
 * - `toOrphanReceipt`: in the job, where workers read it. It names the gateway. It proves nothing but that the hold
 *   belongs to this gateway, and billing accepts it only after the death of the gateway, for a settlement free of charge.
 */
export type Proved = Pick<
  Settlement,
  'id' | 'epoch' | 'outcome' | 'promptTokens' | 'cachedTokens' | 'completionTokens'
>

/** The length of the MAC and of the proofs: half of an HMAC-SHA256, which is strong enough (RFC 2104, section 5). */
export const PROOF_BYTES = 16

/** Returns the receipt with the proof of the settlement; an empty text for an empty receipt. */
export const proveSettlement = (receipt: string, settlement: Proved) =>
  withProof(receipt, (mac) => proofOfSettlement(mac, settlement))

/** Returns the receipt with the proof that the hold belongs to this gateway; an empty text for an empty receipt. */
export const toOrphanReceipt = (receipt: string, gateway: string) =>
  withProof(receipt, (mac) => proofOfOrphan(mac, gateway))

export const proofOfSettlement = (mac: Buffer, settlement: Proved) =>
  proofOf(
    mac,
    [
      'settlement',
      settlement.id,
      settlement.epoch,
      settlement.outcome,
      settlement.promptTokens,
      settlement.cachedTokens,
      settlement.completionTokens,
    ].join(' '),
  )

export const proofOfOrphan = (mac: Buffer, gateway: string) => proofOf(mac, `orphan of ${gateway}`)

function withProof(receipt: string, prove: (mac: Buffer) => Buffer): string {
  const [payload = '', mac] = receipt.split('.')
  return mac === undefined ? '' : `${payload}.${prove(Buffer.from(mac, 'base64url')).toString('base64url')}`
}

/** `createHmac` takes three times as long if it gets the bytes of a key instead of a key. */
const proofOf = (mac: Buffer, text: string) =>
  createHmac('sha256', createSecretKey(mac)).update(text).digest().subarray(0, PROOF_BYTES)
