import { isInQuarantine } from '#libs/generation-record/quarantine.ts'
import type { RunningGeneration } from '../running-generation.ts'

/**
 * The engine's side of the quarantine (`libs/generation-record/quarantine.ts`): at most one generation in quarantine runs
 * on an engine, and if the engine dies meanwhile, this one is the cause.
 */
export type Quarantine = {
  /** Returns whether a claim may get a generation in quarantine; its caller has only one such claim at a time. */
  hasRoom(): boolean
  /** Notes that a claim that could get no generation in quarantine has left generations waiting. */
  missed(): void
  open(run: Run): void
  /** Notes that the engine gets this run. */
  begin(run: Run): void
  /** Notes that the engine has given output. */
  outputSeen(): void
  end(run: Run): void
  /**
   * Call it when the engine has died, or has hung since `lastTokenMs`, with the engine's runs. Sets the field `blame` of
   * the runs that the engine has got.
   * Returns the suspect; null if several runs may be the cause.
   */
  judge(runs: Iterable<Run>, lastTokenMs: number): Run | null
}

type Run = Pick<RunningGeneration, 'engineDeaths' | 'output' | 'hasOutput'> & {
  readonly job: {
    readonly id: string
    readonly choices?: number | undefined
    readonly request: { readonly kind: 'chat' | 'embedding' }
  }
  blame: RunningGeneration['blame']
}

/** A run did not make its engine hang if it began more than this time after the engine's last token. */
const HANGS_WITHIN_MS = 2_000

/** `onRoom`: a generation in quarantine may be claimed again, and some may have been left waiting. */
export function createQuarantine({ nowMs, onRoom }: { nowMs: () => number; onRoom: () => void }): Quarantine {
  /** The run in quarantine. `beganMs` is null until the engine gets it. */
  let present: { readonly run: Run; beganMs: number | null } | null = null
  /** The runs that the engine has got. */
  const begun = new Set<Run>()
  let hasMissed = false

  const hasRoom = () => present === null

  function follow(): void {
    if (!hasMissed || !hasRoom()) return
    hasMissed = false
    onRoom()
  }

  function leave(): void {
    present = null
    follow()
  }

  function findSuspect(runs: readonly Run[], lastTokenMs: number): Run | null {
    if (present === null) return runs.length === 1 ? (runs[0] ?? null) : null
    const { run, beganMs } = present
    if (beganMs === null || beganMs > lastTokenMs + HANGS_WITHIN_MS) return null
    return run.engineDeaths > 1 || runs.every((other) => other === run || other.hasOutput()) ? run : null
  }

  return {
    hasRoom,
    missed() {
      hasMissed = true
      follow()
    },
    open(run) {
      if (isAlone(run)) present = { run, beganMs: null }
    },
    begin(run) {
      begun.add(run)
      if (present?.run === run) present.beganMs = nowMs()
    },
    outputSeen() {
      if (present !== null && !isAlone(present.run)) leave()
    },
    end(run) {
      begun.delete(run)
      if (present?.run === run) leave()
    },
    judge(runs, lastTokenMs) {
      const all = [...runs].filter((run) => begun.has(run))
      const suspect = findSuspect(all, lastTokenMs)
      for (const run of all) run.blame = suspect === null ? 'present' : 'none'
      if (suspect !== null) suspect.blame = 'suspect'
      return suspect
    },
  }
}

const isAlone = ({ job, engineDeaths, output }: Run) =>
  isInQuarantine({ kind: job.request.kind, engineDeaths, choices: job.choices ?? 1, tokens: output.tokens })
