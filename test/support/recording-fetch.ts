/** One request as it went over the wire, and the head of its answer. */
export type Exchange = {
  readonly method: string
  readonly path: string
  readonly body: unknown
  readonly startedMs: number
  readonly answeredMs: number
  readonly status: number
  /** In seconds; null without the header. */
  readonly retryAfterS: number | null
}

/**
 * A `fetch` for a client: records each exchange once its status has arrived, and refuses every host but this machine, so
 * that a test that passes has called no other.
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

/** For each retry, by how much it came after the time that the answer before it had asked for; negative if too early. */
export function retryMargins(exchanges: readonly Exchange[]): number[] {
  return exchanges.slice(1).map((exchange, index) => {
    const refused = exchanges[index]
    if (refused?.retryAfterS == null) throw new Error('a retry without a retry-after before it')
    return exchange.startedMs - refused.answeredMs - refused.retryAfterS * 1_000
  })
}
