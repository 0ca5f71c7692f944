import type { Asked } from './clients.ts'
import { AFTERMATH_MS, type Done } from './run-faults.ts'
import { KILLER } from './schedule.ts'

/** Counts over all rounds. */
export type Tally = {
  add(round: { asked: readonly Asked[]; done: readonly Done[] }): void
  /** Returns one line for each error that no fault at the same time explains. */
  needless(asked: readonly Asked[], done: readonly Done[]): string[]
  /** Returns such errors of streams that ran beside a killer of engines and beside no other fault. */
  besideKillers(asked: readonly Asked[], done: readonly Done[]): string[]
  faults(): number
  /** Returns how many requests had exactly the known answer. */
  exact(): number
  needlessErrors(): number
  lines(): string[]
}

export function createTally(): Tally {
  const faults = new Map<string, number>()
  const outcomes = new Map<string, number>()
  /** For each fault, the number of errors of the requests that ran at the same time. */
  const errors = new Map<string, number>()
  let requests = 0
  let needlessErrors = 0

  return {
    add({ asked, done }) {
      requests += asked.length
      for (const { label } of done) count(faults, label)
      for (const each of asked) {
        count(outcomes, nameOf(each))
        if (each.outcome.kind !== 'error') continue
        for (const label of new Set(around(each, done).map(({ label }) => label))) count(errors, label)
      }
    },
    needless(asked, done) {
      const lines = asked.filter((each) => isNeedless(each, done)).map((each) => describe(each, done))
      needlessErrors += lines.length
      return lines
    },
    besideKillers: (asked, done) =>
      asked
        .filter((each) => each.outcome.kind === 'error' && each.outcome.streamed && isNeedless(each, done))
        .filter((each) => isBesideKillersAlone(around(each, done)))
        .map((each) => describe(each, done)),
    faults: () => sum(faults),
    exact: () => outcomes.get('exact') ?? 0,
    needlessErrors: () => needlessErrors,
    lines: () => [
      `${sum(faults)} faults (with the errors of requests that they overlapped):`,
      ...toLines(faults, (label) => `, ${errors.get(label) ?? 0} errors`),
      `${requests} requests:`,
      ...toLines(outcomes, () => ''),
      `${needlessErrors} errors without an excuse`,
    ],
  }
}

/**
 * Returns whether no fault explains the error of a request. If a stream has begun, only a failure of its gateway may
 * end it. If not, an absence of billing or of the queue Redis also explains a refusal. Failures of workers and engines
 * never explain an error, because some of them always serve; lost or doubled jobs do not either.
 */
function isNeedless(each: Asked, done: readonly Done[]): boolean {
  const { outcome, ask, call } = each
  if (outcome.kind !== 'error' || ask.guided) return false
  const reasons = around(each, done).filter(({ label }) => !CHANGES_NOTHING.test(label))
  return outcome.streamed
    ? reasons.every(({ label, disturbed }) => disturbed !== call.gateway || !ENDS_STREAMS.test(label))
    : reasons.every(({ disturbed }) => disturbed.startsWith('worker'))
}

const isBesideKillersAlone = (faults: readonly Done[]) =>
  faults.length > 0 && faults.every(({ label }) => label === KILLER)

const CHANGES_NOTHING = /^(lose|double)-jobs/u

const ENDS_STREAMS = /^(kill|terminate|freeze) gateway/u

function describe(each: Asked, done: readonly Done[]): string {
  const { ask, call } = each
  const seconds = ((call.endMs - call.startMs) / 1_000).toFixed(1)
  const labels = around(each, done).map(({ label }) => label)
  return `needless: ${nameOf(each)} for ${ask.name} after ${seconds} s, ${call.id}, during ${labels.join(', ')}`
}

function nameOf({ outcome }: Asked): string {
  if (outcome.kind !== 'error') return outcome.kind
  return `error ${outcome.code}${outcome.streamed ? ' in a stream' : ''}`
}

function around({ call }: Asked, done: readonly Done[]): Done[] {
  return done.filter(({ startMs, endMs }) => startMs < call.endMs && endMs + AFTERMATH_MS > call.startMs)
}

function count(counts: Map<string, number>, key: string): void {
  counts.set(key, (counts.get(key) ?? 0) + 1)
}

function toLines(counts: ReadonlyMap<string, number>, rest: (key: string) => string): string[] {
  return Array.from(counts)
    .toSorted(([, a], [, b]) => b - a)
    .map(([key, value]) => `  ${String(value).padStart(6)}  ${key}${rest(key)}`)
}

const sum = (counts: ReadonlyMap<string, number>) =>
  Array.from(counts.values()).reduce((total, value) => total + value, 0)
