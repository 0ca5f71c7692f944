import { readFile } from 'node:fs/promises'
import { Agent as HttpAgent, request as requestHttp, type IncomingMessage } from 'node:http'
import { Agent as HttpsAgent, request as requestHttps } from 'node:https'
import { text } from 'node:stream/consumers'

/**
 * The API server answered with a status other than 2xx. A `status` of 410 says that the resource version is too old.
 */
export class KubernetesError extends Error {
  readonly status: number

  constructor(status: number, message: string) {
    super(message)
    this.name = 'KubernetesError'
    this.status = status
  }
}

/** The three calls that Millrace makes. Paths begin with `/api` or `/apis` and include the query. */
export type KubernetesClient = {
  /** Resolves with the parsed body. Rejects with a KubernetesError, or with a timeout after 10 s. */
  get(path: string): Promise<unknown>
  /** Sends a merge patch (RFC 7396), in which null removes a field. Resolves and rejects as `get`. */
  patch(path: string, body: object): Promise<unknown>
  /**
   * Yields the parsed lines of a streamed answer. `onOpen` is called when the answer begins. Ends when the server ends
   * the answer. Throws a KubernetesError for a status other than 2xx. Also throws if the answer does not begin within
   * 10 s, if nothing arrives for `idleMs`, and when `signal` aborts.
   */
  stream(
    path: string,
    options: { idleMs: number; signal: AbortSignal; onOpen: () => void },
  ): AsyncIterable<unknown>
  /** Connections that begin later trust these authorities, as PEM. */
  trust(ca: readonly string[]): void
  close(): void
}

const REQUEST_MS = 10_000
/**
 * The time after which the next request reads the token's file again. A pod's token is valid for an hour. After 80 % of
 * that hour the kubelet writes a new token to a file at the same path.
 */
const TOKEN_FRESH_MS = 30_000
/** The most bytes of one line, which has one object. etcd refuses objects above 1.5 MiB. */
const MOST_LINE_BYTES = 8 << 20
/** The most bytes of one body. It is larger than a line, because a list has up to `limit` objects. */
const MOST_BODY_BYTES = 64 << 20

/**
 * Creates a client. `ca` is PEM; without it the system's authorities are trusted. Before a request the token file is
 * read again if the last reading is more than 30 s ago, or if the server has refused the token since.
 */
export function createKubernetesClient(options: {
  url: string
  ca: string | readonly string[] | undefined
  tokenFile: string | undefined
}): KubernetesClient {
  const { url, tokenFile } = options
  let authorities = toAuthorities(options.ca)
  const isTls = new URL(url).protocol === 'https:'
  const connection = { keepAlive: true, keepAliveMsecs: 15_000 }
  // The agent does not share connections between different authorities.
  const agent = isTls ? new HttpsAgent(connection) : new HttpAgent(connection)
  let token: { text: string; readMs: number } | null = null

  async function toHeaders(): Promise<Record<string, string>> {
    if (tokenFile === undefined) return {}
    if (token === null || performance.now() - token.readMs > TOKEN_FRESH_MS) {
      token = { text: (await readFile(tokenFile, 'utf8')).trim(), readMs: performance.now() }
    }
    return { authorization: `Bearer ${token.text}` }
  }

  async function send(method: string, path: string, call: Call): Promise<IncomingMessage> {
    const headers = { accept: 'application/json', ...(await toHeaders()), ...call.headers }
    const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>()
    const start = isTls ? requestHttps : requestHttp
    const sent = start(
      new URL(path, url),
      { ...authorities, method, headers, agent, signal: call.signal },
      resolve,
    )
    sent.once('error', reject)
    sent.end(call.body)
    const response = await promise
    const status = response.statusCode ?? 0
    if (status >= 200 && status < 300) return response
    if (status === 401) token = null
    const body = (await text(bounded(response, MOST_LINE_BYTES))).slice(0, 500)
    throw new KubernetesError(status, `${method} ${path}: ${status} ${body}`)
  }

  async function exchange(method: string, path: string, call: Omit<Call, 'signal'> = {}): Promise<unknown> {
    const signal = AbortSignal.timeout(REQUEST_MS)
    const response = await send(method, path, { ...call, signal })
    const body: unknown = JSON.parse(await text(bounded(response, MOST_BODY_BYTES)))
    return body
  }

  return {
    get: async (path) => await exchange('GET', path),
    patch: async (path, body) =>
      await exchange('PATCH', path, {
        headers: { 'content-type': 'application/merge-patch+json' },
        body: JSON.stringify(body),
      }),
    async *stream(path, { idleMs, signal, onOpen }) {
      const silence = new AbortController()
      const endAfter = (ms: number) =>
        setTimeout(() => silence.abort(new Error(`nothing came for ${ms} ms: ${path}`)), ms)
      let timer = endAfter(REQUEST_MS)
      try {
        const response = await send('GET', path, { signal: AbortSignal.any([signal, silence.signal]) })
        clearTimeout(timer)
        timer = endAfter(idleMs)
        onOpen()
        for await (const line of toLines(response)) {
          timer.refresh()
          const value: unknown = JSON.parse(line)
          yield value
        }
      } finally {
        clearTimeout(timer)
      }
    },
    trust(ca) {
      authorities = toAuthorities(ca)
    },
    close: () => agent.destroy(),
  }
}

function toAuthorities(ca: string | readonly string[] | undefined): { ca?: string[] } {
  return ca === undefined ? {} : { ca: [ca].flat() }
}

type Call = { headers?: Record<string, string>; body?: string; signal: AbortSignal }

async function* bounded(response: IncomingMessage, mostBytes: number): AsyncIterable<Buffer> {
  let bytes = 0
  for await (const chunk of toChunks(response)) {
    bytes += chunk.length
    if (bytes > mostBytes) throw new Error(`the API server's answer is longer than ${mostBytes} bytes`)
    yield chunk
  }
}

async function* toLines(response: IncomingMessage): AsyncIterable<string> {
  let parts: Buffer[] = []
  let bytes = 0
  for await (const chunk of toChunks(response)) {
    let start = 0
    for (let end = chunk.indexOf(NEWLINE); end !== -1; end = chunk.indexOf(NEWLINE, start)) {
      const line = Buffer.concat([...parts, chunk.subarray(start, end)]).toString()
      ;[parts, bytes, start] = [[], 0, end + 1]
      if (line.trim() !== '') yield line
    }
    parts.push(chunk.subarray(start))
    bytes += chunk.length - start
    if (bytes > MOST_LINE_BYTES)
      throw new Error(`the API server's line is longer than ${MOST_LINE_BYTES} bytes`)
  }
}

const NEWLINE = 0x0a

async function* toChunks(response: IncomingMessage): AsyncIterable<Buffer> {
  for await (const chunk of response) {
    if (Buffer.isBuffer(chunk)) yield chunk
  }
}
