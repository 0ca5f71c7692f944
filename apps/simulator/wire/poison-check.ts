import type { FaultSettings } from '../faults.ts'
import type { SampledModel } from '../sampling/sampler.ts'

export type Poison = Pick<FaultSettings, 'poison' | 'poisonAfterTokens'>

/** A poison has fewer tokens than this, so no more tokens need to be decoded for each new token. */
const TAIL_TOKENS = 256

/**
 * Returns the function that checks one call for the fault `poison`. The function must get each token before the token
 * is delivered. It returns true if the step that computes this token kills the engine core. The fault may be set and
 * changed at any time.
 */
export function createPoisonCheck(
  promptIds: Uint32Array,
  { model, faults }: { model: Pick<SampledModel, 'decode'>; faults: () => Poison },
): (tokenId: number | null) => boolean {
  const outputIds: number[] = []
  let checked: string | null = null
  let left: number | null = null

  /** Returns whether the sequence contains the poison. Only the first check of a poison decodes all tokens. */
  function contains(poison: string): boolean {
    const isNew = checked !== poison
    checked = poison
    const ids = isNew
      ? [...promptIds, ...outputIds]
      : [...promptIds.subarray(-TAIL_TOKENS), ...outputIds.slice(-TAIL_TOKENS)].slice(-TAIL_TOKENS)
    return model.decode(ids).includes(poison)
  }

  return (tokenId) => {
    const { poison, poisonAfterTokens } = faults()
    if (poison === null) checked = left = null
    else if (left !== null) left -= 1
    else if (contains(poison)) left = poisonAfterTokens
    if (tokenId !== null) outputIds.push(tokenId)
    return left === 0
  }
}
