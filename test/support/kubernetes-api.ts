import { randomUUID } from 'node:crypto'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { json } from 'node:stream/consumers'
import { z } from 'zod'

/** An object of the cluster as a test sets it; the server adds uid and resourceVersion. */
export type ClusterObject = {
  metadata: {
    name: string
    uid: string
    resourceVersion: string
    labels?: Record<string, string>
    annotations?: Record<string, string>
    deletionTimestamp?: string
  }
  [field: string]: unknown
}

type NewObject = { metadata: { name: string; [field: string]: unknown }; [field: string]: unknown }

export type KubernetesApi = {
  url: string
  /**
   * Adds the object to a collection (`/api/v1/namespaces/lab/pods`), or replaces the object with the same name.
   * Watchers receive the change.
   */
  put(collection: string, object: NewObject): ClusterObject
  remove(collection: string, name: string): void
  find(collection: string, name: string): ClusterObject | undefined
  all(collection: string): ClusterObject[]
  /** Sends watchers of the collection a bookmark. Returns the bookmark's resource version. */
  bookmark(collection: string): number
  /** Ends all watches, either cleanly or by closing their sockets. */
  endWatches(how: 'cleanly' | 'hard'): void
  /** Forgets the history, so that a watch from an earlier version is answered with 410. */
  compact(): void
  /** Answers every request with this status, until null is set. */
  failWith(status: number | null): void
  /** Answers patches with 500 while true. */
  failPatches(isFailing: boolean): void
  /** Sets the token that requests must carry. */
  setToken(token: string): void
  /** Method and URL of every request so far. */
  requests: string[]
  close(): Promise<void>
}

type Change = { type: string; collection: string; object: ClusterObject; version: number }
type Watcher = { collection: string; selector: string | null; response: ServerResponse }

/**
 * Starts a small HTTP server that answers like the API server of Kubernetes. It can list a collection in pages, watch a
 * collection with resource versions and bookmarks, and apply merge patches. A collection exists if `collections` names
 * it, or once an object was put into it.
 */
export async function startKubernetesApi(collections: readonly string[]): Promise<KubernetesApi> {
  const stored = new Map<string, Map<string, ClusterObject>>(collections.map((name) => [name, new Map()]))
  const watchers = new Set<Watcher>()
  const requests: string[] = []
  let changes: Change[] = []
  let version = 1
  let oldest = 1
  let token: string | null = null
  let failure: number | null = null
  let arePatchesFailing = false

  const objectsOf = (collection: string) => {
    const found = stored.get(collection) ?? new Map<string, ClusterObject>()
    stored.set(collection, found)
    return found
  }

  function publish(type: string, collection: string, object: ClusterObject) {
    const change = { type, collection, object, version }
    changes.push(change)
    for (const watcher of watchers) sendChange(watcher, change)
  }

  function put(collection: string, given: NewObject) {
    const { name } = given.metadata
    const before = objectsOf(collection).get(name)
    version += 1
    const object: ClusterObject = {
      ...structuredClone(given),
      metadata: {
        uid: before?.metadata.uid ?? randomUUID(),
        ...structuredClone(given.metadata),
        resourceVersion: String(version),
      },
    }
    objectsOf(collection).set(name, object)
    publish(before === undefined ? 'ADDED' : 'MODIFIED', collection, object)
    return object
  }

  function watch(collection: string, query: URLSearchParams, response: ServerResponse) {
    const from = Number(query.get('resourceVersion'))
    response.writeHead(200, { 'content-type': 'application/json' })
    response.flushHeaders()
    if (from < oldest) {
      const status = { kind: 'Status', code: 410, message: 'too old resource version', metadata: {} }
      response.end(`${JSON.stringify({ type: 'ERROR', object: status })}\n`)
      return
    }
    const watcher = { collection, selector: query.get('labelSelector'), response }
    watchers.add(watcher)
    response.once('close', () => watchers.delete(watcher))
    for (const change of changes) if (change.version > from) sendChange(watcher, change)
  }

  function list(collection: string, query: URLSearchParams, response: ServerResponse) {
    const matching = [...objectsOf(collection).values()].filter((object) =>
      matches(query.get('labelSelector'), object),
    )
    const start = Number(query.get('continue') ?? 0)
    const end = start + Number(query.get('limit') ?? 500)
    const next = end < matching.length ? { continue: String(end) } : {}
    answer(response, 200, {
      metadata: { resourceVersion: String(version), ...next },
      items: matching.slice(start, end),
    })
  }

  async function patch(collection: string, name: string, exchange: Exchange) {
    const object = stored.get(collection)?.get(name)
    const isMerge = exchange.request.headers['content-type'] === 'application/merge-patch+json'
    if (object === undefined) return answer(exchange.response, 404, { message: `${name} not found` })
    if (!isMerge) return answer(exchange.response, 415, { message: 'expected a merge patch' })
    if (arePatchesFailing) return answer(exchange.response, 500, { message: 'failing' })
    const merged = PatchedObject.parse(mergePatch(object, await json(exchange.request)))
    if (merged.metadata['uid'] !== object.metadata.uid)
      return answer(exchange.response, 409, { message: 'another uid' })
    answer(exchange.response, 200, put(collection, merged))
  }

  async function handle(exchange: Exchange) {
    const { request, response } = exchange
    const url = new URL(request.url ?? '', 'http://api')
    requests.push(`${request.method} ${request.url}`)
    if (failure !== null) return answer(response, failure, { message: 'failing' })
    if (token !== null && request.headers.authorization !== `Bearer ${token}`)
      return answer(response, 401, { message: 'Unauthorized' })
    if (request.method === 'PATCH') {
      const at = url.pathname.lastIndexOf('/')
      return await patch(url.pathname.slice(0, at), url.pathname.slice(at + 1), exchange)
    }
    if (!stored.has(url.pathname)) return answer(response, 404, { message: 'no such resource' })
    if (url.searchParams.get('watch') === 'true') return watch(url.pathname, url.searchParams, response)
    list(url.pathname, url.searchParams, response)
  }

  const server = createServer((request, response) => {
    handle({ request, response }).catch((error: unknown) => answer(response, 500, { message: String(error) }))
  })
  const { promise, resolve } = Promise.withResolvers<void>()
  server.listen(0, '127.0.0.1', resolve)
  await promise

  return {
    url: `http://127.0.0.1:${z.object({ port: z.number() }).parse(server.address()).port}`,
    put,
    remove(collection, name) {
      const object = objectsOf(collection).get(name)
      if (object === undefined) return
      objectsOf(collection).delete(name)
      version += 1
      const metadata = { ...object.metadata, resourceVersion: String(version) }
      publish('DELETED', collection, { ...object, metadata })
    },
    find: (collection, name) => objectsOf(collection).get(name),
    all: (collection) => [...objectsOf(collection).values()],
    bookmark(collection) {
      version += 1
      const object = { metadata: { resourceVersion: String(version) } }
      const line = `${JSON.stringify({ type: 'BOOKMARK', object })}\n`
      for (const watcher of watchers) if (watcher.collection === collection) watcher.response.write(line)
      return version
    },
    endWatches(how) {
      for (const { response } of watchers) {
        if (how === 'cleanly') response.end()
        else response.destroy()
      }
    },
    compact() {
      changes = []
      version += 1
      oldest = version
    },
    failWith(status) {
      failure = status
    },
    failPatches(isFailing) {
      arePatchesFailing = isFailing
    },
    setToken(text) {
      token = text
    },
    requests,
    async close() {
      const { promise, resolve } = Promise.withResolvers<void>()
      server.close(() => resolve())
      server.closeAllConnections()
      await promise
    },
  }
}

type Exchange = { request: IncomingMessage; response: ServerResponse }

const PatchedObject = z.looseObject({ metadata: z.looseObject({ name: z.string() }) })

function answer(response: ServerResponse, status: number, body: object): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
}

function sendChange(watcher: Watcher, { type, collection, object }: Change): void {
  if (watcher.collection !== collection || !matches(watcher.selector, object)) return
  watcher.response.write(`${JSON.stringify({ type, object })}\n`)
}

/** Matches a label selector of the form `key` or `key=value`. */
function matches(selector: string | null, object: ClusterObject): boolean {
  if (selector === null) return true
  const [key = '', value] = selector.split('=')
  const label = object.metadata.labels?.[key]
  return value === undefined ? label !== undefined : label === value
}

/** Applies a JSON merge patch (RFC 7396). */
function mergePatch(target: unknown, patch: unknown): unknown {
  const change = Fields.safeParse(patch).data
  if (change === undefined) return patch
  const merged: Record<string, unknown> = { ...Fields.safeParse(target).data }
  for (const [key, value] of Object.entries(change)) {
    if (value === null) delete merged[key]
    else merged[key] = mergePatch(merged[key], value)
  }
  return merged
}

const Fields = z.record(z.string(), z.unknown())
