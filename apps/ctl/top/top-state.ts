/** The choices of the viewer. */
export type TopState = {
  /** The selected row, from 0. */
  readonly row: number
  readonly sort: Sort
  readonly filter: string
  /** True while letters go into the filter. */
  readonly isTyping: boolean
  readonly isPaused: boolean
  /** The model that is shown alone; null: all. */
  readonly model: string | null
  readonly isOver: boolean
}

export const SORTS = ['waiting', 'refused', 'output', 'model'] as const
export type Sort = (typeof SORTS)[number]

export const START: TopState = {
  row: 0,
  sort: 'waiting',
  filter: '',
  isTyping: false,
  isPaused: false,
  model: null,
  isOver: false,
}

const MOST_LETTERS = 40

/** Returns the state after one key. `models` has the ids of the shown rows, in their order. */
export function press(state: TopState, key: string, models: readonly string[]): TopState {
  if (key === CTRL_C) return { ...state, isOver: true }
  if (state.isTyping) return type(state, key)
  const row = Math.min(state.row, Math.max(0, models.length - 1))
  switch (key) {
    case UP:
    case 'k':
      return { ...state, row: Math.max(0, row - 1) }
    case DOWN:
    case 'j':
      return { ...state, row: Math.min(Math.max(0, models.length - 1), row + 1) }
    case ENTER:
      return state.model === null ? { ...state, model: models[row] ?? null } : state
    case ESCAPE:
      return state.model === null ? { ...state, filter: '' } : { ...state, model: null }
    case 's':
      return { ...state, sort: SORTS[(SORTS.indexOf(state.sort) + 1) % SORTS.length] ?? state.sort, row: 0 }
    case '/':
      return { ...state, isTyping: true, model: null }
    case 'p':
      return { ...state, isPaused: !state.isPaused }
    case 'q':
      return state.model === null ? { ...state, isOver: true } : { ...state, model: null }
    default:
      return state
  }
}

function type(state: TopState, key: string): TopState {
  if (key === ENTER) return { ...state, isTyping: false }
  if (key === ESCAPE) return { ...state, isTyping: false, filter: '' }
  if (key === BACKSPACE || key === '\b') return { ...state, filter: state.filter.slice(0, -1), row: 0 }
  if (!/^[\x20-\x7e]$/.test(key) || state.filter.length >= MOST_LETTERS) return state
  return { ...state, filter: state.filter + key, row: 0 }
}

const CTRL_C = '\u0003'
const ENTER = '\r'
const ESCAPE = '\u001B'
const BACKSPACE = '\u007F'
const UP = '\u001B[A'
const DOWN = '\u001B[B'

/** Splits one piece of input into keys: a slow terminal sends several at once. */
export function toKeys(input: string): string[] {
  const [first = '', ...sequences] = input.split(ESCAPE)
  return [
    ...Array.from(first),
    ...sequences.flatMap((text) => {
      // `text` is the input after one Escape. Its first two characters belong to the same key as the Escape if the
      // first is `[` or `O` and the second is a capital letter. For example, `[A` is the arrow up (`OA` from a terminal
      // in application mode). Otherwise Escape itself was pressed, and `text` has other keys.
      const [arrow, letter] = /^[[O]([A-Z])/.exec(text) ?? ['', '']
      return [letter === '' ? ESCAPE : `${ESCAPE}[${letter}`, ...Array.from(text.slice(arrow.length))]
    }),
  ]
}
