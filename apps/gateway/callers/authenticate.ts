import { timingSafeEqual } from 'node:crypto'
import { LRUCache } from 'lru-cache'
import type { BillingKey, KeyChanges } from '#libs/billing-client/billing-calls.ts'
import { BillingUnavailable } from '#libs/billing-client/billing-unavailable.ts'
import { ApiError } from '#libs/contracts/api-error.ts'
import type { Caller } from './caller.ts'
import { createLookUpBounds } from './look-up-bounds.ts'

/** `address` is the client's address. */
export type Authenticate = (authorization: string | undefined, address: string) => Promise<Caller>

/** How long an answer of billing is used before the key is looked up again. Pushed changes apply at once. */
const KNOWN_FRESH_MS = 60_000
const UNKNOWN_FRESH_MS = 5_000
/**
 * How long the answer for a key that cannot pay is used. Billing pushes new credits, but a push may come late, and
 * nothing is pushed when the period of a spend limit begins anew.
 */
const SHORT_FRESH_MS = 1_000

/** The pause between look-ups of a known key while billing cannot be reached. */
const RETRY_MS = 1_000

/**
 * The largest number of known keys in the cache, and the largest number of unknown keys. The bounds are separate, so
 * that a flood of unknown keys evicts no known key.
 */
const MAX_KNOWN = 50_000
const MAX_UNKNOWN = 10_000
const MAX_LOOK_UPS = 1_000

type Known = {
  readonly key: BillingKey
  readonly caller: Caller
  readonly readMs: number
  freshUntilMs: number
}

/** A change of a key that was pushed while the key was looked up. It is newer than the look-up's answer. */
type Pushed = { key: BillingKey | null; resynced: boolean }
type LookUp = { readonly answer: Promise<BillingKey | null>; readonly pushed: Pushed }

/**
 * Turns bearer keys into callers. Billing's answer about a key is cached under the key's hash:
 * - for 60 s if the key is known and can pay
 * - for 1 s if the key is known and cannot pay
 * - for 5 s if the key is unknown
 *
 * Each key has at most one look-up at a time. The key changes that billing pushes update the cache.
 *
 * `authenticate` throws an `ApiError` with one of these codes:
 * - `invalid_key` for a missing, malformed, unknown, revoked or expired key.
 * - `model_unavailable` for a key that is not in the cache and cannot be looked up, because billing cannot be reached
 *   or because too many look-ups are under way.
 * - `model_busy` for a key from an address that sent too many unknown keys.
 *
 * While billing cannot be reached, a cached key stays valid, however long that lasts. The reservation checks the key
 * again before any credits are spent.
 *
 * `suspectShortage` is called when a reservation for a caller was refused for lack of credits, so that the caller's key
 * is looked up again.
 */
export function createAuthenticate(deps: {
  /**
   * Returns null if the key is unknown, revoked or expired. Throws `BillingUnavailable` when billing does not answer.
   */
  lookUpKey: (sha256: Buffer) => Promise<BillingKey | null>
  hashApiKey: (key: string) => Buffer
  isWellFormed: (key: string) => boolean
  nowMs: () => number
  /** A wall clock, for the dates at which keys expire. */
  wallClockMs: () => number
}): {
  authenticate: Authenticate
  applyKeyChanges: (changes: KeyChanges) => void
  suspectShortage: (caller: Caller) => void
} {
  const { nowMs, wallClockMs } = deps
  const known = new LRUCache<string, Known>({ max: MAX_KNOWN })
  const unknownUntilMs = new LRUCache<string, number>({ max: MAX_UNKNOWN })
  const lookUps = new Map<string, LookUp>()
  const bounds = createLookUpBounds({ nowMs })
  const entries = new WeakMap<Caller, Known>()

  async function authenticate(authorization: string | undefined, address: string): Promise<Caller> {
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
      const key = await lookUp({ name, sha256, address })
      if (key === null) throw invalidKey()
      return toCaller(known.get(name) ?? toKnown(key), sha256)
    } catch (error) {
      if (!(error instanceof BillingUnavailable)) throw error
      const stale = known.get(name)
      if (stale === undefined) {
        throw new ApiError('model_unavailable', 'API keys cannot be checked at the moment.', { cause: error })
      }
      return toCaller(keepStale(name, stale), sha256)
    }
  }

  /**
   * Extends the use of an outdated entry by `RETRY_MS`, because billing cannot be reached. After that time, billing is
   * asked again. If the caller of the entry has a shortage, the shortage becomes `unconfirmed`: the account may have
   * received credits since the shortage was read.
   */
  function keepStale(name: string, entry: Known): Known {
    entry.freshUntilMs = nowMs() + RETRY_MS
    if (entry.caller.shortage === null) return entry
    const unconfirmed: Known = { ...entry, caller: { ...entry.caller, shortage: 'unconfirmed' } }
    known.set(name, unconfirmed)
    return unconfirmed
  }

  function toCaller(entry: Known, sha256: Buffer): Caller {
    const { expiresAtMs } = entry.key
    const expired = expiresAtMs !== null && expiresAtMs <= wallClockMs()
    // The cache found the entry by this hash, but it compares hashes in a time that depends on their content. This
    // comparison takes constant time.
    if (expired || !timingSafeEqual(entry.key.sha256, sha256)) throw invalidKey()
    return entry.caller
  }

  async function lookUp({ name, sha256, address }: { name: string; sha256: Buffer; address: string }) {
    const underWay = lookUps.get(name)
    if (underWay !== undefined) return underWay.answer
    if (lookUps.size >= MAX_LOOK_UPS) {
      throw new BillingUnavailable('too many look-ups of API keys are under way')
    }
    // The look-up of a known key is not bounded, because no made-up key is known.
    const end = known.has(name) ? null : bounds.enter(address)
    const pushed: Pushed = { key: null, resynced: false }
    const answer = askBilling({ name, sha256, pushed })
    lookUps.set(name, { answer, pushed })
    let outcome: 'found' | 'unknown' | 'failed' = 'failed'
    try {
      const key = await answer
      outcome = key === null ? 'unknown' : 'found'
      return key
    } finally {
      lookUps.delete(name)
      end?.(outcome)
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
      known.set(name, toKnown(key))
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
      // The change of a key that is not cached is ignored: the key is looked up when a request has it.
      if (known.get(name) !== undefined || unknownUntilMs.get(name) !== undefined) remember(name, key)
    }
  }

  function suspectShortage(caller: Caller) {
    const entry = entries.get(caller)
    if (entry !== undefined && nowMs() - entry.readMs >= SHORT_FRESH_MS) entry.freshUntilMs = nowMs()
  }

  function toKnown(key: BillingKey): Known {
    const { keyId, accountId, weight, shortage } = key
    const caller = { keyId, accountId, weight, models: key.models && new Set(key.models), shortage }
    const freshMs = shortage === null ? KNOWN_FRESH_MS : SHORT_FRESH_MS
    const entry = { key, caller, readMs: nowMs(), freshUntilMs: nowMs() + freshMs }
    entries.set(caller, entry)
    return entry
  }

  return { authenticate, applyKeyChanges, suspectShortage }
}

/** Returns the token of the `authorization` header (RFC 6750), or null. The scheme's name is case-insensitive. */
function readBearer(authorization: string | undefined): string | null {
  return /^Bearer +(\S+) *$/i.exec(authorization ?? '')?.[1] ?? null
}

function invalidKey(): ApiError {
  return new ApiError('invalid_key', 'The API key is not valid.')
}
