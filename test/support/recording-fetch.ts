/** One request as it was sent, and the head of its answer. */
export type Exchange = {
  readonly method: string
  readonly path: string
  readonly body: unknown
  readonly startedMs: number
  readonly answeredMs: number
  readonly status: number
  /** The retry-after in seconds; null without the header. */
  readonly retryAfterS: number | null
}

/**
 * Creates a `fetch` for a client. It records each exchange once the status has arrived. It refuses every host except
 * this machine, so a passing test has called no other host.
 */
export function createRecordingFetch(): { fetch: typeof fetch; exchanges: readonly Exchange[] } {
  const exchanges: Exchange[] = []
  const recordingFetch: typeof fetch = async (input, init) => {
    const request = new Request(input, init)
    const { hostname, pathname } = new URL(request.url)
    if (hostname !== '127.0.0.1') throw new Error(`a client under test called ${request.url}`)
    const text = typeof init?.body === 'string' ? init.body : ''
    const startedMs = performance.now()
    const response = await fetch(input, init)
    const retryAfter = response.headers.get('retry-after')
    exchanges.push({
      method: request.method,
      path: pathname,
      body: text === '' ? null : JSON.parse(text),
      startedMs,
      answeredMs: performance.now(),
      status: response.status,
      retryAfterS: retryAfter === null ? null : Number(retryAfter),
    })
    return response
  }
  return { fetch: recordingFetch, exchanges }
}

/**
 * Returns one number for each exchange except the first: the ms between the moment from which the previous answer's
 * `retry-after` allows a request, and the moment when the request was sent. The number is negative if the request was
 * sent too early. Throws if the previous answer has no `retry-after`.
 */
export function retryMargins(exchanges: readonly Exchange[]): number[] {
  return exchanges.slice(1).map((exchange, index) => {
    const refused = exchanges[index]
    if (refused?.retryAfterS == null) throw new Error('a retry without a retry-after before it')
    return exchange.startedMs - refused.answeredMs - refused.retryAfterS * 1_000
  })
}
