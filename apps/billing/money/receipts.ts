import { createHmac, createSecretKey, timingSafeEqual, type KeyObject } from 'node:crypto'
import { z } from 'zod'
import type { Settlement } from '#libs/contracts/settlement.ts'
import {
  PROOF_BYTES,
  proofOfOrphan,
  proofOfSettlement,
  type Proved,
} from '#libs/contracts/settlement-proof.ts'

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
   * Checks the proof in a settlement's receipt (`settlement-proof.ts`). Returns null when it is wrong, or when the
   * receipt is missing, belongs to another reservation or cannot be read. Never throws.
   */
  verify(settlement: Provable): Proof | null
}

export type Provable = Proved & Pick<Settlement, 'receipt' | 'orphanOf'>

/**
 * The process that may settle: the gateway that has the hold, or, if that gateway is dead, a worker. For a worker
 * `orphanOf` is the gateway's boot id; whether the gateway is dead is not checked here.
 */
export type Proof = { readonly receipt: Receipt; readonly orphanOf: string | null }

/**
 * Signs receipts with the first secret, and accepts receipts that are signed with any of the secrets. So a secret can
 * be replaced while receipts that were signed with it are still in use. A receipt is base64url of the grant as a JSON
 * object, a dot, and base64url of its MAC. A settlement has a proof in place of the MAC. The MAC itself is a proof too:
 * gateways of older releases wrote it.
 */
export function createReceipts(secrets: readonly [string, ...string[]]): Receipts {
  const [signing, ...others] = secrets
  const signingKey = toKey(signing)
  const keys = [signingKey, ...others.map(toKey)]
  const macOf = (key: KeyObject, signed: string) =>
    createHmac('sha256', key).update(signed).digest().subarray(0, PROOF_BYTES)
  return {
    sign(receipt) {
      const payload = Buffer.from(JSON.stringify(receipt, bigintToText)).toString('base64url')
      return `${payload}.${macOf(signingKey, payload).toString('base64url')}`
    },
    verify(settlement) {
      const { id, receipt: text = '', orphanOf = null } = settlement
      const [payload = '', given = '', ...rest] = text.split('.')
      const proof = Buffer.from(given, 'base64url')
      if (proof.length !== PROOF_BYTES || rest.length > 0) return null
      const isProof = (mac: Buffer) =>
        orphanOf === null
          ? timingSafeEqual(proofOfSettlement(mac, settlement), proof) || timingSafeEqual(mac, proof)
          : timingSafeEqual(proofOfOrphan(mac, orphanOf), proof)
      if (!keys.some((key) => isProof(macOf(key, payload)))) return null
      const receipt = readGrant(Buffer.from(payload, 'base64url').toString())
      return receipt?.reservationId === id ? { receipt, orphanOf } : null
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
