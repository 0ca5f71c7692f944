import { ShortLivedMap } from '#libs/short-lived/short-lived-map.ts'
import type { RunningGeneration } from './running-generation.ts'

/**
 * Decides when an engine gets a generation that may have killed another engine. If the engine itself dies, decides
 * which generation is to blame.
 */
export type Trials = {
  /**
   * Resolves when the engine may be called for this run, or when the run is stopped. Most runs need not wait. A run
   * waits at most `TURN_MS` × the number of engines that died while they ran its generation. If no engine died, the run
   * waits at most `TURN_MS`.
   */
  begin(run: TriedRun): Promise<void>
  /** Notes that the engine has given output. */
  outputSeen(): void
  /** Notes that the run is over. May be called without `begin`. */
  end(run: TriedRun): void
  /**
   * Call it when the engine has died, or has hung since `lastTokenMs`. Sets the field `blame` of all runs that the
   * engine had. Returns the suspect; null if several runs, or none, may be the cause. Runs that still wait for their
   * turn to begin are not blamed.
   */
  judge(lastTokenMs: number): TriedRun | null
}

type TriedRun = Pick<RunningGeneration, 'epoch' | 'engineDeaths' | 'output' | 'signal'> & {
  readonly job: { readonly id: string; readonly request: { readonly kind: 'chat' | 'embedding' } }
  blame: RunningGeneration['blame']
}

/**
 * The last one or two tokens that an engine made may be lost when it dies. So a generation that kills its engine at a
 * certain length kills the next engine before that engine has made three new tokens for it.
 */
const READ_TOKENS = 3
/**
 * Some epochs of a generation may have ended with the death of an engine. Once a run has this many tokens more than the
 * longest of these epochs, its generation did not cause the deaths.
 */
const LONGER_TOKENS = 16
/** Bounds the wait for a trial. If about fifty runs are tried one after another, the last of them waits this long. */
const TURN_MS = 5_000
/** A run did not make its engine hang if it began more than this time after the engine's last token. */
const HANGS_WITHIN_MS = 2_000

/**
 * A generation can kill its engine after any number of tokens, so a first death proves nothing about any generation
 * that the engine ran. Each of these generations continues *on trial* in its next engine:
 *
 * - The run is *unread* until that engine has given the run's next 3 tokens. If the generation kills by its prompt, or
 *   by its output so far, it kills within these tokens. While an engine has an unread run, it gets no other run on
 *   trial, and it has no other run without a token.
 * - After a second death that proved nothing, the trial is longer. It lasts until the run has 16 tokens more than its
 *   longest epoch that ended with the death of an engine. If the generation kills at a certain length, it kills within
 *   these tokens. An engine has at most one run in such a longer trial at a time; new runs may run beside it.
 *
 * So when an engine dies, at most one run is on trial. A run may have been the cause of the death if one of these is
 * true:
 *
 * - It was the only run in the engine.
 * - It is on trial.
 * - It has no token of this engine.
 * - It was present at an earlier death, and its length is the length of its longest epoch that ended with the death of
 *   an engine, to within one token.
 *
 * If only one run may have been the cause, it is the suspect: its gateway ends it if it was present at an earlier
 * death, and the other runs go on elsewhere. If several runs may have been the cause, none is the suspect, and the next
 * trial is longer.
 *
 * This method has two limits. A run on trial is unread for a fraction of a second. If another generation kills the
 * engine for the first time within this time, the generation on trial is ended in place of that other generation. And
 * if more than about fifty runs wait for one engine, the runs whose trial does not begin within 5 s go on together.
 * Then another engine is needed to find the generation that kills. The longest wait grows with each death, so in the
 * end the generation is found.
 *
 * An embedding begins anew in each epoch, so its trial lasts until its end.
 */
export function createTrials(nowMs: () => number): Trials {
  const turns = new ShortLivedMap<string, Turn>()
  /** The runs that the engine does not run yet, in the order of arrival. */
  const waiting = new Set<Turn>()

  const isRunning = (is: (turn: Turn) => boolean) =>
    turns.values().some((turn) => turn.beganMs !== null && is(turn))

  function mayBegin(turn: Turn): boolean {
    if (isTried(turn)) return !isRunning(isUnread) && !isRunning(isOnTrial)
    if (isRunning((other) => isTried(other) && isUnread(other))) return false
    // A new run also waits in this case: another run waits for its trial, and no run on trial is running. Otherwise a
    // series of new runs could delay that trial without end.
    return isRunning(isOnTrial) || !waiting.values().some(isTried)
  }

  function begin(turn: Turn): void {
    waiting.delete(turn)
    turn.beganMs = nowMs()
    turn.leave()
  }

  function follow(): void {
    for (const turn of waiting) if (mayBegin(turn)) begin(turn)
  }

  async function untilTurn(turn: Turn): Promise<void> {
    const { signal, engineDeaths } = turn.run
    const { promise, resolve } = Promise.withResolvers<void>()
    turn.leave = resolve
    const timer = setTimeout(() => begin(turn), TURN_MS * Math.max(1, engineDeaths.count))
    const stop = () => {
      waiting.delete(turn)
      resolve()
    }
    signal.addEventListener('abort', stop)
    await promise
    signal.removeEventListener('abort', stop)
    clearTimeout(timer)
  }

  return {
    async begin(run) {
      if (run.signal.aborted) return
      const turn: Turn = { run, beganMs: null, leave: () => undefined }
      turns.set(keyOf(run), turn)
      if (mayBegin(turn)) return begin(turn)
      waiting.add(turn)
      await untilTurn(turn)
    },
    outputSeen() {
      if (waiting.size > 0) follow()
    },
    end(run) {
      if (turns.delete(keyOf(run)) && waiting.size > 0) follow()
    },
    judge(lastTokenMs) {
      const ran = [...turns.values()].filter(({ beganMs }) => beganMs !== null)
      const possible = ran.length === 1 ? ran : ran.filter(mayHaveKilled)
      const timely = possible.filter(({ beganMs }) => (beganMs ?? 0) <= lastTokenMs + HANGS_WITHIN_MS)
      const [first, ...others] = timely.length > 0 ? timely : possible
      const suspect = first !== undefined && others.length === 0 ? first : null
      const isProof = suspect !== null && isTried(suspect)
      for (const { run } of ran) run.blame = isProof ? 'none' : 'present'
      if (suspect !== null) suspect.run.blame = 'suspect'
      return suspect?.run ?? null
    },
  }
}

type Turn = {
  readonly run: TriedRun
  /** When the engine was given the run; null while it waits. */
  beganMs: number | null
  /** Ends the wait of the run. */
  leave: () => void
}

const keyOf = ({ job, epoch }: TriedRun) => `${job.id} ${epoch}`

const isTried = ({ run }: Turn) => run.engineDeaths.count > 0

const isEmbedding = ({ run }: Turn) => run.job.request.kind === 'embedding'

function isUnread(turn: Turn): boolean {
  const { output } = turn.run
  return isEmbedding(turn) || !isTried(turn) ? output.firstMs === null : output.tokens < READ_TOKENS
}

function isOnTrial(turn: Turn): boolean {
  if (!isTried(turn)) return false
  if (isEmbedding(turn) || isUnread(turn)) return true
  const { count, mostTokens } = turn.run.engineDeaths
  return count > 1 && turn.run.output.tokens <= mostTokens + LONGER_TOKENS
}

function mayHaveKilled(turn: Turn): boolean {
  if (isUnread(turn) || isOnTrial(turn)) return true
  const { engineDeaths, output } = turn.run
  return isTried(turn) && Math.abs(output.tokens - engineDeaths.mostTokens) <= 1
}
