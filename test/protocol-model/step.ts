import type { Fault, State } from './state.ts'

/** One thing that can happen in a state. */
export type Step = { readonly label: string; readonly isFault: boolean; readonly next: State }

export function step(label: string, next: State): Step {
  return { label, isFault: false, next }
}

/** Returns whether the event does not count as a fault. */
const isFree = (fault: Fault) => fault === 'hang-up'

function mayFail(state: State, fault: Fault): boolean {
  return state.left[fault] > 0 && (isFree(fault) || state.left.total > 0)
}

/**
 * Returns the step of a fault if the budget still allows the fault. `change` gets the state in which the fault is
 * counted.
 */
export function faultStep(
  state: State,
  { fault, label }: { fault: Fault; label: string },
  change: (state: State) => State,
): Step[] {
  if (!mayFail(state, fault)) return []
  const { left } = state
  const total = left.total - (isFree(fault) ? 0 : 1)
  const counted = { ...state, left: { ...left, [fault]: left[fault] - 1, total } }
  return [{ label, isFault: true, next: change(counted) }]
}
