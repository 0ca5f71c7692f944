import { on } from 'node:events'
import { styleText } from 'node:util'
import { LIVE_ADDRESSES } from '#libs/live-view/addresses.ts'
import { ModelView, NowView } from '#libs/live-view/views.ts'
import { followLive, readOnce, type ConsoleAccess, type Picture } from './follow-live.ts'
import { chooseModels, toHeader, toModelLines, toModelTable, toProblems } from './render-top.ts'
import { openScreen } from './screen.ts'
import { press, START, toKeys, type TopState } from './top-state.ts'

/**
 * The console sends a picture each second. If no picture has come for longer than this, the screen says that the
 * connection is lost.
 */
const STALE_MS = 5_000
const CHARACTERS = new Intl.Segmenter()
const KEYS = '↑↓ select · Enter open · Esc back · s sort · / filter · p pause · q quit'

/** Returns the state of the cluster once: as JSON for programs, as lines for people. */
export async function readTop(access: ConsoleAccess): Promise<{ answer: Picture<NowView>; text: string }> {
  const answer = await readOnce(access, { address: LIVE_ADDRESSES.now, schema: NowView })
  const models = chooseModels(answer.view, START)
  const lines = [toHeader(answer), ...toProblems(answer.view), '', ...toModelTable(models)]
  return { answer, text: `${lines.join('\n')}\n` }
}

/**
 * Shows the live state of the cluster, renewed each second, until the viewer quits. Throws a CommandError when the
 * console refuses a request.
 */
export async function runTop(access: ConsoleAccess, options: { isColored: boolean }): Promise<void> {
  const { stdin, stdout } = process
  const over = new AbortController()
  let state = START
  let now: Picture<NowView> | null = null
  let one: Picture<ModelView> | null = null
  let receivedMs = performance.now()
  let stopOne = () => {}
  const failure = Promise.withResolvers<never>()
  failure.promise.catch(() => {})

  const screen = openScreen(stdout)
  const draw = () => screen.draw(toScreen({ state, now, one, isStale: isStale() }, options))
  const isStale = () => performance.now() - receivedMs > STALE_MS

  async function follow(signal: AbortSignal) {
    for await (const picture of followLive(access, { name: 'now', schema: NowView, signal })) {
      receivedMs = performance.now()
      if (!state.isPaused) now = picture
      draw()
    }
  }

  async function followModel(model: string, signal: AbortSignal) {
    for await (const picture of followLive(access, { name: `model:${model}`, schema: ModelView, signal })) {
      if (!state.isPaused) one = picture
      draw()
    }
  }

  /** Follows the view of the model that is shown alone. */
  function open(model: string | null) {
    stopOne()
    one = null
    if (model === null) return
    const stop = new AbortController()
    stopOne = () => stop.abort()
    followModel(model, AbortSignal.any([stop.signal, over.signal])).catch(failure.reject)
  }

  function take(key: string) {
    const before = state.model
    state = press(state, key, now === null ? [] : chooseModels(now.view, state).map(({ id }) => id))
    if (state.model !== before) open(state.model)
    if (state.isOver) over.abort()
  }

  async function readKeys() {
    stdin.setEncoding('utf8')
    for await (const [input] of on(stdin, 'data', { signal: over.signal })) {
      for (const key of toKeys(String(input))) take(key)
      draw()
    }
  }

  const onResize = () => {
    screen.forget()
    draw()
  }
  const end = () => over.abort()
  stdin.setRawMode(true)
  stdout.on('resize', onResize)
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, end)
  // A lost connection causes no event, so the screen is drawn each second to show it.
  const ticker = setInterval(draw, 1_000)
  try {
    draw()
    const reading = readKeys().catch((error: unknown) => {
      if (!over.signal.aborted) throw error
    })
    await Promise.race([Promise.all([follow(over.signal), reading]), failure.promise])
  } finally {
    over.abort()
    clearInterval(ticker)
    stdin.setRawMode(false)
    stdin.pause()
    stdout.off('resize', onResize)
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.off(signal, end)
    screen.close()
  }
}

type Shown = {
  readonly state: TopState
  readonly now: Picture<NowView> | null
  readonly one: Picture<ModelView> | null
  readonly isStale: boolean
}

function toScreen({ state, now, one, isStale }: Shown, { isColored }: { isColored: boolean }): string[] {
  const [width, height] = process.stdout.getWindowSize()
  const red = (text: string) => (isColored ? styleText('red', text, { validateStream: false }) : text)
  if (now === null) return [cut(isStale ? 'The console does not answer.' : 'waiting for the console', width)]
  const header = cut(isStale ? `${toHeader(now)}  connection lost` : toHeader(now), width)
  const top = [now.view.problems.length > 0 || isStale ? red(header) : header]
  const problems = toProblems(now.view).map((line) => red(cut(line, width)))
  const body =
    state.model === null
      ? toList(now.view, state, { width, rows: height - problems.length - 3 })
      : one === null
        ? ['']
        : toModelLines(one.view).map((line) => cut(line, width))
  const lines = [...top, ...problems, '', ...body].slice(0, height - 1)
  while (lines.length < height - 1) lines.push('')
  return [...lines, cut(toFooter(state), width)]
}

/** Returns the table's title and as many rows as fit, the selected one among them. */
function toList(view: NowView, state: TopState, { width, rows }: { width: number; rows: number }): string[] {
  const [title, ...lines] = toModelTable(chooseModels(view, state))
  if (title === undefined)
    return [state.filter === '' ? 'There are no models.' : 'No model has that in its name.']
  const selected = Math.min(state.row, lines.length - 1)
  const first = Math.max(0, selected - Math.max(1, rows - 1) + 1)
  return [title, ...lines]
    .map((line) => cut(line, width))
    .map((line, place) =>
      place === selected + 1 ? styleText('inverse', line.padEnd(width), { validateStream: false }) : line,
    )
    .filter((_, place) => place === 0 || (place > first && place <= first + Math.max(1, rows - 1)))
}

function toFooter({ isTyping, filter, isPaused, sort }: TopState): string {
  if (isTyping) return `filter: ${filter}▏`
  const chosen = [
    `by ${sort}`,
    ...(filter === '' ? [] : [`filter ${filter}`]),
    ...(isPaused ? ['paused'] : []),
  ]
  return `${chosen.join(' · ')}   ${KEYS}`
}

/**
 * Cuts a line of printable characters to the terminal's width. Each character is counted as one column, although an
 * East Asian character takes two columns. So a line with East Asian characters may be too long.
 */
function cut(line: string, width: number): string {
  const characters = Array.from(CHARACTERS.segment(line), ({ segment }) => segment)
  return characters.length <= width ? line : `${characters.slice(0, Math.max(0, width - 1)).join('')}…`
}
