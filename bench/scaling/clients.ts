import type { Random } from './random.ts'

/** After this many refusals a client gives up; at each earlier refusal it gives up with this probability. */
const MOST_ATTEMPTS = 9
const GIVES_UP = 0.1

/** The retry-after in seconds of a model without a serving pod: the longest that the interface allows. */
export const WARMING_RETRY_S = 59

export type Attempt = { readonly bornS: number; readonly attempt: number }

/** Clients that repeat a refused request after the requested time and some seconds more, and finally give up. */
export type Clients = {
  /** Returns the requests of this second: new ones and repetitions. */
  ask(nowS: number, perS: number): readonly Attempt[]
  /** Records that the request was refused with this retry-after in seconds. */
  refuse(nowS: number, request: Attempt, retryAfterS: number): void
  readonly counts: { born: number; gaveUp: number }
}

export function createClients(random: Random): Clients {
  const repetitions = new Map<number, Attempt[]>()
  const counts = { born: 0, gaveUp: 0 }
  return {
    counts,
    ask(nowS, perS) {
      const fresh = random.poisson(perS)
      counts.born += fresh
      const repeated = repetitions.get(nowS) ?? []
      repetitions.delete(nowS)
      return [...Array.from({ length: fresh }, () => ({ bornS: nowS, attempt: 1 })), ...repeated]
    },
    refuse(nowS, { bornS, attempt }, retryAfterS) {
      if (attempt >= MOST_ATTEMPTS || random.uniform() < GIVES_UP) {
        counts.gaveUp += 1
        return
      }
      const second = Math.ceil(nowS + retryAfterS)
      const others = repetitions.get(second)
      const next = { bornS, attempt: attempt + 1 }
      if (others === undefined) repetitions.set(second, [next])
      else others.push(next)
    },
  }
}
