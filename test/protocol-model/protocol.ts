import type { Machine } from './explore.ts'
import { gatewaySteps } from './gateway-steps.ts'
import { packState, STATE_WORDS } from './pack-state.ts'
import { SOUND, type Rules } from './rules.ts'
import { initialState, type Budget, type State } from './state.ts'
import { storeSteps } from './store-steps.ts'
import { workerSteps, type Poison } from './worker-steps.ts'

export type Case = {
  readonly name: string
  /** The rules that are weaker than the sound rules; empty for the sound set. */
  readonly weaker: Partial<Rules>
  /** How often each fault may happen. A fault that is not named never happens. */
  readonly faults: Partial<Budget>
  readonly poison?: Poison | null
  /** If true (the default), a hold that only its expiry releases is a good end too. */
  readonly sweeper?: boolean
}

const NO_FAULTS: Budget = {
  total: 0,
  'worker-dies': 0,
  'gateway-dies': 0,
  failover: 0,
  'answer-lost': 0,
  'enqueue-delayed': 0,
  'worker-misjudged': 0,
  'gateway-misjudged': 0,
  'gateway-silent': 0,
  'worker-outdated': 0,
  'hand-back': 0,
  'engine-dies': 0,
  'job-lost': 0,
  'job-doubled': 0,
  'hang-up': 0,
}

/** Creates the state machine of one generation under the rules and faults of a case. */
export function createProtocol({ weaker, faults, poison = null, sweeper = true }: Case): Machine<State> {
  const rules = { ...SOUND, ...weaker }
  return {
    initial: initialState({ ...NO_FAULTS, ...faults }),
    steps: (state) => [
      ...gatewaySteps(state, rules),
      ...workerSteps(state, rules, { poison }),
      ...storeSteps(state, rules),
    ],
    words: STATE_WORDS,
    pack: packState,
    violation: ({ bad }) => bad,
    isGoodEnd: (state) => isGoodEnd(state) && (sweeper || !isSwept(state)),
  }
}

/** Returns whether the end is good: nothing waits, nothing runs, and the delivered tokens are charged. */
function isGoodEnd({ gateway, workers, store, billed, misjudged }: State): boolean {
  const isQuiet =
    workers.every(({ up, doing }) => !up || doing === 'idle') &&
    store.record?.waiting !== true &&
    store.stream.length === 0
  if (!isQuiet || gateway.doing === 'open') return false
  if (gateway.doing === 'dead') return true
  if (gateway.settling || gateway.keptUnder !== null) return false
  return billed === gateway.due || (misjudged && (billed === 0 || gateway.due === 0))
}

/** Returns whether the gateway died after its enqueue without a settlement: then the hold stays until it expires. */
function isSwept({ gateway, store, billed }: State): boolean {
  return gateway.doing === 'dead' && billed === null && store.record !== null
}
