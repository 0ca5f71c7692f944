import { z } from 'zod'
import type { ToolCall } from '#libs/contracts/generation-request.ts'
import { documentedAs } from '#libs/http-contract/documented-as.ts'
import { listOf } from '#libs/http-contract/list-of.ts'
import { parsePart } from '#libs/http-contract/parse-part.ts'
import { optional } from '../../http/parse-body.ts'
import { shorten } from '../../http/shorten.ts'
import { Attachment, toAttachmentText } from '../fields/attachments.ts'
import { ObjectJson } from '../fields/exact-texts.ts'
import { TEXT } from '../fields/field-texts.ts'
import { ShortText } from '../fields/short-text.ts'
import { toFoundText } from '../fields/tool-names.ts'

/** A block of a message's content, as far as a prompt can have it. `found`: the names of tools that a search has found. */
export type Block = { readonly found?: readonly string[] } & (
  | { readonly type: 'text' | 'reasoning'; readonly text: string }
  | { readonly type: 'call'; readonly call: ToolCall }
  | { readonly type: 'result'; readonly toolCallId: string; readonly text: string }
  | { readonly type: 'ignored' }
)

const TextBlock = z
  .object({ type: z.literal('text'), text: z.string(TEXT) })
  .transform(({ text }): Block => ({ type: 'text', text }))

/** The signature is not checked: it is the same on every block of this service. */
const ThinkingBlock = z
  .object({ type: z.literal('thinking'), thinking: z.string(TEXT) })
  .transform(({ thinking }): Block => ({ type: 'reasoning', text: thinking }))

const ToolUseBlock = z
  .object({
    type: z.literal('tool_use'),
    id: ShortText,
    name: ShortText,
    input: ObjectJson,
  })
  .transform(({ id, name, input }): Block => ({
    type: 'call',
    call: { id, name, arguments: input },
  }))

/**
 * Blocks that are ignored, for one of two reasons. Either no model of this service could read the block (for example,
 * reasoning that only the service that encrypted it can decrypt), or the text of the conversation also has the block's
 * content (for example, the calls and results of tools that another service has run).
 */
const IgnoredBlock = z
  .object({
    type: z
      .enum([
        'redacted_thinking',
        'server_tool_use',
        'web_search_tool_result',
        'web_fetch_tool_result',
        'code_execution_tool_result',
        'bash_code_execution_tool_result',
        'text_editor_code_execution_tool_result',
        'tool_search_tool_result',
        'mcp_tool_use',
        'mcp_tool_result',
      ])
      .meta({ description: 'Ignored.' }),
  })
  .transform((): Block => ({ type: 'ignored' }))

const ToolReferenceBlock = z
  .object({ type: z.literal('tool_reference'), tool_name: ShortText })
  .transform(({ tool_name: name }): Block => ({ type: 'text', text: toFoundText(name), found: [name] }))

const SearchResultBlock = z
  .object({
    type: z.literal('search_result'),
    title: optional(z.string(TEXT)),
    source: optional(z.string(TEXT)),
    content: optional(listOf(TextBlock, { expected: 'expected an array of text blocks' })),
  })
  .transform(({ title = '', source = '', content = [] }): Block => {
    const heading = [title, source].map((text): Block => ({ type: 'text', text }))
    return { type: 'text', text: joinTexts([...heading, ...content]) }
  })

const TextSource = z.object({ type: z.literal('text'), data: z.string() })

const AttachmentBlock = Attachment.transform((block): Block => {
  const source = TextSource.safeParse(block['source'])
  return { type: 'text', text: source.success ? source.data.data : toAttachmentText(block) }
})

/** Advice for blocks that are refused, by their type. */
const INSTEAD: Readonly<Record<string, string>> = {
  image: 'send a description of the image as text',
  document: 'send the text of the document as a text block',
  search_result: 'send the text of the result as a text block',
  container_upload: 'send the text of the file as a text block',
  compaction: 'send the messages that it replaces',
}

/** Refuses a block by its type. `expected` names the types that are allowed at this place. */
const refuseBlock = (expected: string) =>
  function ({ code, input }: { readonly code: string; readonly input?: unknown }): string {
    if (code !== 'invalid_union') return 'expected a block, such as {"type":"text","text":…}'
    const type = typeof input === 'object' && input !== null && 'type' in input ? input.type : undefined
    if (typeof type !== 'string') return `expected ${expected}`
    const advice = Object.hasOwn(INSTEAD, type) ? INSTEAD[type] : undefined
    return `blocks of type '${shorten(type)}' are not supported here; ${advice ?? `expected ${expected}`}`
  }

/** Returns the schema of a content: text, or blocks that `Entry` reads. */
function contentOf(Entry: z.ZodType<Block>) {
  const expected = 'expected text, or an array of blocks {"type":"text","text":…}'
  const Blocks = listOf(Entry, { expected })
  return z
    .union([z.string(), z.array(z.unknown())], expected)
    .transform((content, context): readonly Block[] => {
      if (typeof content === 'string') return [{ type: 'text', text: content }]
      return parsePart(Blocks, content, { path: [], context }) ?? z.NEVER
    })
    .meta(documentedAs(z.union([z.string(), Blocks])))
}

const TextOnly = z.discriminatedUnion('type', [TextBlock], { error: refuseBlock('text') })

/** The system prompt, or the content of a message of role system. */
export const SystemContent = contentOf(TextOnly)

const ResultContent = contentOf(
  z.discriminatedUnion('type', [TextBlock, ToolReferenceBlock, SearchResultBlock, AttachmentBlock], {
    error: refuseBlock('text'),
  }),
)

const ToolResultBlock = z
  .object({ type: z.literal('tool_result'), tool_use_id: ShortText, content: optional(ResultContent) })
  .transform(({ tool_use_id: toolCallId, content = [] }): Block => ({
    type: 'result',
    toolCallId,
    text: joinTexts(content),
    found: content.flatMap(({ found = [] }) => found),
  }))

export const UserContent = contentOf(
  z.discriminatedUnion('type', [TextBlock, ToolResultBlock, IgnoredBlock], {
    error: refuseBlock('text or tool_result'),
  }),
)

export const AssistantContent = contentOf(
  z.discriminatedUnion('type', [TextBlock, ThinkingBlock, ToolUseBlock, IgnoredBlock], {
    error: refuseBlock('text, thinking or tool_use'),
  }),
)

/** Joins the texts of a user, a system prompt or a result, each of which is a paragraph of its own. */
export function joinTexts(blocks: readonly Block[]): string {
  return blocks
    .flatMap((block) => (block.type === 'text' && block.text !== '' ? [block.text] : []))
    .join('\n')
}
