import type { Rules } from './rules.ts'
import { enqueue, settle } from './scripts.ts'
import { MOST_EPOCHS, PLACES, TOKENS, released, withGateway, withMoreJobs, wrong } from './state.ts'
import type { Gateway, Place, State, WorkerName } from './state.ts'
import { faultStep, step, type Step } from './step.ts'

/** Returns the next steps of the gateway, its caller and its Redis connections. */
export function gatewaySteps(state: State, rules: Rules): Step[] {
  const { gateway } = state
  if (gateway.doing === 'dead') return []
  const die = (dying: State) =>
    withGateway({ ...dying, mark: null, left: { ...dying.left, ...NEVER_WHEN_DEAD } }, DEAD)
  return [
    ...(gateway.doing === 'open' ? openSteps(state, rules) : []),
    ...settlementSteps(state, rules),
    ...(state.keyMissing
      ? [step('the gateway writes its liveness key', { ...state, keyMissing: false })]
      : []),
    ...faultStep(state, { fault: 'gateway-dies', label: 'the gateway dies' }, die),
  ]
}

/** The values of fields that are not read any more; one value for each means fewer states. */
const OVER = {
  doing: 'over',
  fromAnew: false,
  accepted: 0,
  ids: 0,
  deaths: 0,
  enqueueWanted: false,
  fencePending: false,
} as const
const DEAD = {
  ...OVER,
  doing: 'dead',
  epoch: 0,
  worker: null,
  due: null,
  settling: false,
  keptUnder: null,
  run: 0,
} as const
const NEVER_WHEN_OVER = { 'hang-up': 0, 'enqueue-delayed': 0, 'worker-misjudged': 0 }
const NEVER_WHEN_DEAD = { ...NEVER_WHEN_OVER, 'gateway-misjudged': 0, 'gateway-silent': 0 }

function openSteps(state: State, rules: Rules): Step[] {
  const { gateway, store, run } = state
  const steps = [
    ...(gateway.enqueueWanted ? enqueueSteps(state) : []),
    ...PLACES.flatMap((place) => eventSteps(state, place, rules)),
    ...watchSteps(state, rules),
    ...faultStep(state, { fault: 'hang-up', label: 'the caller hangs up' }, (left) =>
      ended(left, left.gateway.delivered),
    ),
  ]
  const settled = store.record !== null && store.record.settled !== null
  if (settled) steps.push(step('the gateway learns that it is settled', settledForIt(state)))
  if (gateway.run < run) {
    const next = withGateway(state, { run, enqueueWanted: true })
    steps.push(step('the gateway notices the failover and enqueues again', next))
  }
  return steps
}

function enqueueSteps(state: State): Step[] {
  const { epoch, ids } = state.gateway
  const label = `the gateway enqueues to epoch ${epoch} with ${ids} ids`
  const [enqueued, answer] = enqueue(state, { epoch, ids })
  // The job is sent together with the enqueue.
  const next = answer === 'settled' ? settledForIt(enqueued) : withMoreJobs(enqueueAnswered(enqueued), 1)
  return [
    step(label, next),
    ...faultStep(state, { fault: 'answer-lost', label: `${label}, but the answer is lost` }, (lost) => {
      const [unanswered] = enqueue(lost, { epoch, ids })
      return withMoreJobs(unanswered, 1)
    }),
    ...faultStep(
      state,
      { fault: 'enqueue-delayed', label: `${label}, but Redis has not read it` },
      (late) => ({
        ...late,
        delayedEnqueue: { epoch, ids },
      }),
    ),
  ]
}

function enqueueAnswered(state: State): State {
  const fence = state.gateway.fencePending
    ? { fencePending: false, worker: null, accepted: 0, fromAnew: false }
    : {}
  return withGateway(state, { enqueueWanted: false, ...fence })
}

/** A worker has settled the generation, so the gateway ends it as our fault. */
function settledForIt(state: State): State {
  return over(state, { due: 0, settling: false })
}

/** Returns the events that one worker may send, or the stop of a worker that may not send any. */
function eventSteps(state: State, place: Place, rules: Rules): Step[] {
  const { gateway } = state
  const worker = state.workers[place]
  const epoch = gateway.fencePending ? gateway.epoch - 1 : gateway.epoch
  const sends = worker.doing !== 'idle' && worker.doing !== 'claiming'
  const stops = sends && worker.up && !gateway.fencePending
  if (stops && worker.epoch < gateway.epoch)
    return [step(`the gateway stops worker ${place} of epoch ${worker.epoch}`, released(state, place))]
  if (!sends || worker.epoch !== epoch) return []
  if (rules.fenceHasWorker && gateway.worker !== null && gateway.worker !== place) {
    return worker.up ? [step(`the gateway stops worker ${place}, a second one`, released(state, place))] : []
  }
  const misfits = rules.continuationCompared && gateway.accepted === 0 && worker.after !== gateway.ids
  if (misfits) {
    return worker.up
      ? [
          step(
            `the gateway stops worker ${place}: it continues after ${worker.after}`,
            released(state, place),
          ),
        ]
      : []
  }
  const position = worker.after + gateway.accepted + 1
  if (position <= worker.made)
    return [step(`the gateway receives token ${position} of worker ${place}`, accepted(state, place))]
  if (position !== worker.made + 1) return []
  if (worker.doing === 'ended')
    return [step(`the gateway receives the end from worker ${place}`, endReceived(state))]
  if (worker.doing === 'running' || gateway.enqueueWanted) return []
  const label = `the gateway receives the hand-back of worker ${place}`
  const blame = worker.doing === 'handed-back' ? 'none' : worker.doing
  return [step(label, dispatchedAgain(state, rules, blame))]
}

function accepted(state: State, place: Place): State {
  const { gateway } = state
  const position = state.workers[place].after + gateway.accepted + 1
  const next = withGateway(state, {
    worker: gateway.worker ?? place,
    fromAnew: state.workers[place].anew,
    accepted: gateway.accepted + 1,
    delivered: gateway.delivered + 1,
  })
  if (gateway.worker !== null && gateway.worker !== place)
    return wrong(next, 'two workers are mixed in one epoch')
  if (gateway.accepted > 0 && gateway.fromAnew !== next.gateway.fromAnew)
    return wrong(next, 'two runs are mixed in one epoch')
  if (position === gateway.delivered + 1) return next
  return wrong(next, position <= gateway.delivered ? 'a token is doubled' : 'a token is lost')
}

function endReceived(state: State): State {
  const next = ended(state, state.gateway.delivered)
  return state.gateway.delivered === TOKENS ? next : wrong(next, 'the end comes too early')
}

function ended(state: State, due: number): State {
  return over(state, { due, settling: true })
}

function over(state: State, { due, settling }: { due: number; settling: boolean }): State {
  const left = { ...state.left, ...NEVER_WHEN_OVER }
  // The gateway removes the generation's job if the job still waits.
  return withGateway(withMoreJobs({ ...state, left }, -1), { ...OVER, due, settling })
}

/** Returns the steps of the watch over the worker that runs the generation, if the gateway knows this worker. */
function watchSteps(state: State, rules: Rules): Step[] {
  const { gateway, workers } = state
  const name = watched(state, rules)
  if (gateway.enqueueWanted || gateway.fencePending || name === null) return []
  const worker = name === 'gone' ? null : workers[name]
  if (worker === null || !worker.up)
    return [step(`the gateway finds worker ${name} dead`, dispatchedAgain(state, rules, blameOfDead(state)))]
  const isClaiming = worker.doing === 'claiming'
  const isListed = worker.epoch === gateway.epoch && worker.doing !== 'idle' && !isClaiming
  if (!isListed && !(isClaiming && rules.claimingIsListed)) {
    const next = dispatchedAgain(state, rules, 'none')
    const works = isClaiming || runs(state, gateway.worker)
    const label = `worker ${name} says that it does not run it`
    return [step(label, works ? wrong(next, 'healthy work is dropped') : next)]
  }
  return faultStep(
    state,
    { fault: 'worker-misjudged', label: `the gateway takes worker ${name} for dead` },
    (judging) => dispatchedAgain(judging, rules, blameOfDead(judging)),
  )
}

/** Returns the worker whose events the gateway accepted; before the first event, the worker that the record names. */
function watched({ gateway, store: { record } }: State, rules: Rules): WorkerName | null {
  const isRecords = record !== null && record.epoch === gateway.epoch && record.settled === null
  const claimant = isRecords ? record.worker : null
  return rules.recordNamesWorker === 'always' ? (claimant ?? gateway.worker) : (gateway.worker ?? claimant)
}

function runs({ gateway, workers }: State, name: WorkerName | null): boolean {
  if (name === null || name === 'gone') return false
  const worker = workers[name]
  return worker.up && worker.doing === 'running' && worker.epoch === gateway.epoch
}

/**
 * Returns the blame for a death. A dead worker reports nothing, so it is derived from the events that came from the
 * worker, and from earlier deaths, after which the generation is in quarantine.
 */
function blameOfDead({ gateway: { accepted, deaths } }: State): 'none' | 'present' | 'suspect' {
  if (accepted > 0) return 'none'
  return deaths > 0 ? 'suspect' : 'present'
}

/** The most deaths that are counted; more are not distinguished. */
const MOST_DEATHS = 3

/** Begins the next epoch: first raises the fence, then reads the ids for the enqueue. A poison request ends instead. */
function dispatchedAgain(state: State, rules: Rules, blame: 'none' | 'present' | 'suspect'): State {
  const { gateway } = state
  const counts = blame !== 'none' && (rules.deathsCounted === 'all' || gateway.delivered === 0)
  const deaths = Math.min(MOST_DEATHS, gateway.deaths + (counts ? 1 : 0))
  const counted = withGateway(state, { deaths })
  if (rules.poisonEndsAt === 'second-death' && blame === 'suspect' && deaths >= 2) return ended(counted, 0)
  if (rules.poisonEndsAt === 'second-loss' && gateway.epoch >= 2)
    return deaths < 2 ? wrong(ended(counted, 0), 'a healthy request ends as poison') : ended(counted, 0)
  const fence =
    rules.fenceRaised === 'before-ids'
      ? { worker: null, accepted: 0, fromAnew: false }
      : { fencePending: true }
  const next = withGateway(counted, {
    epoch: gateway.epoch + 1,
    ids: gateway.delivered,
    enqueueWanted: true,
    ...fence,
  })
  return gateway.epoch === MOST_EPOCHS ? wrong(next, 'it is dispatched again and again') : next
}

/** Returns the steps that send the settlement, keep it until billing's mark covers it, and send it again. */
function settlementSteps(state: State, rules: Rules): Step[] {
  const { gateway, run, mark } = state
  const steps: Step[] = []
  if (gateway.settling) {
    const send = (from: State) => settle(from, settlementOf(gateway), rules)
    const [sent, answer] = send(state)
    steps.push(step(`the gateway settles: ${answer}`, settleAnswered(sent, answer, rules)))
    const label = 'the gateway settles, but the answer is lost'
    steps.push(...faultStep(state, { fault: 'answer-lost', label }, (lost) => send(lost)[0]))
  }
  const { keptUnder } = gateway
  if (keptUnder === null) return steps
  if (mark !== null && (mark === keptUnder || rules.markCompared === 'alone'))
    steps.push(step('billing’s mark passes the kept settlement', dropped(state)))
  if (gateway.run < run) {
    const next =
      rules.keptUnder === 'run-before'
        ? withGateway(state, { run, settling: true })
        : withGateway(state, { run, keptUnder: run })
    steps.push(step('the gateway notices the failover and looks at what it kept', next))
  }
  return steps
}

function dropped(state: State): State {
  return withGateway({ ...state, mark: null }, { keptUnder: null, run: 0 })
}

function settlementOf({ epoch, worker, due }: Gateway) {
  return { epoch, worker, usage: due ?? 0, by: 'gateway' } as const
}

function settleAnswered(state: State, answer: 'recorded' | 'settled' | 'stale', rules: Rules): State {
  // The gateway repeats the call without end: with sound rules the answer is never `stale`.
  if (answer === 'stale') return state
  const kept = answer === 'recorded' || rules.repeatedKept
  const { gateway } = state
  const answered = withGateway({ ...state, mark: null }, { settling: false, keptUnder: gateway.run })
  return kept ? answered : dropped(answered)
}
