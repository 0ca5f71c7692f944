import { timingSafeEqual } from 'node:crypto'
import type { BillingKey, KeyChanges } from '#libs/billing-client/billing-calls.ts'
import { BillingUnavailable } from '#libs/billing-client/billing-unavailable.ts'
import { ApiError } from '#libs/contracts/api-error.ts'
import type { Caller } from '../generation/generation-call.ts'
import { createLruMap } from './lru-map.ts'

export type Authenticate = (authorization: string | undefined) => Promise<Caller>

/** How long an answer of billing's is taken as fresh. Pushes correct it sooner. */
const KNOWN_FRESH_MS = 60_000
const UNKNOWN_FRESH_MS = 5_000

/** While billing cannot be reached, a known key is asked about again only this often. */
const RETRY_MS = 1_000

/** Unknown keys have a bound of their own, so that a flood of them pushes no known key out. */
const MAX_KNOWN = 50_000
const MAX_UNKNOWN = 10_000
const MAX_LOOK_UPS = 1_000

type Known = { readonly key: BillingKey; readonly caller: Caller; freshUntilMs: number }

/** What was pushed while a look-up was under way: newer than its answer. */
type News = { pushed: BillingKey | null; forgotten: boolean }
type LookUp = { readonly answer: Promise<BillingKey | null>; readonly news: News }

/**
 * Turns bearer keys into callers, with billing's answers cached under the key's hash: known keys for 60 s,
 * unknown ones for 5 s, one look-up at a time for each key, corrected by pushes.
 *
 * `authenticate` throws an `ApiError`: `invalid_key` for a missing, malformed, unknown, revoked or expired key;
 * `model_unavailable` for a key that is not known here while billing cannot be reached. A known key stays valid
 * through such a time, however long: the reservation checks it again before it spends anything.
 */
export function createAuthenticate(deps: {
  /** Null: unknown, revoked or expired. Throws `BillingUnavailable` when it could not be asked. */
  lookUpKey: (sha256: Buffer) => Promise<BillingKey | null>
  hashApiKey: (key: string) => Buffer
  isWellFormedApiKey: (key: string) => boolean
  nowMs: () => number
}): { authenticate: Authenticate; applyKeyChanges: (changes: KeyChanges) => void } {
  const { nowMs } = deps
  const known = createLruMap<Known>(MAX_KNOWN)
  const unknownUntilMs = createLruMap<number>(MAX_UNKNOWN)
  const lookUps = new Map<string, LookUp>()

  async function authenticate(authorization: string | undefined): Promise<Caller> {
    const text = readBearer(authorization)
    if (text === null)
      throw new ApiError('invalid_key', 'An API key is required: Authorization: Bearer <API_KEY>.')
    if (!deps.isWellFormedApiKey(text)) throw invalidKey()
    const sha256 = deps.hashApiKey(text)
    const name = sha256.toString('base64')

    const entry = known.get(name)
    if (entry !== undefined && entry.freshUntilMs > nowMs()) return admit(entry, sha256)
    if ((unknownUntilMs.get(name) ?? 0) > nowMs()) throw invalidKey()

    try {
      const key = await lookUp(name, sha256)
      if (key === null) throw invalidKey()
      return admit(toKnown(key, nowMs()), sha256)
    } catch (error) {
      if (!(error instanceof BillingUnavailable)) throw error
      const stale = known.get(name)
      if (stale === undefined) {
        throw new ApiError('model_unavailable', 'API keys cannot be checked at the moment.', { cause: error })
      }
      stale.freshUntilMs = nowMs() + RETRY_MS
      return admit(stale, sha256)
    }
  }

  function admit(entry: Known, sha256: Buffer): Caller {
    const { expiresAtMs } = entry.key
    const expired = expiresAtMs !== null && expiresAtMs <= nowMs()
    // The cache already found the entry by this hash; comparing again in constant time keeps that decision
    // independent of how a map compares its keys.
    if (expired || !timingSafeEqual(entry.key.sha256, sha256)) throw invalidKey()
    return entry.caller
  }

  async function lookUp(name: string, sha256: Buffer): Promise<BillingKey | null> {
    const underWay = lookUps.get(name)
    if (underWay !== undefined) return underWay.answer
    if (lookUps.size >= MAX_LOOK_UPS) {
      throw new BillingUnavailable('too many look-ups of API keys are under way')
    }
    const news: News = { pushed: null, forgotten: false }
    const answer = ask({ name, sha256, news })
    lookUps.set(name, { answer, news })
    try {
      return await answer
    } finally {
      lookUps.delete(name)
    }
  }

  async function ask({ name, sha256, news }: { name: string; sha256: Buffer; news: News }) {
    const answer = await deps.lookUpKey(sha256)
    const key = news.pushed ?? answer
    if (!news.forgotten) remember(name, key)
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
      for (const { news } of lookUps.values()) news.forgotten = true
    }
    for (const key of keys) {
      const name = key.sha256.toString('base64')
      const underWay = lookUps.get(name)
      if (underWay !== undefined) underWay.news.pushed = key
      // A key that nobody has used here is looked up when somebody does.
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

/** The token of RFC 6750's header; the scheme's name is case-insensitive. Null when there is none. */
function readBearer(authorization: string | undefined): string | null {
  return /^Bearer +(\S+) *$/i.exec(authorization ?? '')?.[1] ?? null
}

function invalidKey(): ApiError {
  return new ApiError('invalid_key', 'The API key is not valid.')
}
