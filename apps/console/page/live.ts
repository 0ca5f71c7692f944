import { streamAddress, type ViewName } from '#libs/live-view/addresses.ts'
import { applyDelta, type Delta, type Parts, type Snapshot } from '#libs/live-view/deltas.ts'
import { read } from './api.ts'
import type { App } from './app.ts'

/** After this long without a message the picture is old: the server sends one a second. */
const STALE_MS = 5_000

export type Live<View> = {
  /** Undefined until the first picture. */
  readonly view: View | undefined
  /** When it was taken. */
  readonly asOf: string | undefined
  readonly isStale: boolean
  close(): void
}

/**
 * Follows a view of the live picture. It is closed while the page is hidden, because a browser has few connections to one
 * server; when the page is shown again it begins with a whole picture. `onPicture` is called with each.
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
    // The browser gives up after an answer that is no stream, such as that of a proxy while the console restarts.
    source.addEventListener('error', () => {
      if (source?.readyState !== EventSource.CLOSED) return
      // A stream has no status to look at: this answer says whether the session has ended.
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
