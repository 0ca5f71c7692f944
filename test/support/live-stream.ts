import { applyDelta, type Delta, type Parts } from '#libs/live-view/deltas.ts'

/** A reader of the console's live picture, like the console's page. */
export type LiveReader = {
  /** Returns the view as of the last event; null before the first. */
  view(): Parts | null
  /** Returns the names of the events so far. */
  events(): readonly string[]
  close(): void
}

/** Opens a stream. Rejects if the console refuses it. The test closes the stream. */
export async function readLive(url: string, token: string): Promise<LiveReader> {
  const abort = new AbortController()
  const response = await fetch(url, { headers: { authorization: `Bearer ${token}` }, signal: abort.signal })
  if (!response.ok || response.body === null) throw new Error(`the stream answered ${response.status}`)
  let view: Parts | null = null
  const events: string[] = []
  const chunks = response.body.pipeThrough(new TextDecoderStream())
  void (async () => {
    let buffered = ''
    for await (const chunk of chunks) {
      buffered += chunk
      const parts = buffered.split('\n\n')
      buffered = parts.pop() ?? ''
      for (const part of parts) {
        const [, event = '', data = ''] = /^event: (\w+)\ndata: (.*)$/.exec(part) ?? []
        events.push(event)
        if (event === 'snapshot') {
          const snapshot: { view: Parts } = JSON.parse(data)
          view = snapshot.view
        } else {
          const delta: Delta = JSON.parse(data)
          view = applyDelta(view ?? {}, delta)
        }
      }
    }
  })().catch(() => {})
  return { view: () => view, events: () => events, close: () => abort.abort() }
}
