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

/** The fields that a request may be hostile in, one at a time, so that no refusal hides what another field would do. */
const FIELDS = (
  'promptLength promptIds temperature topP topK minP frequencyPenalty presencePenalty repetitionPenalty seed biasIds ' +
  'biases maxTokens minTokens endIds stop logprobs'
).split(' ')

/**
 * Returns a function that makes requests as no honest caller sends them: one of the fields may have any value of its
 * type, and the others are absent or harmless. `window` and `vocabulary` are the engine's.
 */
export function createHostileRequests(
  seed: number,
  { window, vocabulary }: { window: number; vocabulary: number },
) {
  const random = createRandom(seed)
  const below = (count: number) => Math.floor(random() * count)
  const pick = <Value>(values: readonly [Value, ...Value[]]): Value =>
    values[below(values.length)] ?? values[0]
  const number = () => pick([0, ...NUMBERS])
  const beyond = () => pick([vocabulary, vocabulary + 1, 99_999, 2 ** 31 - 1, 2 ** 32 - 1])
  let hostile = ''
  let count = 0

  const some = <Value>(field: string, harmless: () => Value, any: () => Value) =>
    hostile === field ? any() : pick([undefined, harmless()])
  const ids = (field: string, length: number) => {
    const own = Array.from({ length }, () => below(vocabulary))
    if (hostile === field && length > 0) own[below(length)] = beyond()
    return own
  }
  const toBias = () =>
    Object.fromEntries(
      Array.from({ length: 1 + below(3) }, () => [
        hostile === 'biasIds'
          ? pick(['-1', 'x', '1e3', '', '99999999999', `${beyond()}`])
          : `${below(vocabulary)}`,
        hostile === 'biases' ? number() : below(100) - 50,
      ]),
    )

  return (): EngineRequest => {
    hostile = pick(['', ...FIELDS])
    count += 1
    const length = hostile === 'promptLength' ? pick([0, window - 1, window, window + 1]) : 1 + below(12)
    const isStopped = hostile === 'endIds' || random() < 0.3
    const optional = {
      minTokens: hostile === 'endIds' ? 2 : some('minTokens', () => below(2), number),
      ignoreEos: pick([undefined, true, false]),
      topLogprobs: some('logprobs', () => below(5), number),
      promptLogprobs: some('logprobs', () => below(5), number),
    }
    return {
      requestId: `hostile-${seed}-${count}`,
      promptIds: Uint32Array.from(ids('promptIds', length)),
      sampling: {
        temperature: some('temperature', () => random() * 2, number),
        topP: some('topP', () => 1 - random(), number),
        topK: some('topK', () => below(50), number),
        minP: some('minP', random, number),
        frequencyPenalty: some('frequencyPenalty', () => random() * 4 - 2, number),
        presencePenalty: some('presencePenalty', () => random() * 4 - 2, number),
        repetitionPenalty: some('repetitionPenalty', () => 0.5 + random(), number),
        seed: some('seed', () => below(1_000), number),
        logitBias: hostile.startsWith('bias') ? toBias() : pick([undefined, toBias()]),
      },
      maxTokens: hostile === 'maxTokens' ? number() : 2 + below(4),
      endIds: isStopped ? ids('endIds', 1 + below(3)) : [],
      stop: hostile === 'stop' ? [pick(['a', ...TEXTS])] : [],
      constraint: null,
      cacheSalt: pick([null, 'account', '']),
      ...Object.fromEntries(Object.entries(optional).filter(([, value]) => value !== undefined)),
    }
  }
}
