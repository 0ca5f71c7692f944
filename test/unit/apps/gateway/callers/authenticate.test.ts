import { describe, expect, it } from 'vitest'
import { createApiKey, hashApiKey, isWellFormedApiKey } from '#libs/api-key/api-key.ts'
import type { BillingKey, KeyShortage } from '#libs/billing-client/billing-calls.ts'
import { BillingUnavailable } from '#libs/billing-client/billing-unavailable.ts'
import { toNanoCredits } from '#libs/money/nano-credits.ts'
import { createAuthenticate } from '#apps/gateway/callers/authenticate.ts'

const MINUTE_MS = 60_000

function setUp() {
  const text = createApiKey()
  const clock = { ms: 1_000_000 }
  const billing: {
    keys: Map<string, BillingKey>
    reachable: boolean
    lookUps: number
    pause: Promise<void> | null
  } = { keys: new Map(), reachable: true, lookUps: 0, pause: null }
  const toKey = (changes: Partial<BillingKey> = {}): BillingKey => ({
    keyId: 'key-1',
    accountId: 'account-1',
    weight: 3,
    sha256: hashApiKey(text),
    active: true,
    expiresAtMs: null,
    models: null,
    shortage: null,
    ...changes,
  })
  const { authenticate: authenticateFrom, ...others } = createAuthenticate({
    lookUpKey: async (sha256) => {
      billing.lookUps += 1
      const answer = billing.keys.get(sha256.toString('base64')) ?? null
      await billing.pause
      if (!billing.reachable) throw new BillingUnavailable('test')
      return answer
    },
    hashApiKey,
    isWellFormed: isWellFormedApiKey,
    nowMs: () => clock.ms,
    wallClockMs: () => clock.ms,
  })
  const authenticate = async (authorization: string | undefined, address = '192.0.2.1') =>
    await authenticateFrom(authorization, address)
  const know = (key: BillingKey) => billing.keys.set(key.sha256.toString('base64'), key)
  return { text, bearer: `Bearer ${text}`, clock, billing, know, toKey, authenticate, ...others }
}

const invalidKey = { code: 'invalid_key' }
const unavailable = { code: 'model_unavailable' }

describe('authenticate', () => {
  it('turns a known key into its caller', async () => {
    const { bearer, know, toKey, authenticate } = setUp()
    know(toKey())
    const caller = { keyId: 'key-1', accountId: 'account-1', weight: 3, models: null, shortage: null }
    await expect(authenticate(bearer)).resolves.toEqual(caller)
  })

  it("returns the key's models from the latest push", async () => {
    const { bearer, know, toKey, authenticate, applyKeyChanges } = setUp()
    know(toKey({ models: ['one'] }))
    await expect(authenticate(bearer)).resolves.toMatchObject({ models: new Set(['one']) })
    applyKeyChanges({ resync: false, keys: [toKey({ models: ['two'] })] })
    await expect(authenticate(bearer)).resolves.toMatchObject({ models: new Set(['two']) })
    applyKeyChanges({ resync: false, keys: [toKey()] })
    await expect(authenticate(bearer)).resolves.toMatchObject({ models: null })
  })

  it('reads the scheme in any case', async () => {
    const { text, know, toKey, authenticate } = setUp()
    know(toKey())
    await expect(authenticate(`bearer  ${text} `)).resolves.toMatchObject({ keyId: 'key-1' })
  })

  it.each([
    undefined,
    '',
    'Bearer',
    'Bearer ',
    'Basic abc',
    'Bearer a b',
    'Bearer wrong-key',
    `Bearer mr_live_${'0'.repeat(39)}`,
  ])('refuses the header %j without asking billing', async (header) => {
    const { authenticate, billing } = setUp()
    await expect(authenticate(header)).rejects.toMatchObject(invalidKey)
    expect(billing.lookUps).toBe(0)
  })

  it('asks billing again only after 60 s for a known key', async () => {
    const { bearer, know, toKey, authenticate, billing, clock } = setUp()
    know(toKey())
    await authenticate(bearer)
    clock.ms += MINUTE_MS - 1
    await authenticate(bearer)
    expect(billing.lookUps).toBe(1)
    clock.ms += 1
    await authenticate(bearer)
    expect(billing.lookUps).toBe(2)
  })

  it('asks billing again only after 5 s for an unknown key, and then finds it', async () => {
    const { bearer, know, toKey, authenticate, billing, clock } = setUp()
    await expect(authenticate(bearer)).rejects.toMatchObject(invalidKey)
    know(toKey())
    clock.ms += 4_999
    await expect(authenticate(bearer)).rejects.toMatchObject(invalidKey)
    expect(billing.lookUps).toBe(1)
    clock.ms += 1
    await expect(authenticate(bearer)).resolves.toMatchObject({ keyId: 'key-1' })
  })

  it('asks once for many requests with the same key', async () => {
    const { bearer, know, toKey, authenticate, billing } = setUp()
    know(toKey())
    const callers = await Promise.all(Array.from({ length: 20 }, () => authenticate(bearer)))
    expect(new Set(callers.map((caller) => caller.keyId))).toEqual(new Set(['key-1']))
    expect(billing.lookUps).toBe(1)
  })

  it('refuses a key from the moment it expires, also a cached one', async () => {
    const { bearer, know, toKey, authenticate, clock } = setUp()
    know(toKey({ expiresAtMs: clock.ms + 10 }))
    await authenticate(bearer)
    clock.ms += 10
    await expect(authenticate(bearer)).rejects.toMatchObject(invalidKey)
  })

  it('keeps a known key valid while billing cannot be reached, however long', async () => {
    const { bearer, know, toKey, authenticate, billing, clock } = setUp()
    know(toKey())
    await authenticate(bearer)
    billing.reachable = false
    for (let hours = 0; hours < 3; hours += 1) {
      clock.ms += 60 * MINUTE_MS
      await expect(authenticate(bearer)).resolves.toMatchObject({ keyId: 'key-1' })
    }
  })

  it('asks an unreachable billing about a known key at most once a second', async () => {
    const { bearer, know, toKey, authenticate, billing, clock } = setUp()
    know(toKey())
    await authenticate(bearer)
    billing.reachable = false
    clock.ms += MINUTE_MS
    await authenticate(bearer)
    clock.ms += 999
    await authenticate(bearer)
    expect(billing.lookUps).toBe(2)
    clock.ms += 1
    await authenticate(bearer)
    expect(billing.lookUps).toBe(3)
  })

  it('throws model_unavailable for a key that is not cached while billing cannot be reached', async () => {
    const { bearer, authenticate, billing } = setUp()
    billing.reachable = false
    await expect(authenticate(bearer)).rejects.toMatchObject(unavailable)
  })

  it('does not cache a key as unknown while billing cannot be reached', async () => {
    const { bearer, know, toKey, authenticate, billing } = setUp()
    know(toKey())
    billing.reachable = false
    await expect(authenticate(bearer)).rejects.toMatchObject(unavailable)
    billing.reachable = true
    await expect(authenticate(bearer)).resolves.toMatchObject({ keyId: 'key-1' })
  })

  it('refuses a key at once when its revocation is pushed', async () => {
    const { bearer, know, toKey, authenticate, applyKeyChanges } = setUp()
    know(toKey())
    await authenticate(bearer)
    applyKeyChanges({ resync: false, keys: [toKey({ active: false })] })
    await expect(authenticate(bearer)).rejects.toMatchObject(invalidKey)
  })

  it('accepts a key at once when it is pushed after a refusal', async () => {
    const { bearer, toKey, authenticate, applyKeyChanges, billing } = setUp()
    await expect(authenticate(bearer)).rejects.toMatchObject(invalidKey)
    applyKeyChanges({ resync: false, keys: [toKey()] })
    await expect(authenticate(bearer)).resolves.toMatchObject({ keyId: 'key-1' })
    expect(billing.lookUps).toBe(1)
  })

  it('clears the cache at a resync', async () => {
    const { bearer, know, toKey, authenticate, applyKeyChanges, billing } = setUp()
    know(toKey())
    await authenticate(bearer)
    billing.keys.clear()
    applyKeyChanges({ resync: true, keys: [] })
    await expect(authenticate(bearer)).rejects.toMatchObject(invalidKey)
  })

  it('prefers a push to the answer of a look-up that began before it', async () => {
    const { bearer, know, toKey, authenticate, applyKeyChanges, billing } = setUp()
    know(toKey())
    const { promise, resolve } = Promise.withResolvers<void>()
    billing.pause = promise
    const refused = authenticate(bearer)
    applyKeyChanges({ resync: false, keys: [toKey({ active: false })] })
    resolve()
    await expect(refused).rejects.toMatchObject(invalidKey)
    await expect(authenticate(bearer)).rejects.toMatchObject(invalidKey)
    expect(billing.lookUps).toBe(1)
  })

  describe('of a key that can pay for nothing', () => {
    const nothing: KeyShortage = {
      of: 'account',
      availableNano: toNanoCredits(0n),
      heldNano: toNanoCredits(0n),
    }

    it('asks billing again after a second, whatever the number of requests', async () => {
      const { bearer, know, toKey, authenticate, billing, clock } = setUp()
      know(toKey({ shortage: nothing }))
      for (let turn = 0; turn < 10; turn += 1) {
        await expect(authenticate(bearer)).resolves.toMatchObject({ shortage: nothing })
      }
      expect(billing.lookUps).toBe(1)
      know(toKey())
      clock.ms += 1_000
      await Promise.all(Array.from({ length: 10 }, () => authenticate(bearer)))
      await expect(authenticate(bearer)).resolves.toMatchObject({ shortage: null })
      expect(billing.lookUps).toBe(2)
    })

    it('knows at once of credits that are pushed', async () => {
      const { bearer, know, toKey, authenticate, applyKeyChanges } = setUp()
      know(toKey({ shortage: nothing }))
      await authenticate(bearer)
      applyKeyChanges({ resync: false, keys: [toKey()] })
      await expect(authenticate(bearer)).resolves.toMatchObject({ shortage: null })
    })

    it('does not go on saying so while billing cannot be asked: credits may have come', async () => {
      const { bearer, know, toKey, authenticate, billing, clock } = setUp()
      know(toKey({ shortage: nothing }))
      await authenticate(bearer)
      billing.reachable = false
      clock.ms += 1_000
      await expect(authenticate(bearer)).resolves.toMatchObject({ shortage: 'unconfirmed' })
      await expect(authenticate(bearer)).resolves.toMatchObject({ shortage: 'unconfirmed' })
      expect(billing.lookUps).toBe(2)
      billing.reachable = true
      clock.ms += 1_000
      await expect(authenticate(bearer)).resolves.toMatchObject({ shortage: nothing })
    })

    it('learns of it after a refused reservation, which asks again once a second at most', async () => {
      const { bearer, know, toKey, authenticate, suspectShortage, billing, clock } = setUp()
      know(toKey())
      await authenticate(bearer)
      know(toKey({ shortage: nothing }))
      suspectShortage(await authenticate(bearer))
      await expect(authenticate(bearer)).resolves.toMatchObject({ shortage: null })
      clock.ms += 1_000
      suspectShortage(await authenticate(bearer))
      await expect(authenticate(bearer)).resolves.toMatchObject({ shortage: nothing })
      expect(billing.lookUps).toBe(2)
    })
  })

  it('leaves look-ups to real keys while others make keys up', async () => {
    const { bearer, know, toKey, authenticate, billing, clock } = setUp()
    know(toKey())
    await authenticate(bearer)
    clock.ms += MINUTE_MS
    const { promise, resolve } = Promise.withResolvers<void>()
    billing.pause = promise
    const attackers = ['192.0.2.1', '192.0.2.2', '192.0.2.3', '192.0.2.4', '192.0.2.5']
    const madeUp = attackers.flatMap((address) =>
      Array.from({ length: 300 }, async () => await authenticate(`Bearer ${createApiKey()}`, address)),
    )
    const other = createApiKey()
    const known = authenticate(bearer)
    expect(billing.lookUps).toBe(1 + 750 + 1)
    know(toKey({ keyId: 'key-2', sha256: hashApiKey(other) }))
    resolve()
    await expect(known).resolves.toMatchObject({ keyId: 'key-1' })
    const outcomes = await Promise.allSettled(madeUp)
    const codes = outcomes.map((outcome) => (outcome.status === 'rejected' ? outcome.reason.code : 'found'))
    expect(codes.filter((code) => code === 'invalid_key')).toHaveLength(750)
    expect(codes.filter((code) => code === 'model_unavailable')).toHaveLength(750)
    await expect(authenticate(`Bearer ${other}`, '192.0.2.1')).resolves.toMatchObject({ keyId: 'key-2' })
  })

  it('does not keep the answer of a look-up that began before a resync', async () => {
    const { bearer, know, toKey, authenticate, applyKeyChanges, billing } = setUp()
    know(toKey())
    const { promise, resolve } = Promise.withResolvers<void>()
    billing.pause = promise
    const first = authenticate(bearer)
    applyKeyChanges({ resync: true, keys: [] })
    billing.keys.clear()
    resolve()
    await first
    await expect(authenticate(bearer)).rejects.toMatchObject(invalidKey)
  })
})
