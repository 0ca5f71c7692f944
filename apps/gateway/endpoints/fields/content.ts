import { z } from 'zod'
import { shorten } from '../../http/shorten.ts'
import { documentedAs } from '#libs/http-contract/documented-as.ts'
import { Attachment, toAttachmentText } from './attachments.ts'
import { TEXT } from './field-texts.ts'
import { listOf } from '#libs/http-contract/list-of.ts'
import { parsePart } from '#libs/http-contract/parse-part.ts'
import { shortText } from './short-text.ts'

const TextPart = z.object({ type: z.enum(['text', 'input_text', 'output_text']), text: z.string(TEXT) })
const RefusalPart = z.object({ type: z.literal('refusal'), refusal: z.string(TEXT) })
const ReasoningPart = z.looseObject({
  type: z
    .enum(['thinking', 'reasoning', 'reasoning_text', 'redacted_thinking'])
    .meta({ description: 'Read as reasoning where it has text; encrypted reasoning is ignored.' }),
})

/** The texts of a message's parts; the parts of each kind are joined. */
export type Spoken = { readonly text: string; readonly reasoning: string }

/**
 * Returns the schemas for the content of a message and of a tool's result. A content is a text or a list of parts. The
 * parts are written as in chat or as in Responses. The texts of text parts and refusal parts are joined without a
 * separator; null is an empty text. Only an assistant's content may have reasoning parts, and only a tool's result may
 * have pictures, files and recordings. A part of any other type is refused with an error that names its type. `textType`
 * is the type that errors recommend.
 */
export function contentsOf(textType: 'text' | 'input_text') {
  const example = `{"type":"${textType}","text":…}`
  const expected = `expected text, or an array of parts ${example}`

  function contentOf(others: typeof ReasoningPart | typeof Attachment | null) {
    const Part = z
      .looseObject({ type: shortText(`expected a part ${example}`) }, `expected a part ${example}`)
      .transform((part, context): Spoken => {
        const { type } = part
        const read = <Schema extends z.ZodType>(schema: Schema) =>
          parsePart(schema, part, { path: [], context }) ?? z.NEVER
        if (isOf(TextPart, type)) return { text: read(TextPart).text, reasoning: '' }
        if (isOf(RefusalPart, type)) return { text: read(RefusalPart).refusal, reasoning: '' }
        if (others === ReasoningPart && isOf(others, type)) return { text: '', reasoning: toReasoning(part) }
        if (others === Attachment && isOf(others, type))
          return { text: toAttachmentText(read(others)), reasoning: '' }
        context.addIssue({
          code: 'custom',
          message: `parts of type '${shorten(type)}' are not supported by this model; expected ${example}`,
        })
        return z.NEVER
      })
    const Parts = listOf(Part, { expected }).transform((parts): Spoken => ({
      text: parts.map(({ text }) => text).join(''),
      reasoning: parts.flatMap(({ reasoning }) => (reasoning === '' ? [] : [reasoning])).join('\n'),
    }))
    const documented = z.union([
      z.string(),
      z.array(z.union([TextPart, RefusalPart, ...(others === null ? [] : [others])])),
    ])
    return z
      .union([z.string(), z.array(z.unknown())], expected)
      .transform((content, context): Spoken => {
        if (typeof content === 'string') return { text: content, reasoning: '' }
        return parsePart(Parts, content, { path: [], context }) ?? z.NEVER
      })
      .meta(documentedAs(documented))
      .nullable()
      .transform((content) => content ?? { text: '', reasoning: '' })
  }

  return {
    Content: contentOf(null).transform(({ text }) => text),
    ResultContent: contentOf(Attachment).transform(({ text }) => text),
    AssistantContent: contentOf(ReasoningPart),
  }
}

type TypedPart = typeof TextPart | typeof RefusalPart | typeof ReasoningPart | typeof Attachment

function isOf(part: TypedPart, type: string): boolean {
  return part.shape.type.safeParse(type).success
}

/**
 * Returns the text of a reasoning part. Clients send this text in different fields: as a string, or as a list of parts
 * with text.
 */
function toReasoning(part: Readonly<Record<string, unknown>>): string {
  const texts = ['thinking', 'reasoning', 'text', 'content', 'summary'].map((field) => toText(part[field]))
  return texts.find((text) => text !== '') ?? ''
}

function toText(value: unknown): string {
  if (typeof value === 'string') return value
  if (!Array.isArray(value)) return ''
  return value.map((part) => TextOfPart.safeParse(part).data?.text ?? '').join('')
}

const TextOfPart = z.object({ text: z.string() })
