import { createAsk, type Asking } from '#libs/page-parts/ask.ts'
import { Failure } from '#libs/page-parts/failure.ts'
import type { AccountKey, KeyChange, NewKey } from '#libs/account-contract/resources/keys.ts'
import type { ACCOUNT, AccountOperationId } from '#libs/account-contract/account-contract.ts'
import type { AnswerOf } from '#libs/account-contract/operation.ts'
import type { Activity } from '#libs/account-contract/resources/activity.ts'
import type { Receipt } from '#libs/account-contract/resources/generations.ts'
import type { OwnKey } from '#libs/account-contract/resources/own.ts'

/**
 * The maximum number of times that a request is repeated after a 429. For each key, a gateway serves a burst of
 * requests to the operations below, and after the burst one request a second. It asks a faster caller to wait for a
 * second. A refused request has done nothing, so changes may be repeated like reads.
 */
const WAITS = 3
const LONGEST_WAIT_S = 5

type Answer<Id extends AccountOperationId> = AnswerOf<(typeof ACCOUNT)[Id]>

type Page<Item> = { readonly data: readonly Item[]; readonly nextCursor: string | null }

/** The operations of the gateway, called with one key. The key is in this closure and nowhere else. */
export type Api = {
  readKey(options?: { signal?: AbortSignal; isQuiet?: boolean }): Promise<OwnKey>
  /** Returns the sums of the last 30 days. */
  readActivity(signal: AbortSignal): Promise<readonly Activity[]>
  listReceipts(cursor: string | undefined, signal: AbortSignal): Promise<Page<Receipt>>
  readReceipt(id: string, signal: AbortSignal): Promise<Receipt>
  listModels(signal: AbortSignal): Promise<readonly string[]>
  /** Lists the keys of the account. This function and all functions below it need a management key. */
  listKeys(cursor: string | undefined, signal: AbortSignal): Promise<Page<AccountKey>>
  /** Repeated calls with the same `idempotencyKey` make one key. */
  createKey(limits: KeyChange, idempotencyKey: string): Promise<NewKey>
  rotateKey(id: string, overlapSeconds: number, idempotencyKey: string): Promise<NewKey>
  changeKey(id: string, changed: KeyChange): Promise<void>
  revokeKey(id: string): Promise<void>
}

/**
 * Returns the address of the API, derived from the address under which this page was reached. So it is also correct
 * behind a proxy that puts a path in front.
 */
export function toBaseAddress(page: string): string {
  const { origin, pathname } = new URL('v1', page)
  return origin + pathname
}

export function createApi({ apiKey, onSignedOut }: { apiKey: string; onSignedOut: () => void }): Api {
  const base = toBaseAddress(location.href)
  const ask = createAsk({ server: 'gateway', headers: { authorization: `Bearer ${apiKey}` }, onSignedOut })

  /**
   * Sends a request, and repeats it after a 429. `Body` is the type of the answer. The caller of this function gives
   * it, because parsed JSON has no type.
   */
  async function inTurn<Body>(method: string, path: string, asking: Asking = {}): Promise<Body> {
    for (let waits = 0; ; waits += 1) {
      try {
        return await ask(method, `${base}/${path}`, asking)
      } catch (error) {
        const waitS = error instanceof Failure && error.status === 429 ? error.retryAfterS : undefined
        if (waitS === undefined || waitS > LONGEST_WAIT_S || waits === WAITS) throw error
        await wait(waitS * 1_000, asking.signal)
      }
    }
  }

  async function list<Item>(
    path: string,
    cursor: string | undefined,
    signal: AbortSignal,
  ): Promise<Page<Item>> {
    const query = cursor === undefined ? '' : `?cursor=${encodeURIComponent(cursor)}`
    type Body = { data: Item[]; next_cursor: string | null }
    const { data, next_cursor: nextCursor } = await inTurn<Body>('GET', path + query, { signal })
    return { data, nextCursor }
  }

  return {
    readKey: async (options = {}) => (await inTurn<Answer<'readKey'>>('GET', 'key', options)).data,
    readActivity: async (signal) =>
      (await inTurn<Answer<'readActivity'>>('GET', 'activity', { signal })).data,
    listReceipts: async (cursor, signal) => await list('generations', cursor, signal),
    readReceipt: async (id, signal) =>
      (await inTurn<Answer<'readGeneration'>>('GET', `generation?id=${encodeURIComponent(id)}`, { signal }))
        .data,
    listKeys: async (cursor, signal) => await list('keys', cursor, signal),
    async createKey(limits, idempotencyKey) {
      const headers = { 'idempotency-key': idempotencyKey }
      return await inTurn('POST', 'keys', { headers, body: JSON.stringify(limits) })
    },
    async rotateKey(id, overlapSeconds, idempotencyKey) {
      const headers = { 'idempotency-key': idempotencyKey }
      const body = JSON.stringify({ overlap_seconds: overlapSeconds })
      return await inTurn('POST', `keys/${id}/rotate`, { headers, body })
    },
    async changeKey(id, changed) {
      await inTurn('PATCH', `keys/${id}`, { body: JSON.stringify(changed) })
    },
    async revokeKey(id) {
      await inTurn('DELETE', `keys/${id}`)
    },
    async listModels(signal) {
      const { data } = await inTurn<{ data: { id: string }[] }>('GET', 'models', { signal })
      return data.map(({ id }) => id)
    },
  }
}

/** Rejects when `signal` is aborted. */
async function wait(ms: number, signal: AbortSignal | undefined): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  const onAbort = () => reject(new DOMException('aborted', 'AbortError'))
  const timer = setTimeout(resolve, ms)
  signal?.addEventListener('abort', onAbort, { once: true })
  try {
    signal?.throwIfAborted()
    await promise
  } finally {
    clearTimeout(timer)
    signal?.removeEventListener('abort', onAbort)
  }
}
