import type { Rules } from './rules.ts'
import { claim, settle } from './scripts.ts'
import { IDLE, PLACES, TOKENS, released, withMoreJobs, withWorker, wrong } from './state.ts'
import type { Place, State, Store, Worker } from './state.ts'
import { faultStep, step, type Step } from './step.ts'

/** A generation that kills every engine, or every worker with its engine, after this many tokens. */
export type Poison = { readonly kills: 'worker' | 'engine'; readonly afterTokens: number }

/** Returns the next steps of the two workers. */
export function workerSteps(
  state: State,
  rules: Rules,
  { poison }: { readonly poison: Poison | null },
): Step[] {
  return PLACES.flatMap((place) => {
    const worker = state.workers[place]
    if (!worker.up) return [step(`another worker takes the place of ${place}`, replaced(state, place))]
    const kill = (dying: State) => withWorker(dying, place, { up: false })
    return [
      ...claimSteps(state, place, rules),
      ...(worker.doing === 'running' ? runSteps(state, place, { poison, rules }) : []),
      ...(holdsRun(worker) ? releaseSteps(state, place, rules) : []),
      ...faultStep(state, { fault: 'worker-dies', label: `worker ${place} dies` }, kill),
    ]
  })
}

const holdsRun = ({ doing }: Worker) => doing !== 'idle' && doing !== 'claiming'

function claimSteps(state: State, place: Place, rules: Rules): Step[] {
  const worker = state.workers[place]
  const { record } = state.store
  const isClaiming = worker.doing === 'claiming'
  if (holdsRun(worker)) return secondClaimSteps(state, place, rules)
  const fits = !(rules.needsMatched && worker.outdated && record !== null && record.ids > 0)
  const steps: Step[] = []
  const mayClaim = record !== null && record.waiting && fits
  if (isClaiming || (mayClaim && (state.jobs > 0 || rules.claims === 'also-without-job'))) {
    const how = state.jobs > 0 ? 'with a job' : 'without a job'
    const label = isClaiming ? `worker ${place} repeats its claim` : `worker ${place} claims ${how}`
    const taking = isClaiming ? state : withMoreJobs(state, -1)
    const [after, answer] = claim(taking, place, rules)
    const next = answer === null ? released(after, place) : claimed(after, place, { ...answer, rules })
    steps.push(step(label, next))
    if (!isClaiming) {
      const lost = `worker ${place} claims, but the answer is lost`
      const unanswered = (from: State) =>
        withWorker(claim(withMoreJobs(from, -1), place, rules)[0], place, { doing: 'claiming' })
      steps.push(...faultStep(state, { fault: 'answer-lost', label: lost }, unanswered))
    }
  }
  if (!isClaiming && !mayClaim && state.jobs > 0)
    steps.push(step(`worker ${place} takes a job for nothing`, withMoreJobs(state, -1)))
  if (!isClaiming && !worker.outdated) {
    const label = `worker ${place} is of a release that cannot continue`
    const outdate = (from: State) => withWorker(from, place, { outdated: true })
    steps.push(...faultStep(state, { fault: 'worker-outdated', label }, outdate))
  }
  return steps
}

/** A worker with free slots may be given the generation that it already runs, if a failover has lost its claim. */
function secondClaimSteps(state: State, place: Place, rules: Rules): Step[] {
  const { record } = state.store
  if (record === null || !record.waiting) return []
  if (state.jobs === 0 && rules.claims === 'with-job') return []
  const [after, answer] = claim(withMoreJobs(state, -1), place, rules)
  if (answer === null) return []
  const isNewer = answer.epoch > state.workers[place].epoch
  const starts = isNewer || rules.epochStartedAnew === 'always'
  const next = starts ? claimed(released(after, place), place, { ...answer, rules }) : after
  return [step(`worker ${place}, which runs it, claims it again`, next)]
}

function claimed(
  state: State,
  place: Place,
  { epoch, ids, rules }: { epoch: number; ids: number; rules: Rules },
): State {
  const { outdated, ran } = state.workers[place]
  const anew = epoch <= ran
  if (anew && rules.epochStartedAnew === 'never') return released(state, place)
  const after = outdated ? 0 : ids
  const running = withWorker(state, place, { doing: 'running', epoch, after, made: after, anew })
  if (state.gateway.doing === 'dead') return settledByWorker(running, place, rules)
  const judges = rules.deadAtClaim === 'missing-key' && state.keyMissing
  return judges ? wrong(settledByWorker(running, place, rules), LIVING_SETTLED) : running
}

export const LIVING_SETTLED = 'work of a living gateway is settled as a dead one’s'

function runSteps(
  state: State,
  place: Place,
  { poison, rules }: { readonly poison: Poison | null; readonly rules: Rules },
): Step[] {
  const { made } = state.workers[place]
  if (poison !== null && made >= poison.afterTokens) return [killStep(state, place, poison)]
  const handBack = { fault: 'hand-back', label: `worker ${place} hands it back` } as const
  return [
    made < TOKENS
      ? step(`worker ${place} makes token ${made + 1}`, withWorker(state, place, { made: made + 1 }))
      : step(`worker ${place} ends`, withWorker(state, place, { doing: 'ended' })),
    ...faultStep(state, handBack, (from) => withWorker(from, place, { doing: 'handed-back' })),
    ...(isTried(state) && rules.triedAlone ? [] : engineSteps(state, place)),
  ]
}

function killStep(state: State, place: Place, { kills }: Poison): Step {
  const change =
    kills === 'worker' ? { up: false } : ({ doing: isTried(state) ? 'suspect' : 'present' } as const)
  return step(`it kills the ${kills} of place ${place}`, withWorker(state, place, change))
}

/** Returns whether the generation is in quarantine. Two tokens do not end it, so it lasts for the whole epoch. */
const isTried = ({ gateway }: State) => gateway.deaths > 0

/**
 * Another generation kills the engine. If this generation is in quarantine, the death cannot be distinguished from its own.
 */
function engineSteps(state: State, place: Place): Step[] {
  const label = `the engine of worker ${place} dies of another one`
  return faultStep(state, { fault: 'engine-dies', label }, (from) =>
    isTried(from)
      ? wrong(withWorker(from, place, { doing: 'suspect' }), HEALTHY_BLAMED)
      : withWorker(from, place, { doing: 'present' }),
  )
}

export const HEALTHY_BLAMED = 'a healthy request is taken for the cause'

/** Returns the steps with which a worker releases a run. */
function releaseSteps(state: State, place: Place, rules: Rules): Step[] {
  const { gateway } = state
  const { doing } = state.workers[place]
  const settling = (from: State) => settledByWorker(from, place, rules)
  if (gateway.doing === 'dead') return [step(`worker ${place} settles for the dead gateway`, settling(state))]
  const bury = (from: State) => ({ ...settling(from), misjudged: true })
  const silent = { fault: 'gateway-silent', label: `worker ${place} gives up the silent gateway` } as const
  const steps = [
    ...faultStep(
      state,
      { fault: 'gateway-misjudged', label: `worker ${place} takes the gateway for dead` },
      bury,
    ),
    ...faultStep(state, silent, (from) =>
      rules.workerSettlesFor === 'silent' ? wrong(settling(from), LIVING_SETTLED) : released(from, place),
    ),
  ]
  if (gateway.doing === 'open') return steps
  const early = rules.endKept === 'until-sent' && (doing === 'running' || doing === 'ended')
  if (!gateway.settling || early)
    steps.push(step(`worker ${place} lets go of the run`, released(state, place)))
  return steps
}

function settledByWorker(state: State, place: Place, rules: Rules): State {
  const { epoch } = state.workers[place]
  const [after] = settle(state, { epoch, worker: place, usage: 0, by: 'worker' }, rules)
  return released(after, place)
}

/**
 * Replaces a worker by a new process. The new process has another name, so nothing that names the old one has an owner.
 */
function replaced(state: State, place: Place): State {
  const fresh = withWorker(state, place, IDLE)
  const { gateway } = fresh
  return {
    ...fresh,
    store: withoutWorker(fresh.store, place),
    earlier: fresh.earlier.map((store) => withoutWorker(store, place)),
    gateway: gateway.worker === place ? { ...gateway, worker: 'gone' } : gateway,
  }
}

function withoutWorker(store: Store, place: Place): Store {
  const { record } = store
  if (record === null) return store
  const [first, second] = record.given
  const worker = record.worker === place ? 'gone' : record.worker
  return { ...store, record: { ...record, worker, given: place === 0 ? [0, second] : [first, 0] } }
}
