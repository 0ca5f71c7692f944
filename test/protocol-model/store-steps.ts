import type { Rules } from './rules.ts'
import { enqueue } from './scripts.ts'
import { MOST_JOBS, withMoreJobs, wrong, type State } from './state.ts'
import { faultStep, step, type Step } from './step.ts'

/** Returns the next steps of Redis and billing. */
export function storeSteps(state: State, rules: Rules): Step[] {
  const { store, run, mark, delayedEnqueue, earlier } = state
  const steps: Step[] = []
  if (delayedEnqueue !== null) {
    const [enqueued] = enqueue(state, delayedEnqueue)
    const label = `Redis executes the delayed enqueue to epoch ${delayedEnqueue.epoch}`
    steps.push(step(label, { ...enqueued, delayedEnqueue: null }))
  }
  if (state.jobs > 0) {
    const lost = { fault: 'job-lost', label: 'a job is lost' } as const
    const doubled = { fault: 'job-doubled', label: 'a job is doubled' } as const
    steps.push(...faultStep(state, lost, (from) => withMoreJobs(from, -1)))
    if (state.jobs < MOST_JOBS) steps.push(...faultStep(state, doubled, (from) => withMoreJobs(from, 1)))
  }
  const { keptUnder } = state.gateway
  if (store.stream.length > 0 || (keptUnder !== null && mark !== run))
    steps.push(step('billing commits', committed(state)))
  for (const [back, before] of earlier.entries()) {
    const label = `a failover loses ${earlier.length - back} write${earlier.length - back === 1 ? '' : 's'}`
    steps.push(
      ...faultStep(state, { fault: 'failover', label }, (from) => ({
        ...from,
        store: before,
        earlier: [],
        run: run + 1,
        // Only this rule reads the field.
        keyMissing: rules.deadAtClaim === 'missing-key',
      })),
    )
  }
  return steps
}

/** Billing commits the first settlement. A later settlement that differs raises an alarm. */
function committed(state: State): State {
  let next: State = {
    ...state,
    store: { ...state.store, stream: [] },
    mark: state.gateway.keptUnder === null ? null : state.run,
  }
  for (const { usage, by } of state.store.stream) {
    if (next.billed === null) {
      next = { ...next, billed: usage }
      if (usage > state.gateway.delivered) next = wrong(next, 'undelivered tokens are charged')
    } else if (next.billed !== usage && by === 'gateway' && !state.misjudged) {
      next = wrong(next, 'two settlements disagree')
    }
  }
  return next
}
