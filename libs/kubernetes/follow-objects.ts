import { setTimeout as sleep } from 'node:timers/promises'
import { z } from 'zod'
import type { Logger } from '#libs/telemetry/logger.ts'
import { KubernetesError, type KubernetesClient } from './kubernetes-client.ts'

/** The metadata that every followed object has; the caller's schema adds the fields that it reads. */
export const ObjectMeta = z.object({
  name: z.string(),
  uid: z.string(),
  labels: z.record(z.string(), z.string()).default({}),
  annotations: z.record(z.string(), z.string()).default({}),
  creationTimestamp: z.string().optional(),
  deletionTimestamp: z.string().optional(),
})

export type FollowedObjects<Kind> = {
  /** Returns the last known state, by uid. Empty before the first list. */
  current(): ReadonlyMap<string, Kind>
  /**
   * Returns how old the result of `current` is: the time since the last watch ended, in ms. Returns 0 while a watch is
   * open, and Infinity before the first watch.
   */
  behindMs(): number
  stop(): Promise<void>
}

/** A watch is opened again after this long, so that a connection that died silently is noticed soon. */
const WATCH_S = 60
/** The server ends a watch at `WATCH_S`, so a connection without any sign for this long is dead. */
const IDLE_MS = (WATCH_S + 15) * 1_000
const PAGE = 500
const FIRST_PAUSE_MS = 200
const LAST_PAUSE_MS = 5_000

/**
 * Lists the objects of `path` and follows their changes until `stop`. A watch that ends is resumed from its last object
 * or bookmark; after 410 (too old) the objects are listed again. Other failures are logged. After each failure there is
 * another attempt, without limit, with pauses of 0.2 to 5 s. An object that does not fit `schema` is left out and
 * logged. `onChange` is called after the first list and after each change.
 */
export function followObjects<Kind extends { metadata: z.infer<typeof ObjectMeta> }>(options: {
  client: KubernetesClient
  /** The path with its namespace, without a query. */
  path: string
  labelSelector?: string
  schema: z.ZodType<Kind>
  onChange?: () => void
  nowMs: () => number
  log: Logger
}): FollowedObjects<Kind> {
  const { client, path, labelSelector, schema, onChange, nowMs, log } = options
  const stopping = new AbortController()
  let objects = new Map<string, Kind>()
  let resourceVersion: string | null = null
  /** The time since which the state has not followed the server; null while a watch is open. */
  let behindSinceMs: number | null = -Infinity

  const toPath = (query: Record<string, string>) => {
    const selector = labelSelector === undefined ? {} : { labelSelector }
    return `${path}?${new URLSearchParams({ ...selector, ...query }).toString()}`
  }

  function read(object: unknown): Kind | null {
    const parsed = schema.safeParse(object)
    if (!parsed.success) log.warn({ path, err: parsed.error }, 'object of the cluster not understood')
    return parsed.data ?? null
  }

  async function list(): Promise<string> {
    const listed = new Map<string, Kind>()
    let version = ''
    for (let next = ''; ;) {
      const page = List.parse(
        await client.get(toPath({ limit: String(PAGE), ...(next === '' ? {} : { continue: next }) })),
      )
      for (const object of page.items.map(read)) {
        if (object !== null) listed.set(object.metadata.uid, object)
      }
      version = page.metadata.resourceVersion
      next = page.metadata.continue
      if (next === '') break
    }
    objects = listed
    return version
  }

  async function watch(from: string): Promise<void> {
    const query = {
      watch: 'true',
      allowWatchBookmarks: 'true',
      resourceVersion: from,
      timeoutSeconds: String(WATCH_S),
    }
    const lines = client.stream(toPath(query), {
      idleMs: IDLE_MS,
      signal: stopping.signal,
      onOpen() {
        behindSinceMs = null
      },
    })
    for await (const line of lines) {
      const { type, object } = WatchEvent.parse(line)
      if (type === 'ERROR') throw new KubernetesError(object.code ?? 0, `watch of ${path}: ${object.message}`)
      resourceVersion = object.metadata?.resourceVersion ?? resourceVersion
      if (type === 'BOOKMARK') continue
      const changed = read(object)
      if (changed === null) continue
      if (type === 'DELETED') objects.delete(changed.metadata.uid)
      else objects.set(changed.metadata.uid, changed)
      onChange?.()
    }
  }

  async function follow(): Promise<void> {
    let pauseMs = FIRST_PAUSE_MS
    while (!stopping.signal.aborted) {
      const startedMs = nowMs()
      try {
        if (resourceVersion === null) {
          resourceVersion = await list()
          onChange?.()
        }
        await watch(resourceVersion)
        behindSinceMs = nowMs()
        pauseMs = FIRST_PAUSE_MS
        // A pause, because a server that ends each watch at once must not be asked in a tight loop.
        if (nowMs() - startedMs < 1_000) await pause(pauseMs)
      } catch (error) {
        if (stopping.signal.aborted) return
        behindSinceMs ??= nowMs()
        if (isExpired(error)) resourceVersion = null
        else log.warn({ err: error, path }, 'watch of the cluster failed')
        await pause(pauseMs)
        pauseMs = nowMs() - startedMs > 10_000 ? FIRST_PAUSE_MS : Math.min(LAST_PAUSE_MS, pauseMs * 2)
      }
    }
  }

  const pause = async (ms: number) => {
    await sleep(ms, undefined, { signal: stopping.signal }).catch(() => {})
  }

  const following = follow()
  return {
    current: () => objects,
    behindMs: () => (behindSinceMs === null ? 0 : nowMs() - behindSinceMs),
    async stop() {
      stopping.abort(new Error('stopped'))
      await following
    },
  }
}

const isExpired = (error: unknown) => error instanceof KubernetesError && error.status === 410

const List = z.object({
  metadata: z.object({ resourceVersion: z.string(), continue: z.string().default('') }),
  items: z.array(z.unknown()),
})

const WatchEvent = z.object({
  type: z.enum(['ADDED', 'MODIFIED', 'DELETED', 'BOOKMARK', 'ERROR']),
  object: z.looseObject({
    metadata: z.looseObject({ resourceVersion: z.string().optional() }).optional(),
    code: z.number().optional(),
    message: z.string().optional(),
  }),
})
