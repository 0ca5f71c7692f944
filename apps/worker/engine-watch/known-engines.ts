import type { Servicer } from '../engine/engine-client.ts'

/** The result of the tests of a release of vLLM with a kind of servicer. */
type Verdict = 'whole' | 'loses-tokens' | 'untried'

/**
 * The pairs that were tried with `npm run test:engine`; docs/operators.md has the parts of each. The servicers report
 * their kind and not their version.
 */
const TRIED: readonly { vllm: RegExp; servicer: Servicer; verdict: Verdict }[] = [
  { vllm: /^0\.32\.0\b/, servicer: 'python', verdict: 'whole' },
  { vllm: /^0\.26\.0\b/, servicer: 'older-python', verdict: 'whole' },
  // It cannot decode a step with log probabilities: the step's tokens of all streams are dropped.
  { vllm: /^0\.32\./, servicer: 'rust', verdict: 'loses-tokens' },
]

export function judgeEngine(vllm: string, servicer: Servicer): Verdict {
  return TRIED.find((tried) => tried.servicer === servicer && tried.vllm.test(vllm))?.verdict ?? 'untried'
}
