import { createHmac, timingSafeEqual } from 'node:crypto'
import { z } from 'zod'

const Int64 = z
  .string()
  .regex(/^\d{1,19}$/)
  .transform(BigInt)

/**
 * What billing granted, in its own words and signed by it. A settlement carries the receipt of its hold, so that a
 * database which was restored from a backup can charge for reservations that it has forgotten.
 */
const Receipt = z.strictObject({
  reservationId: z.uuid(),
  accountId: z.uuid(),
  keyId: z.uuid(),
  model: z.string(),
  inputTokens: z.int(),
  /** Wanted. */
  outputTokens: z.int(),
  deadlineMs: z.int(),
  priceVersion: Int64,
  grantedTokens: z.int(),
  amountNano: Int64,
  clamped: z.boolean(),
})
export type Receipt = Readonly<z.infer<typeof Receipt>>

export type Receipts = {
  sign(receipt: Receipt): string
  /** Null when it was not signed here, or is of another reservation. */
  verify(text: string, reservationId: string): Receipt | null
}

/** Half of an HMAC-SHA256 is as strong as a receipt needs (RFC 2104, section 5). */
const MAC_BYTES = 16

/**
 * The first secret signs, all of them verify: so that a secret can be replaced while receipts of the old one are
 * under way. Form: base64url of a JSON object, a dot, base64url of its MAC.
 */
export function createReceipts(secrets: readonly [string, ...string[]]): Receipts {
  const macOf = (secret: string, payload: string) =>
    createHmac('sha256', secret).update(payload).digest().subarray(0, MAC_BYTES)
  return {
    sign(receipt) {
      const fields = {
        ...receipt,
        priceVersion: receipt.priceVersion.toString(),
        amountNano: receipt.amountNano.toString(),
      }
      const payload = Buffer.from(JSON.stringify(fields)).toString('base64url')
      return `${payload}.${macOf(secrets[0], payload).toString('base64url')}`
    },
    verify(text, reservationId) {
      const [payload = '', given = ''] = text.split('.')
      const mac = Buffer.from(given, 'base64url')
      const isOurs = secrets.some(
        (secret) => mac.length === MAC_BYTES && timingSafeEqual(macOf(secret, payload), mac),
      )
      if (!isOurs) return null
      const receipt = Receipt.parse(JSON.parse(Buffer.from(payload, 'base64url').toString()))
      return receipt.reservationId === reservationId ? receipt : null
    },
  }
}
