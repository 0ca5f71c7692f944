import type { Readiness } from '#libs/telemetry/serve-ops.ts'

/** The answer of `/readyz`: unready for a reason while billing starts and stops, and as the database is in between. */
export type BillingReadiness = {
  readonly readiness: Readiness
  /** Unready for this reason, until the next call of either function. */
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
