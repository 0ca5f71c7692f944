import type { ModelFamily } from '#libs/dialect/family.ts'

export type Answer = {
  /** `constrained`: the grammar includes everything around the answer. */
  readonly kind: 'text' | 'calls' | 'constrained'
  readonly text: string
}

/** An assistant's turn as its family writes it: `thought`, if there is one, and the answer. */
export function writeTurn(
  reasoning: ModelFamily['reasoning'],
  { thought, answer }: { readonly thought: string | null; readonly answer: Answer },
): string {
  if (reasoning === 'harmony') return writeMessages(thought, answer)
  if (reasoning === 'none' || thought === null) return answer.text
  // A grammar starts at the very token after the tag: no blank line fits in between.
  const gap = answer.kind === 'constrained' ? '' : '\n\n'
  const { open, close, answer: tags } = reasoning
  const said =
    tags !== undefined && answer.kind === 'text' ? tags.open + answer.text + tags.close : answer.text
  return `${open}\n${thought}\n${close}${gap}${said}`
}

/** Harmony: the prompt ends with `<|start|>assistant`, and each message but the first begins with it. */
function writeMessages(thought: string | null, { kind, text }: Answer): string {
  // No engine knows where the thinking ends: a grammar that allows any begins with it.
  if (kind === 'constrained') return text
  const answer = kind === 'text' ? `<|channel|>final<|message|>${text}` : text
  return thought === null
    ? answer
    : `<|channel|>analysis<|message|>${thought}<|end|><|start|>assistant${answer}`
}
