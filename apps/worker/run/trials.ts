import { ShortLivedMap } from '#libs/short-lived/short-lived-map.ts'
import type { RunningGeneration } from './running-generation.ts'

/** The order in which one engine is given the generations that may have killed another, and what its own death proves. */
export type Trials = {
  /**
   * Resolves when the engine may be called for this run, or when the run is stopped. Most runs need not wait; the longest
   * wait is `TURN_MS` for each engine that died with it.
   */
  begin(run: TriedRun): Promise<void>
  /** The engine has given something. */
  outputSeen(): void
  /** The run is over. May be called without `begin`. */
  end(run: TriedRun): void
  /**
   * The engine has died, or hung since `lastTokenMs`: sets the blame of all that it ran, and returns the one suspect. The
   * runs that wait are not blamed.
   */
  judge(lastTokenMs: number): TriedRun | null
}

type TriedRun = Pick<RunningGeneration, 'epoch' | 'engineDeaths' | 'output' | 'signal'> & {
  readonly job: { readonly id: string; readonly request: { readonly kind: 'chat' | 'embedding' } }
  blame: RunningGeneration['blame']
}

/**
 * An engine may have made one or two tokens that were lost with it. So a generation that kills when it is as long as it was
 * does so before its next third token.
 */
const READ_TOKENS = 3
/** How many more tokens than in the epochs that ended with an engine show that it was another cause. */
const LONGER_TOKENS = 16
/** Bounds the wait: of some fifty runs that are read again one after the other, the last one waits for so long. */
const TURN_MS = 5_000
/** A run that began so long after an engine's last token did not make it hang. */
const HANGS_WITHIN_MS = 2_000

/**
 * A generation can kill its engine after any number of tokens, so a first death proves nothing about any of those that
 * the engine ran. Each of them continues *on trial*, in its next engine:
 *
 * - *unread*, until that has given its next 3 tokens: whatever kills by its prompt, or by its output so far, kills here.
 *   An engine reads one such run at a time, and no other run is without a token meanwhile.
 * - after a second death that proved nothing, also until it has given more tokens than any epoch that ended with an
 *   engine: whatever kills after a number of tokens kills here. An engine has one such run at a time, and new ones beside.
 *
 * So when an engine dies, one run at most is on trial, and is the suspect; its gateway ends it. The others go on as if
 * nothing had been. A run that was alone is the suspect as well. Where several may have been the cause, which are those on
 * trial, those without a token, and those that are as long as when an engine died with them, none is the suspect, and the
 * next trial is longer.
 *
 * What this cannot tell: another generation that kills for the first time, in the fraction of a second in which this
 * engine reads one on trial, has that one ended in its place. And when more than about fifty wait for one engine, those
 * whose turn does not come within 5 s go on together: then it takes another engine to find one that kills. The wait
 * grows with each death, so in the end it is found.
 *
 * An embedding begins anew in each epoch, so it is on trial until its end.
 */
export function createTrials(nowMs: () => number): Trials {
  const turns = new ShortLivedMap<string, Turn>()
  /** Those that the engine does not run yet, in the order of arrival. */
  const waiting = new Set<Turn>()

  const isRunning = (is: (turn: Turn) => boolean) =>
    turns.values().some((turn) => turn.beganMs !== null && is(turn))

  function mayBegin(turn: Turn): boolean {
    if (isTried(turn)) return !isRunning(isUnread) && !isRunning(isOnTrial)
    if (isRunning((other) => isTried(other) && isUnread(other))) return false
    // Else new runs, one after the other, would keep one that is to be tried from its turn.
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
  /** When the engine was given it; null while it waits. */
  beganMs: number | null
  /** Ends its wait. */
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
