import type { FaultSettings } from '../faults.ts'
import type { SampledModel } from '../sampling/sampler.ts'

export type Poison = Pick<FaultSettings, 'poison' | 'poisonAfterTokens'>

/** Poison is shorter in tokens: more need not be decoded for each of them. */
const TAIL_TOKENS = 256

/**
 * Follows one call. Call the result with each token, before it is delivered: it returns true when this step kills the
 * core. The fault may be set and changed at any time.
 */
export function createPoisonCheck(
  promptIds: Uint32Array,
  { model, faults }: { model: Pick<SampledModel, 'decode'>; faults: () => Poison },
): (tokenId: number | null) => boolean {
  const outputIds: number[] = []
  let checked: string | null = null
  let left: number | null = null

  /** True when the sequence contains it; what was decoded for it before need not be decoded again. */
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
