/**
 * The rules of the design. Each rule has a sound value, which `SOUND` has, and weaker values, which `cases.ts` tries.
 */
export type Rules = {
  /**
   * Which record a gateway's settlement may end: any whose epoch is not above its own (`epoch`), only the one of its
   * own epoch (`same-epoch`), or only one that the worker it received from has claimed (`worker`, and `both`).
   */
  readonly settleFence: 'epoch' | 'same-epoch' | 'worker' | 'both'
  /** When a gateway stops accepting the old epoch: before it reads the ids for the enqueue, or when that is answered. */
  readonly fenceRaised: 'before-ids' | 'enqueue-answered'
  /** Whether events of the current epoch from another worker than the first one are refused. */
  readonly fenceHasWorker: boolean
  /** Whether a repeated claim compares epoch and settlement again before it hands out the same generation. */
  readonly repeatedClaimChecked: boolean
  /**
   * When a worker may run an epoch a second time: never, after it has released the first run, or even while that runs.
   */
  readonly epochStartedAnew: 'never' | 'when-let-go' | 'always'
  /** When a worker claims: with a job and sometimes without one, or only with a job. */
  readonly claims: 'also-without-job' | 'with-job'
  /** Whether a worker whose claim is unanswered counts as one that runs the generation. */
  readonly claimingIsListed: boolean
  /** Until when the record says which worker to watch: until the first event of the epoch, or always. */
  readonly recordNamesWorker: 'until-first-event' | 'always'
  /** Until when a worker keeps an ended run: until the gateway's settlement is answered, or until the end was sent. */
  readonly endKept: 'until-settled' | 'until-sent'
  /** What makes a gateway dead to a worker that claims: presence's verdict, or the missing key alone. */
  readonly deadAtClaim: 'verdict' | 'missing-key'
  /**
   * The gateways whose generations a worker settles at 0: gateways that presence has buried, or silent gateways too.
   */
  readonly workerSettlesFor: 'buried' | 'silent'
  /** Which mark of billing releases a kept settlement: one of the same run of Redis, or any later one. */
  readonly markCompared: 'with-run' | 'alone'
  /** The run of Redis under which a settlement is kept: the last one read before it was sent, or after the answer. */
  readonly keptUnder: 'run-before' | 'run-after'
  /** Whether a settlement that is answered `settled` is kept as well. */
  readonly repeatedKept: boolean
  /** Whether the gateway compares after how many ids a worker continues. */
  readonly continuationCompared: boolean
  /** Whether a continued generation goes only to workers that know continuation. */
  readonly needsMatched: boolean
  /** Whether a settled record stays for a while; without, settling deletes it. */
  readonly tombstone: boolean
  /** Which deaths of engines count: all at which it was present, or only as long as it has given nothing in any epoch. */
  readonly deathsCounted: 'all' | 'before-output'
  /**
   * Whether an engine runs generations that were present at a death one at a time, so that its next death cannot be
   * caused by another of them.
   */
  readonly triedAlone: boolean
  /** What ends a request as poison: its second death, the second loss of any kind, or nothing. */
  readonly poisonEndsAt: 'second-death' | 'second-loss' | 'never'
}

export const SOUND: Rules = {
  settleFence: 'epoch',
  fenceRaised: 'before-ids',
  fenceHasWorker: true,
  repeatedClaimChecked: true,
  epochStartedAnew: 'never',
  claims: 'also-without-job',
  claimingIsListed: true,
  recordNamesWorker: 'until-first-event',
  endKept: 'until-settled',
  deadAtClaim: 'verdict',
  workerSettlesFor: 'buried',
  markCompared: 'with-run',
  keptUnder: 'run-before',
  repeatedKept: true,
  continuationCompared: true,
  needsMatched: true,
  tombstone: true,
  deathsCounted: 'all',
  triedAlone: true,
  poisonEndsAt: 'second-death',
}
