import { streamAddress, type ViewName } from '#libs/live-view/addresses.ts'
import { applyDelta, type Delta, type Parts, type Snapshot } from '#libs/live-view/deltas.ts'
import { read } from './api.ts'
import type { App } from './app.ts'

/** A picture is stale after this long without a message. The server sends one each second. */
const STALE_MS = 5_000

export type Live<View> = {
  /** Undefined until the first snapshot. */
  readonly view: View | undefined
  /** When the view was taken. */
  readonly asOf: string | undefined
  readonly isStale: boolean
  close(): void
}

/**
 * Follows a view of the live picture by an event stream, and calls `onPicture` after each event. The stream is closed
 * while the page is hidden, because a browser opens few connections to one server. When the page is shown again, the
 * new stream begins with a snapshot.
 */
export function followLive<View extends Parts>(
  app: Pick<App, 'redraw'>,
  name: ViewName,
  onPicture: (view: View, asOf: string) => void = () => {},
): Live<View> {
  let source: EventSource | undefined
  let staleTimer: ReturnType<typeof setTimeout> | undefined
  const state: { view: View | undefined; asOf: string | undefined; isStale: boolean } = {
    view: undefined,
    asOf: undefined,
    isStale: false,
  }

  function receive(view: View, asOf: string): void {
    state.view = view
    state.asOf = asOf
    state.isStale = false
    watch()
    onPicture(view, asOf)
    app.redraw()
  }

  function watch(): void {
    clearTimeout(staleTimer)
    staleTimer = setTimeout(() => {
      state.isStale = true
      app.redraw()
    }, STALE_MS)
  }

  function open(): void {
    watch()
    source = new EventSource(streamAddress(name))
    source.addEventListener('snapshot', ({ data }: MessageEvent<string>) => {
      const { view, asOf }: Snapshot<View> = JSON.parse(data)
      receive(view, asOf)
    })
    source.addEventListener('delta', ({ data }: MessageEvent<string>) => {
      const delta: Delta = JSON.parse(data)
      if (state.view !== undefined) receive(applyDelta(state.view, delta), delta.asOf)
    })
    // The browser does not reconnect after an answer that is not an event stream, such as a proxy's error while the
    // console restarts.
    source.addEventListener('error', () => {
      if (source?.readyState !== EventSource.CLOSED) return
      // An EventSource does not expose the HTTP status. This request finds out whether the session has ended.
      void read('/me', {}).catch(() => {})
      retry()
    })
  }

  let retryTimer: ReturnType<typeof setTimeout> | undefined
  function retry(): void {
    clearTimeout(retryTimer)
    retryTimer = setTimeout(open, 3_000)
  }

  function shut(): void {
    source?.close()
    clearTimeout(staleTimer)
    clearTimeout(retryTimer)
  }

  function onVisibility(): void {
    shut()
    if (!document.hidden) open()
  }

  document.addEventListener('visibilitychange', onVisibility)
  if (!document.hidden) open()
  return {
    get view() {
      return state.view
    },
    get asOf() {
      return state.asOf
    },
    get isStale() {
      return state.isStale
    },
    close() {
      document.removeEventListener('visibilitychange', onVisibility)
      shut()
    },
  }
}
