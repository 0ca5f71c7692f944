import { hash } from 'node:crypto'
import type { ModelFamily } from '#libs/contracts/model-family.ts'

/**
 * A call's id: the same in every run of its generation, whichever worker reads it, and such that the family's
 * template takes it back in the next turn.
 */
export function toCallId(
  kind: ModelFamily['callIds'],
  call: {
    readonly generationId: string
    readonly name: string
    readonly index: number
    /** Of the conversation so far. */
    readonly earlierCalls: number
  },
): string {
  const digest = hash('sha256', `${call.generationId}:${call.index}`, 'hex')
  switch (kind) {
    case 'opaque':
      return `call_${digest.slice(0, 24)}`
    // Mistral's templates refuse anything but nine letters and digits.
    case 'nine-characters':
      return digest.slice(0, 9)
    // Kimi's templates print the id where the model writes name and number itself.
    case 'name-and-number':
      return `functions.${call.name}:${call.earlierCalls + call.index}`
  }
}
