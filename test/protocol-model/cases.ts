import { NO_GOOD_END } from './explore.ts'
import type { Case } from './protocol.ts'
import type { Budget } from './state.ts'
import { HEALTHY_BLAMED, LIVING_SETTLED } from './worker-steps.ts'

/** Faults that a cluster must survive in any order, two of them in one generation's life. */
export const ANY_FAULTS: Budget = {
  total: 2,
  'worker-dies': 2,
  'gateway-dies': 1,
  failover: 2,
  'answer-lost': 2,
  'enqueue-delayed': 1,
  'worker-misjudged': 2,
  'gateway-misjudged': 1,
  'gateway-silent': 1,
  'worker-outdated': 1,
  'hand-back': 2,
  'engine-dies': 2,
  'job-lost': 1,
  'job-doubled': 1,
  'hang-up': 1,
}

const POISON_FAULTS = { total: 1, 'gateway-dies': 1, 'hand-back': 1, 'hang-up': 1 }
const GATEWAY_DIES = { total: 1, 'gateway-dies': 1, 'hang-up': 1 }

/** The cases with the sound rules. No order of steps and faults may violate them. */
export const SOUND_CASES: readonly Case[] = [
  { name: 'any faults', weaker: {}, faults: ANY_FAULTS },
  { name: 'only the gateway dies: no hold is left', weaker: {}, faults: GATEWAY_DIES, sweeper: false },
  ...[0, 1].flatMap((afterTokens) =>
    (['worker', 'engine'] as const).map((kills) => ({
      name: `a request that kills each ${kills} after ${afterTokens} tokens`,
      weaker: {},
      faults: POISON_FAULTS,
      poison: { kills, afterTokens },
    })),
  ),
]

/**
 * Each case has one weaker rule, the fewest faults that show what the weaker rule breaks, and a description of that.
 */
export const WEAKENED_CASES: readonly (Case & { readonly breaks: string })[] = [
  {
    name: 'settling wants the worker and the epoch of the record',
    weaker: { settleFence: 'both' },
    faults: { total: 1, 'worker-misjudged': 1, 'hang-up': 1 },
    breaks: NO_GOOD_END,
  },
  {
    name: 'settling wants the epoch of the record',
    weaker: { settleFence: 'same-epoch' },
    faults: { total: 1, 'worker-misjudged': 1, 'hang-up': 1 },
    breaks: NO_GOOD_END,
  },
  {
    name: 'settling wants the worker of the record',
    weaker: { settleFence: 'worker' },
    faults: { total: 1, failover: 1 },
    breaks: NO_GOOD_END,
  },
  {
    name: 'a worker claims only with a job',
    weaker: { claims: 'with-job' },
    faults: { total: 1, 'job-lost': 1 },
    breaks: NO_GOOD_END,
  },
  {
    name: 'the fence is raised when the enqueue is answered',
    weaker: { fenceRaised: 'enqueue-answered' },
    faults: { total: 1, 'worker-misjudged': 1 },
    breaks: 'a token is doubled',
  },
  {
    name: 'the fence is the epoch alone',
    weaker: { fenceHasWorker: false },
    faults: { total: 1, failover: 1 },
    breaks: 'two workers are mixed in one epoch',
  },
  {
    name: 'a worker starts anew what it has let go',
    weaker: { epochStartedAnew: 'when-let-go' },
    faults: { total: 2, 'gateway-silent': 1, failover: 1 },
    breaks: 'two runs are mixed in one epoch',
  },
  {
    name: 'a worker starts anew what it runs, when its claim was lost',
    weaker: { epochStartedAnew: 'always' },
    faults: { total: 1, failover: 1 },
    breaks: 'two runs are mixed in one epoch',
  },
  {
    name: 'a claim without an answer is not listed',
    weaker: { claimingIsListed: false },
    faults: { total: 1, 'answer-lost': 1 },
    breaks: 'healthy work is dropped',
  },
  {
    name: 'the record names the worker after its first event',
    weaker: { recordNamesWorker: 'always' },
    faults: { total: 1, failover: 1 },
    breaks: 'healthy work is dropped',
  },
  {
    name: 'a worker lets go of a run when its end was sent',
    weaker: { endKept: 'until-sent' },
    faults: { total: 1, 'gateway-dies': 1 },
    sweeper: false,
    breaks: NO_GOOD_END,
  },
  {
    name: 'a missing key is a dead gateway to the worker that claims',
    weaker: { deadAtClaim: 'missing-key' },
    faults: { total: 1, failover: 1 },
    breaks: LIVING_SETTLED,
  },
  {
    name: 'workers settle for a gateway that is silent',
    weaker: { workerSettlesFor: 'silent' },
    faults: { total: 1, 'gateway-silent': 1 },
    breaks: LIVING_SETTLED,
  },
  {
    name: 'a mark of any run of Redis releases a kept settlement',
    weaker: { markCompared: 'alone' },
    faults: { total: 1, failover: 1, 'hang-up': 1 },
    breaks: NO_GOOD_END,
  },
  {
    name: 'a settlement is kept under the run that is read after its answer',
    weaker: { keptUnder: 'run-after' },
    faults: { total: 1, failover: 1, 'hang-up': 1 },
    breaks: NO_GOOD_END,
  },
  {
    name: 'a settlement answered as settled is not kept',
    weaker: { repeatedKept: false },
    faults: { total: 2, 'answer-lost': 1, failover: 1, 'hang-up': 1 },
    breaks: NO_GOOD_END,
  },
  {
    name: 'nobody looks where a continued generation begins',
    weaker: { continuationCompared: false, needsMatched: false },
    faults: { total: 2, 'worker-misjudged': 1, 'worker-outdated': 1 },
    breaks: 'a token is doubled',
  },
  {
    name: 'any worker claims a continued generation',
    weaker: { needsMatched: false },
    faults: { total: 2, 'worker-misjudged': 1, 'worker-outdated': 1 },
    breaks: 'it is dispatched again and again',
  },
  {
    name: 'a repeated claim is not compared with the record',
    weaker: { repeatedClaimChecked: false },
    faults: { total: 1, 'answer-lost': 1, 'hang-up': 1 },
    breaks: 'what was settled runs again',
  },
  {
    name: 'settling deletes the record',
    weaker: { tombstone: false },
    faults: { total: 1, 'enqueue-delayed': 1, 'hang-up': 1 },
    breaks: 'what was settled runs again',
  },
  {
    name: 'every loss counts as a death',
    weaker: { poisonEndsAt: 'second-loss' },
    faults: { total: 2, 'hand-back': 2 },
    breaks: 'a healthy request ends as poison',
  },
  {
    name: 'deaths are not counted',
    weaker: { poisonEndsAt: 'never' },
    faults: {},
    poison: { kills: 'engine', afterTokens: 0 },
    breaks: 'it is dispatched again and again',
  },
  {
    name: 'deaths count as long as there is no output',
    weaker: { deathsCounted: 'before-output' },
    faults: {},
    poison: { kills: 'engine', afterTokens: 1 },
    breaks: 'it is dispatched again and again',
  },
  {
    name: 'those that were present at a death are tried together',
    weaker: { triedAlone: false },
    faults: { total: 2, 'engine-dies': 2 },
    breaks: HEALTHY_BLAMED,
  },
]
