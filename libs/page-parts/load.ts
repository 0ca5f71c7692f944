import { html, nothing, type TemplateResult } from 'lit-html'
import { Failure } from './failure.ts'
import type { PageApp } from './page-app.ts'

/** How soon a failed read is repeated if the server names no time. */
const RETRY_MS = 5_000

export type Loading<Value> = {
  readonly value: Value | undefined
  readonly failure: Failure | undefined
  readonly isLoading: boolean
  reload(): void
  close(): void
}

/**
 * Reads a value. While the page is visible, reads it again `everyMs` after each answer. Each new value replaces the
 * earlier one. If a read fails, the earlier value stays, so that the screen can show both the value and the failure. A
 * failed read is repeated automatically if the failure may pass, because a page on a wall display has no viewer who
 * presses a button.
 */
export function load<Value>(
  app: Pick<PageApp, 'redraw'>,
  read: (signal: AbortSignal) => Promise<Value>,
  { everyMs }: { everyMs?: number } = {},
): Loading<Value> {
  let running: AbortController | undefined
  let timer: ReturnType<typeof setTimeout> | undefined
  let closed = false
  const state: { value: Value | undefined; failure: Failure | undefined; isLoading: boolean } = {
    value: undefined,
    failure: undefined,
    isLoading: true,
  }

  async function run(): Promise<void> {
    running?.abort()
    clearTimeout(timer)
    const own = new AbortController()
    running = own
    state.isLoading = true
    try {
      const value = await read(own.signal)
      if (own.signal.aborted) return
      state.value = value
      state.failure = undefined
    } catch (error) {
      if (own.signal.aborted) return
      state.failure = toFailure(error)
    }
    state.isLoading = false
    // The next read is scheduled after the answer, so that slow reads do not pile up.
    const nextMs = state.failure?.mayPass === true ? retryMs(state.failure) : everyMs
    if (nextMs !== undefined && !closed) timer = setTimeout(again, nextMs)
    app.redraw()
  }

  function again(): void {
    if (document.hidden) timer = setTimeout(again, 1_000)
    else void run()
  }

  void run()
  return {
    get value() {
      return state.value
    },
    get failure() {
      return state.failure
    },
    get isLoading() {
      return state.isLoading
    },
    reload() {
      void run()
      app.redraw()
    },
    close() {
      closed = true
      clearTimeout(timer)
      running?.abort()
    },
  }
}

function retryMs({ retryAfterS }: Failure): number {
  return retryAfterS === undefined ? RETRY_MS : retryAfterS * 1_000
}

export type LoadingList<Entry> = Omit<Loading<readonly Entry[]>, 'value'> & {
  readonly entries: readonly Entry[] | undefined
  readonly hasMore: boolean
  more(): void
  /** Repeats the failed read of the first page or of the next page. */
  retry(): void
}

/** Reads a list page by page, the next page when the viewer asks for it. */
export function loadList<Entry>(
  app: Pick<PageApp, 'redraw'>,
  readPage: (
    cursor: string | undefined,
    signal: AbortSignal,
  ) => Promise<{ data: readonly Entry[]; nextCursor: string | null }>,
): LoadingList<Entry> {
  let entries: readonly Entry[] = []
  let cursor: string | undefined
  let next: string | null = null
  const page = load(app, async (signal) => {
    const answer = await readPage(cursor, signal)
    entries = cursor === undefined ? answer.data : [...entries, ...answer.data]
    next = answer.nextCursor
    return true
  })
  return {
    get entries() {
      return page.value === undefined ? undefined : entries
    },
    get failure() {
      return page.failure
    },
    get isLoading() {
      return page.isLoading
    },
    get hasMore() {
      return next !== null
    },
    more() {
      if (page.isLoading || next === null) return
      cursor = next
      page.reload()
    },
    reload() {
      cursor = undefined
      page.reload()
    },
    retry: page.reload,
    close: page.close,
  }
}

/** Shows the value, or that it is loading; above it, the failure of the last read. */
export function showLoaded<Value>(
  loading: Pick<Loading<Value>, 'value' | 'failure' | 'reload'>,
  view: (value: Value) => TemplateResult,
): TemplateResult {
  const { value, failure } = loading
  return html`${failure === undefined ? nothing : showFailure(failure, () => loading.reload())}
  ${value === undefined ? (failure === undefined ? showWaiting() : nothing) : view(value)}`
}

export function showWaiting(): TemplateResult {
  return html`<p class="waiting">Loading …</p>`
}

export function showFailure(failure: Failure, retry?: () => void): TemplateResult {
  return html`<div class="notice bad" role="alert">
    <p>${failure.message}</p>
    ${retry === undefined ? nothing : html`<button type="button" @click=${retry}>Try again</button>`}
  </div>`
}

export function toFailure(error: unknown): Failure {
  if (error instanceof Failure) return error
  console.error(error)
  return new Failure(0, { code: 'page', message: 'The page failed; the browser’s console has the cause.' })
}
