import type { Blame } from '#libs/contracts/generation-event.ts'

/*
 * The quarantine of generations that may kill engines. When an engine dies, any generation that it ran may have been the
 * cause, by its prompt or by any token of its output. So each of them goes on in quarantine:
 *
 * 1. It needs a worker that serves `ALONE`. A worker claims with `ALONE` only while its engine has no generation in
 *    quarantine, so an engine has at most one. The others wait in the queue, where any worker may claim them.
 * 2. The quarantine ends when that engine has given the generation its next `toQuarantineTokens` tokens: 3 after one death,
 *    96 after two, 3,072 after three, for each of its answers. An embedding begins anew in each epoch, so its quarantine lasts until its end.
 * 3. If an engine dies while it runs a generation in quarantine, this generation is the cause: it is the suspect, and the
 *    others on the engine go on as if nothing had happened. In one case all of them count as present: after one death of the
 *    generation, if another one had no token yet.
 * 4. The suspect of a death ends if it was present at an earlier death (`isKiller`).
 */

/** The feature that a generation in quarantine needs. */
export const ALONE = 'alone'

/**
 * The last one or two tokens that an engine made may be lost when it dies. So a generation that kills at a certain length
 * kills the next engine before that engine has made three new tokens for it.
 */
const READ_TOKENS = 3
/** Each death makes the next quarantine this many times longer, because the one before it did not find the cause. */
const LONGER = 32

export type Quarantined = {
  readonly kind: 'chat' | 'embedding'
  /** The deaths of engines at which the generation was present in earlier epochs. */
  readonly engineDeaths: number
  /** The number of answers that the generation makes. */
  readonly choices: number
  /** The tokens of all answers, or vectors, that the engine of this epoch has given. */
  readonly tokens: number
}

export function isInQuarantine({ kind, engineDeaths, choices, tokens }: Quarantined): boolean {
  return engineDeaths > 0 && (kind === 'embedding' || tokens < choices * toQuarantineTokens(engineDeaths))
}

const toQuarantineTokens = (engineDeaths: number) => READ_TOKENS * LONGER ** (engineDeaths - 1)

/**
 * Returns the part of a generation in the death of a worker that has reported nothing, because it may have died together
 * with its engine. A generation with a token of this engine that is not in quarantine counts as not present: most workers
 * die for other reasons.
 */
export function blameOfSilence(generation: Quarantined): Blame {
  if (isInQuarantine(generation)) return 'suspect'
  return generation.engineDeaths === 0 && generation.tokens === 0 ? 'present' : 'none'
}

/** Returns whether the suspect of a death ends. `engineDeaths` counts this death too. */
export const isKiller = (blame: Blame, engineDeaths: number) => blame === 'suspect' && engineDeaths > 1
