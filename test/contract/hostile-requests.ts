import type { EngineRequest } from '#apps/worker/engine/engine-client.ts'
import { createRandom } from '#test/support/random.ts'

/** Numbers at the borders of the fields' ranges and of the wire's types, and values that are no numbers. */
const NUMBERS = [0, 1, 2, 3, -1, -2, -3, 0.5, 1.5, 2.000_001, 20, 21, 100, 1e-46, 1e-40, 1e-30, 1e39].concat([
  2 ** 31 - 1,
  2 ** 31,
  2 ** 32 - 1,
  2 ** 32,
  2 ** 53,
  -(2 ** 31),
  NaN,
  Infinity,
  -Infinity,
])
const TEXTS = ['', '\0', 'e', '\ud800', '<|im_end|>', 'x'.repeat(2_000)]

/**
 * Returns a function that makes requests as no honest caller sends them: each field is often absent or harmless, and
 * sometimes anything that its type allows. `window` and `vocabulary` are the engine's.
 */
export function createHostileRequests(
  seed: number,
  { window, vocabulary }: { window: number; vocabulary: number },
) {
  const random = createRandom(seed)
  const below = (count: number) => Math.floor(random() * count)
  const pick = <Value>(values: readonly [Value, ...Value[]]): Value =>
    values[below(values.length)] ?? values[0]
  const isHostile = () => random() < 0.08
  const number = () => pick([0, ...NUMBERS])
  const id = () => (isHostile() ? pick([vocabulary, vocabulary + 1, 99_999, 2 ** 32 - 1]) : below(vocabulary))
  const ids = (most: number) => Array.from({ length: below(most) }, id)
  const some = <Value>(harmless: () => Value, hostile: () => Value) =>
    pick([undefined, harmless(), isHostile() ? hostile() : harmless()])
  const bias = () =>
    Object.fromEntries(
      Array.from({ length: below(4) }, () => [
        isHostile() ? pick(['-1', 'x', '1e3', '', '99999999999', `${vocabulary}`]) : `${below(vocabulary)}`,
        isHostile() ? number() : below(100) - 50,
      ]),
    )
  const promptLength = () => (isHostile() ? pick([0, window - 1, window, window + 1]) : 1 + below(12))
  let count = 0

  return (): EngineRequest => {
    const optional = {
      minTokens: some(() => below(3), number),
      ignoreEos: pick([undefined, true, false]),
      topLogprobs: some(() => below(5), number),
      promptLogprobs: some(() => below(5), number),
    }
    return {
      requestId: `hostile-${seed}-${(count += 1)}`,
      promptIds: Uint32Array.from({ length: promptLength() }, id),
      sampling: {
        temperature: some(() => random() * 2, number),
        topP: some(() => 1 - random(), number),
        topK: some(() => below(50), number),
        minP: some(random, number),
        frequencyPenalty: some(() => random() * 4 - 2, number),
        presencePenalty: some(() => random() * 4 - 2, number),
        repetitionPenalty: some(() => 0.5 + random(), number),
        seed: some(() => below(1_000), number),
        logitBias: some(bias, bias),
      },
      maxTokens: isHostile() ? number() : 1 + below(4),
      endIds: random() < 0.3 ? ids(3) : [],
      stop: isHostile() ? [pick(['a', ...TEXTS])] : [],
      constraint: null,
      cacheSalt: pick([null, 'account', '']),
      ...Object.fromEntries(Object.entries(optional).filter(([, value]) => value !== undefined)),
    }
  }
}
