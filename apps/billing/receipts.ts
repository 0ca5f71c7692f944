import { createHmac, timingSafeEqual } from 'node:crypto'
import { z } from 'zod'
import type { HoldPrices } from '#libs/billing-client/billing-calls.ts'

const Int64 = z
  .string()
  .regex(/^\d{1,19}$/)
  .transform(BigInt)

const Grant = z.strictObject({
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

const Prices = z
  .string()
  .transform((text) => text.split('-'))
  .pipe(z.tuple([Int64, Int64, Int64]))
  .transform(([inputPriceNano, cachedInputPriceNano, outputPriceNano]) => ({
    inputPriceNano,
    cachedInputPriceNano,
    outputPriceNano,
  }))

/**
 * A signed record of a hold. A settlement carries the receipt of its hold, so that billing can charge for reservations
 * that a restore from a backup has removed from the database.
 */
export type Receipt = Readonly<z.infer<typeof Grant>> & {
  /**
   * Of `priceVersion`, whose number may belong to another price after a restore. Null in receipts of versions that did
   * not sign them.
   */
  readonly prices: HoldPrices | null
}

export type Receipts = {
  sign(receipt: Receipt): string
  /** Null when the signature is wrong, or the receipt is of another reservation. */
  verify(text: string, reservationId: string): Receipt | null
}

/** Half of an HMAC-SHA256 is as strong as a receipt needs (RFC 2104, section 5). */
const MAC_BYTES = 16

/**
 * The first secret signs, and all of them verify: a secret can be replaced while receipts of the old one are still in
 * use. The fields of a receipt, separated by dots: base64url of the grant as a JSON object, base64url of its MAC, the
 * three prices as `input-cached-output`, base64url of the MAC of everything before. A receipt without prices ends after
 * the first MAC.
 */
export function createReceipts(secrets: readonly [string, ...string[]]): Receipts {
  const macOf = (secret: string, signed: string) =>
    createHmac('sha256', secret).update(signed).digest().subarray(0, MAC_BYTES)
  const withMac = (signed: string) => `${signed}.${macOf(secrets[0], signed).toString('base64url')}`
  const isOurs = (signed: string, given: string) => {
    const mac = Buffer.from(given, 'base64url')
    return secrets.some((secret) => mac.length === MAC_BYTES && timingSafeEqual(macOf(secret, signed), mac))
  }
  return {
    sign({ prices, ...grant }) {
      const fields = {
        ...grant,
        priceVersion: grant.priceVersion.toString(),
        amountNano: grant.amountNano.toString(),
      }
      const signed = withMac(Buffer.from(JSON.stringify(fields)).toString('base64url'))
      if (prices === null) return signed
      const { inputPriceNano, cachedInputPriceNano, outputPriceNano } = prices
      return withMac(`${signed}.${inputPriceNano}-${cachedInputPriceNano}-${outputPriceNano}`)
    },
    verify(text, reservationId) {
      const [payload = '', mac = '', prices, pricesMac = '', ...rest] = text.split('.')
      if (!isOurs(payload, mac) || rest.length > 0) return null
      if (prices !== undefined && !isOurs(`${payload}.${mac}.${prices}`, pricesMac)) return null
      const grant = Grant.parse(JSON.parse(Buffer.from(payload, 'base64url').toString()))
      if (grant.reservationId !== reservationId) return null
      return { ...grant, prices: prices === undefined ? null : Prices.parse(prices) }
    },
  }
}
