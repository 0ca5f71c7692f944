import { timingSafeEqual } from 'node:crypto'
import { LRUCache } from 'lru-cache'
import type { BillingKey, KeyChanges } from '#libs/billing-client/billing-calls.ts'
import { BillingUnavailable } from '#libs/billing-client/billing-unavailable.ts'
import { ApiError } from '#libs/contracts/api-error.ts'
import type { Caller } from '../caller.ts'

export type Authenticate = (authorization: string | undefined) => Promise<Caller>

/** How long an answer of billing is used before the key is looked up again. Pushed changes apply at once. */
const KNOWN_FRESH_MS = 60_000
const UNKNOWN_FRESH_MS = 5_000

/** The pause between look-ups of a known key while billing cannot be reached. */
const RETRY_MS = 1_000

/** Separate bounds, so that a flood of unknown keys evicts no known key. */
const MAX_KNOWN = 50_000
const MAX_UNKNOWN = 10_000
const MAX_LOOK_UPS = 1_000

type Known = { readonly key: BillingKey; readonly caller: Caller; freshUntilMs: number }

/** A change pushed during a look-up is newer than the look-up's answer. */
type Pushed = { key: BillingKey | null; resynced: boolean }
type LookUp = { readonly answer: Promise<BillingKey | null>; readonly pushed: Pushed }

/**
 * Turns bearer keys into callers. Billing's answers are cached under the key's hash: known keys for 60 s, unknown
 * ones for 5 s. There is one look-up at a time for each key, and pushed changes update the cache.
 *
 * `authenticate` throws an `ApiError`: `invalid_key` for a missing, malformed, unknown, revoked or expired key;
 * `model_unavailable` for a key that is not cached while billing cannot be reached. A cached key stays valid for
 * that time, however long: the reservation checks it again before any credits are spent.
 */
export function createAuthenticate(deps: {
  /** Null: unknown, revoked or expired. Throws `BillingUnavailable` when billing does not answer. */
  lookUpKey: (sha256: Buffer) => Promise<BillingKey | null>
  hashApiKey: (key: string) => Buffer
  isWellFormed: (key: string) => boolean
  nowMs: () => number
  /** For the dates at which keys expire. */
  wallClockMs: () => number
}): { authenticate: Authenticate; applyKeyChanges: (changes: KeyChanges) => void } {
  const { nowMs, wallClockMs } = deps
  const known = new LRUCache<string, Known>({ max: MAX_KNOWN })
  const unknownUntilMs = new LRUCache<string, number>({ max: MAX_UNKNOWN })
  const lookUps = new Map<string, LookUp>()

  async function authenticate(authorization: string | undefined): Promise<Caller> {
    const text = readBearer(authorization)
    if (text === null)
      throw new ApiError('invalid_key', 'An API key is required: Authorization: Bearer <API_KEY>.')
    if (!deps.isWellFormed(text)) throw invalidKey()
    const sha256 = deps.hashApiKey(text)
    const name = sha256.toString('base64')

    const entry = known.get(name)
    if (entry !== undefined && entry.freshUntilMs > nowMs()) return toCaller(entry, sha256)
    if ((unknownUntilMs.get(name) ?? 0) > nowMs()) throw invalidKey()

    try {
      const key = await lookUp(name, sha256)
      if (key === null) throw invalidKey()
      return toCaller(toKnown(key, nowMs()), sha256)
    } catch (error) {
      if (!(error instanceof BillingUnavailable)) throw error
      const stale = known.get(name)
      if (stale === undefined) {
        throw new ApiError('model_unavailable', 'API keys cannot be checked at the moment.', { cause: error })
      }
      stale.freshUntilMs = nowMs() + RETRY_MS
      return toCaller(stale, sha256)
    }
  }

  function toCaller(entry: Known, sha256: Buffer): Caller {
    const { expiresAtMs } = entry.key
    const expired = expiresAtMs !== null && expiresAtMs <= wallClockMs()
    // The cache found the entry by this hash, but compares hashes in a time that depends on their content. This
    // comparison does not.
    if (expired || !timingSafeEqual(entry.key.sha256, sha256)) throw invalidKey()
    return entry.caller
  }

  async function lookUp(name: string, sha256: Buffer): Promise<BillingKey | null> {
    const underWay = lookUps.get(name)
    if (underWay !== undefined) return underWay.answer
    if (lookUps.size >= MAX_LOOK_UPS) {
      throw new BillingUnavailable('too many look-ups of API keys are under way')
    }
    const pushed: Pushed = { key: null, resynced: false }
    const answer = askBilling({ name, sha256, pushed })
    lookUps.set(name, { answer, pushed })
    try {
      return await answer
    } finally {
      lookUps.delete(name)
    }
  }

  async function askBilling({ name, sha256, pushed }: { name: string; sha256: Buffer; pushed: Pushed }) {
    const answer = await deps.lookUpKey(sha256)
    const key = pushed.key ?? answer
    if (!pushed.resynced) remember(name, key)
    return key?.active === true ? key : null
  }

  function remember(name: string, key: BillingKey | null) {
    if (key?.active === true) {
      unknownUntilMs.delete(name)
      known.set(name, toKnown(key, nowMs()))
    } else {
      known.delete(name)
      unknownUntilMs.set(name, nowMs() + UNKNOWN_FRESH_MS)
    }
  }

  function applyKeyChanges({ resync, keys }: KeyChanges) {
    if (resync) {
      known.clear()
      unknownUntilMs.clear()
      for (const { pushed } of lookUps.values()) pushed.resynced = true
    }
    for (const key of keys) {
      const name = key.sha256.toString('base64')
      const underWay = lookUps.get(name)
      if (underWay !== undefined) underWay.pushed.key = key
      // A key that is not cached is looked up when a request brings it.
      if (known.get(name) !== undefined || unknownUntilMs.get(name) !== undefined) remember(name, key)
    }
  }

  return { authenticate, applyKeyChanges }
}

function toKnown(key: BillingKey, nowMs: number): Known {
  const models = key.models && new Set(key.models)
  const caller = { keyId: key.keyId, accountId: key.accountId, models }
  return { key, caller, freshUntilMs: nowMs + KNOWN_FRESH_MS }
}

/** The token of the `authorization` header (RFC 6750), or null. The scheme's name is case-insensitive. */
function readBearer(authorization: string | undefined): string | null {
  return /^Bearer +(\S+) *$/i.exec(authorization ?? '')?.[1] ?? null
}

function invalidKey(): ApiError {
  return new ApiError('invalid_key', 'The API key is not valid.')
}
