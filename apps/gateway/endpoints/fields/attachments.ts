import { z } from 'zod'

/** The names of parts that no model of this service reads, by a word in the types of such parts. */
const NAMES = { image: 'picture', document: 'document', file: 'file', audio: 'recording', video: 'video' }

const TYPES = Object.keys(NAMES).flatMap((word) => [word, `input_${word}`, `${word}_url`])

/**
 * A picture, file or recording in the result of a tool. It is read as a sentence, not refused: the model chose to call
 * the tool, and no user can remove the result from the conversation.
 */
export const Attachment = z.looseObject({
  type: z.enum(TYPES).meta({ description: 'Read as a sentence that names what the model cannot read.' }),
})

export function toAttachmentText({ type }: z.output<typeof Attachment>): string {
  const [, name] = Object.entries(NAMES).find(([word]) => type.includes(word)) ?? ['', type]
  return `[a ${name} that this model cannot read]`
}
