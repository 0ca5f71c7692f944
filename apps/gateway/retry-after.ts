import { ApiError } from '#libs/contracts/api-error.ts'

/** Many clients mishandle a wait of a minute or more, and fractions of a second. */
export const RETRY_AFTER_RANGE_S = { min: 1, max: 59 }

/** The seconds in `retry-after`, by the cause of a refusal that does not compute its own wait. */
export const RETRY_AFTER_S = {
  /** Long enough for a worker to restart. */
  default: 5,
  /** Billing or the queue Redis does not answer: both restart or fail over within seconds. */
  dependencyDown: 2,
  /** A worker could not run the generation; another worker may be able to run it. */
  workerUnavailable: 2,
  /** Gateway and billing disagree on the catalog until the next push. */
  catalogChange: 2,
  /** The hold expired or was settled; the next request gets a new hold. */
  holdGone: 1,
  /** Too many large bodies arrived at once; each takes at most a few seconds. */
  largeBodies: 2,
  /** An account's new grammars are being compiled, each for up to seconds. */
  newGrammars: 2,
  /** An account whose requests killed engines is barred for minutes. */
  barredAccount: 59,
  /** Other gateways take new connections at once. */
  shuttingDown: 1,
  /**
   * A model has no replica, and its scaler has no prediction of a start yet. The scaler has a prediction as soon as a
   * pod of the model exists, which takes seconds.
   */
  startUnknown: 10,
  /**
   * The waits for models whose state (busy or warming) is fixed in the catalog. These waits are constant, because tests
   * of clients rely on them.
   */
  fixedBusy: 2,
  fixedWarming: 10,
} as const

/** Rounds a wait up to whole seconds within the range. */
export function toRetryAfterS(seconds: number): number {
  return Math.min(RETRY_AFTER_RANGE_S.max, Math.max(RETRY_AFTER_RANGE_S.min, Math.ceil(seconds)))
}

/** Returns the error of a request that this gateway does not serve because it stops. */
export function shuttingDown(): ApiError {
  return new ApiError('model_unavailable', 'This gateway is shutting down.', {
    retryAfterS: RETRY_AFTER_S.shuttingDown,
  })
}
