import type { Readiness } from '#libs/telemetry/serve-ops.ts'

/**
 * The answer of `/readyz`. While billing starts and while it stops, the answer is not ready, with a reason. In between,
 * the answer is the database's readiness.
 */
export type BillingReadiness = {
  readonly readiness: Readiness
  /** Answers not ready with this reason, until the next call of `wait` or `follow`. */
  wait(reason: string): void
  follow(readiness: Readiness): void
}

export function createReadiness(): BillingReadiness {
  let current: Readiness = () => ({ ready: false, reason: 'starting' })
  return {
    readiness: () => current(),
    wait(reason) {
      current = () => ({ ready: false, reason })
    },
    follow(readiness) {
      current = readiness
    },
  }
}
