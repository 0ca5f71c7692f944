import { createHmac, createSecretKey, timingSafeEqual, type KeyObject } from 'node:crypto'
import { z } from 'zod'

const Int64 = z
  .string()
  .regex(/^\d{1,19}$/)
  .transform(BigInt)

/**
 * Fields that this version does not know are ignored; another version of billing has added them. The signature covers
 * them as well, because it covers the whole text.
 */
const Grant = z.object({
  reservationId: z.uuid(),
  accountId: z.uuid(),
  keyId: z.uuid(),
  model: z.string(),
  inputTokens: z.int(),
  /** The output tokens that the caller wanted. */
  outputTokens: z.int(),
  deadlineMs: z.int(),
  priceVersion: Int64,
  /**
   * The prices of `priceVersion`. They are stored because after a restore the version's number may belong to another
   * price.
   */
  inputPriceNano: Int64,
  cachedInputPriceNano: Int64,
  outputPriceNano: Int64,
  grantedTokens: z.int(),
  amountNano: Int64,
  clamped: z.boolean(),
})

/**
 * A signed copy of a hold. A settlement carries the receipt of its hold, so that billing can charge for reservations
 * that a restore from a backup has removed from the database.
 */
export type Receipt = Readonly<z.infer<typeof Grant>>

export type Receipts = {
  sign(receipt: Receipt): string
  /**
   * Returns null when the signature is wrong, or when the receipt belongs to another reservation or cannot be read.
   * Never throws.
   */
  verify(text: string, reservationId: string): Receipt | null
}

/** The length of the signature: half of an HMAC-SHA256, which is strong enough for a receipt (RFC 2104, section 5). */
const MAC_BYTES = 16

/**
 * Signs receipts with the first secret, and accepts receipts that are signed with any of the secrets. So a secret can
 * be replaced while receipts that were signed with it are still in use. A receipt is base64url of the grant as a JSON
 * object, a dot, and base64url of its MAC.
 */
export function createReceipts(secrets: readonly [string, ...string[]]): Receipts {
  const [signing, ...others] = secrets
  const signingKey = toKey(signing)
  const keys = [signingKey, ...others.map(toKey)]
  const macOf = (key: KeyObject, signed: string) =>
    createHmac('sha256', key).update(signed).digest().subarray(0, MAC_BYTES)
  const isOurs = (signed: string, given: string) => {
    const mac = Buffer.from(given, 'base64url')
    return keys.some((key) => mac.length === MAC_BYTES && timingSafeEqual(macOf(key, signed), mac))
  }
  return {
    sign(receipt) {
      const payload = Buffer.from(JSON.stringify(receipt, bigintToText)).toString('base64url')
      return `${payload}.${macOf(signingKey, payload).toString('base64url')}`
    },
    verify(text, reservationId) {
      const [payload = '', mac = '', ...rest] = text.split('.')
      if (!isOurs(payload, mac) || rest.length > 0) return null
      const grant = readGrant(Buffer.from(payload, 'base64url').toString())
      return grant?.reservationId === reservationId ? grant : null
    },
  }
}

function readGrant(json: string): Receipt | null {
  try {
    return Grant.safeParse(JSON.parse(json)).data ?? null
  } catch {
    return null
  }
}

/**
 * Makes the key of a secret. It is called once for each secret, because importing a secret costs half as much as
 * signing a receipt.
 */
const toKey = (secret: string) => createSecretKey(Buffer.from(secret))

/** Replacer for `JSON.stringify`. */
export function bigintToText(_key: string, value: unknown): unknown {
  return typeof value === 'bigint' ? value.toString() : value
}
