import type { ModelFamily } from '#libs/dialect/family.ts'

export type Answer = {
  /** `constrained`: the grammar covers the whole text, including markers around the answer. */
  readonly kind: 'text' | 'calls' | 'constrained'
  readonly text: string
}

/** Returns an assistant's turn in the format of its family: `thought`, if there is one, and the answer. */
export function writeTurn(
  reasoning: ModelFamily['reasoning'],
  { thought, answer }: { readonly thought: string | null; readonly answer: Answer },
): string {
  if (reasoning === 'harmony') return writeMessages(thought, answer)
  if (reasoning === 'none' || thought === null) return answer.text
  // A grammar starts at the token right after the tag that ends the thought, and allows no blank line there.
  const gap = answer.kind === 'constrained' ? '' : '\n\n'
  const { open, close, answer: tags } = reasoning
  const said =
    tags !== undefined && answer.kind === 'text' ? tags.open + answer.text + tags.close : answer.text
  return `${open}\n${thought}\n${close}${gap}${said}`
}

/**
 * Writes harmony's messages. The prompt ends with `<|start|>assistant`, and each message but the first begins with it.
 */
function writeMessages(thought: string | null, { kind, text }: Answer): string {
  // No engine finds the end of harmony's thinking, so a grammar that allows thinking covers the thinking as well.
  if (kind === 'constrained') return text
  const answer = kind === 'text' ? `<|channel|>final<|message|>${text}` : text
  return thought === null
    ? answer
    : `<|channel|>analysis<|message|>${thought}<|end|><|start|>assistant${answer}`
}
