import { add, at, createNumbers, createStateTable, type StateTable } from './state-table.ts'

/** A state machine to search. */
export type Machine<State> = {
  readonly initial: State
  readonly steps: (state: State) => readonly Move<State>[]
  /** 32-bit words of a packed state. */
  readonly words: number
  /** Writes a state into words. Two states may have equal words only if they need not be distinguished. */
  readonly pack: (state: State, words: Uint32Array) => void
  /** Returns a description of a forbidden event that has happened in this state; null if there is none. */
  readonly violation: (state: State) => string | null
  readonly isGoodEnd: (state: State) => boolean
}

export type Move<State> = { readonly label: string; readonly isFault: boolean; readonly next: State }

export type Exploration<State> =
  | { readonly status: 'holds'; readonly states: number; readonly goodEnds: number }
  /** `trace` has the labels of a shortest path to the violation. */
  | {
      readonly status: 'violated'
      readonly states: number
      readonly violation: string
      readonly state: State
      readonly trace: readonly string[]
    }
  | { readonly status: 'too-many-states'; readonly states: number }

export const NO_GOOD_END = 'no good end can be reached without further faults'

/**
 * Visits every state breadth first, so every order of moves and every combination of faults. Reports the first
 * violation, or a state from which no good end can be reached without further faults.
 */
export function explore<State>(machine: Machine<State>, mostStates = 8_000_000): Exploration<State> {
  const known = createStateTable(machine.words)
  const parents = createNumbers()
  const goodEnds = createNumbers()
  /**
   * The targets of the moves without a fault, state after state. `ends` has the number of targets up to each state's
   * last.
   */
  const targets = createNumbers()
  const ends = createNumbers()
  const words = new Uint32Array(machine.words)

  function visit(state: State, parent: number): boolean {
    machine.pack(state, words)
    if (!known.add(words)) return false
    parents.push(parent)
    if (machine.isGoodEnd(state)) goodEnds.push(known.last())
    return true
  }

  visit(machine.initial, -1)
  let level = [machine.initial]
  let origin = 0
  while (level.length > 0) {
    const nextLevel: State[] = []
    for (const state of level) {
      for (const { isFault, next } of machine.steps(state)) {
        const violation = machine.violation(next)
        if (violation !== null) {
          const way = wayTo(parents.all(), origin)
          const found = goAlong(machine, { way, known, last: violation })
          return { status: 'violated', states: known.size(), violation, ...found }
        }
        if (visit(next, origin)) nextLevel.push(next)
        if (isFault) continue
        targets.push(known.last())
      }
      ends.push(targets.length())
      origin += 1
    }
    if (known.size() > mostStates) return { status: 'too-many-states', states: known.size() }
    level = nextLevel
  }
  const stuck = firstStuck({ targets: targets.all(), ends: ends.all(), goodEnds: goodEnds.all() })
  if (stuck === -1) return { status: 'holds', states: known.size(), goodEnds: goodEnds.all().length }
  const found = goAlong(machine, { way: wayTo(parents.all(), stuck), known, last: null })
  return { status: 'violated', states: known.size(), violation: NO_GOOD_END, ...found }
}

/** Returns the first state, in the order of discovery, from which no moves lead to a good end; -1 if there is none. */
function firstStuck({
  targets,
  ends,
  goodEnds,
}: {
  targets: Int32Array
  ends: Int32Array
  goodEnds: Int32Array
}): number {
  const states = ends.length
  // `origins` lists, state after state, the states whose moves lead to it. `starts` has the index at which each list
  // begins.
  const starts = new Int32Array(states + 1)
  for (const target of targets) add(starts, target)
  for (let state = 1; state <= states; state++) add(starts, state, at(starts, state - 1))
  const origins = new Int32Array(targets.length)
  for (let origin = 0, move = 0; origin < states; origin++) {
    for (; move < at(ends, origin); move++) origins[add(starts, at(targets, move), -1)] = origin
  }
  const canEnd = new Uint8Array(states)
  const open = Array.from(goodEnds)
  for (const state of open) canEnd[state] = 1
  for (let state = open.pop(); state !== undefined; state = open.pop()) {
    for (let i = at(starts, state); i < at(starts, state + 1); i++) {
      const origin = at(origins, i)
      if (canEnd[origin] === 1) continue
      canEnd[origin] = 1
      open.push(origin)
    }
  }
  return canEnd.indexOf(0)
}

/** Returns the numbers of the states on the path to a state, without the initial state. */
function wayTo(parents: Int32Array, target: number): number[] {
  const way: number[] = []
  for (let state = target; state > 0; state = at(parents, state)) way.push(state)
  return way.toReversed()
}

/**
 * Follows the path again from the initial state. This is needed because equal words stand for several states, in which
 * the two workers may have exchanged names; a label must mean the same worker in every line. `last` is the violation to
 * which the move after the path leads.
 */
function goAlong<State>(
  machine: Machine<State>,
  { way, known, last }: { way: readonly number[]; known: StateTable; last: string | null },
): { trace: string[]; state: State } {
  const words = new Uint32Array(machine.words)
  const trace: string[] = []
  let state = machine.initial
  for (const target of way) {
    const move = machine.steps(state).find(({ next }) => {
      machine.pack(next, words)
      return known.isAt(target, words)
    })
    if (move === undefined) throw new Error(`no move leads on after: ${trace.join(', ')}`)
    trace.push(move.label)
    state = move.next
  }
  const final =
    last === null ? undefined : machine.steps(state).find(({ next }) => machine.violation(next) === last)
  return final === undefined ? { trace, state } : { trace: [...trace, final.label], state: final.next }
}
