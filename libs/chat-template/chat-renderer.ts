import { wallClockMs } from '#libs/clock/wall-clock.ts'
import type { ChatMessage, ToolDefinition } from '#libs/contracts/generation-request.ts'
import { parseExact } from '#libs/json-schema/exact-json.ts'
import type { AddedToken } from '#libs/tokenizer/tokenizer.ts'
import { createNumberKeeper } from './python/number-keeper.ts'
import { createPythonTemplate, TemplateRefusal, type PythonTemplate } from './python/python-template.ts'
import { fitMessages, UnprintableError } from './shape/fit-messages.ts'
import { PLAIN_VALUES, PROBED_TOOL, probeTemplate, probeTools } from './shape/probe-template.ts'
import { PLAIN_SHAPES, type TemplateShapes } from './shape/template-shape.ts'
import { toTemplateMessage, type SafeValues, type WriteCalls } from './shape/to-template-message.ts'
import { createTokenGuard, type TokenGuard } from './token-guard.ts'

/** The parts of a request that a template renders. */
export type Chat = {
  readonly messages: readonly ChatMessage[]
  readonly tools: readonly ToolDefinition[]
  /** Further variables of the template, which switch the model's reasoning on, off or to a level. */
  readonly switches: Readonly<Record<string, boolean | string | number>>
}

/** A model's chat template, as its files describe it. Plain data. */
export type ChatTemplate = {
  /** The template's Jinja; null if the model has none, as is common for embedding models. */
  readonly source: string | null
  /** Jinja for chats with tools, if the model has a separate template for them. */
  readonly toolSource?: string | null
  /** Variables that the template may name: `bos_token`, `eos_token`, … */
  readonly specialTokens: Readonly<Record<string, string>>
  readonly addedTokens: readonly AddedToken[]
  /** The messages that the template can print. If absent, messages are rendered unchanged. */
  readonly shapes?: TemplateShapes
}

export type ChatRenderer = {
  /**
   * Returns the prompt up to the beginning of the model's turn, in pieces. If each piece is encoded by itself, the
   * result contains no control token except the template's own. Throws a ChatTemplateError if the template cannot
   * render the chat.
   */
  render: (chat: Chat) => string[]
  /** Returns whether the ids of these pieces contain a control token that is not in their text. */
  isForged: TokenGuard['isForged']
}

/** The template cannot render these messages. The error's message may be shown to the caller. */
export class ChatTemplateError extends Error {
  /** The message is never logged. */
  readonly quotesRequest = true

  constructor(message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause })
    this.name = 'ChatTemplateError'
  }
}

/**
 * `writeCalls` writes tool calls as the model does, for templates that print no calls. `now` returns the date for
 * templates that print a date.
 */
export type RenderOptions = { readonly writeCalls?: WriteCalls; readonly now?: () => Date }

/**
 * Renders chats as vLLM's HTTP server does with the same template (recorded in `test/fixtures/http`). If
 * `chatTemplate.shapes` is given, messages that the template would leave out or refuse are first changed so that the
 * template prints them. Throws if the source cannot be parsed. If the model has no template, as is common for embedding
 * models, `render` refuses each chat.
 */
export function createChatRenderer(chatTemplate: ChatTemplate, options: RenderOptions = {}): ChatRenderer {
  const { source, toolSource = null, addedTokens, shapes = PLAIN_SHAPES } = chatTemplate
  const { writeCalls = null } = options
  const print = openTemplate(chatTemplate, options.now)
  const guard = createTokenGuard({ addedTokens, source: `${source ?? ''}\n${toolSource ?? ''}` })
  function render({ messages, tools, switches }: Chat): string[] {
    const shape = tools.length === 0 ? shapes.plain : shapes.withTools
    const numbers = createNumberKeeper()
    const safe: SafeValues = {
      text: guard.guardText,
      json: (json) => guard.guardJson(numbers.parse(json)),
      exactJson: (json) => guard.guardJson(parseExact(json)),
    }
    if (tools.length > 0 && !shapes.tools) throw new UnprintableError('tools')
    const fitted = fitMessages(messages, shape)
    const prompt = print({
      switches,
      messages: fitted.map((message) => toTemplateMessage(message, shape, { safe, writeCalls })),
      tools: tools.map((tool) => toTemplateTool(tool, safe)),
    })
    return guard.toPieces(numbers.restore(prompt))
  }

  return {
    isForged: guard.isForged,
    render(chat) {
      try {
        return render(chat)
      } catch (error) {
        throw toTemplateError(error, () => nameUnprintable(chat, render))
      }
    },
  }
}

/** Probes which messages a template can print, which takes some milliseconds. Throws if the source cannot be parsed. */
export function probeShapes(
  chatTemplate: ChatTemplate,
  { writeCalls = null, now }: RenderOptions,
): TemplateShapes {
  const print = openTemplate(chatTemplate, now)
  const beside = (tools: readonly ToolDefinition[]) => (messages: readonly Record<string, unknown>[]) =>
    print({ switches: {}, messages, tools: tools.map((tool) => toTemplateTool(tool, PLAIN_VALUES)) })
  return {
    plain: probeTemplate(beside([]), writeCalls),
    withTools: probeTemplate(beside([PROBED_TOOL]), writeCalls),
    tools: probeTools(beside([PROBED_TOOL])),
  }
}

type Printed = {
  readonly switches: Chat['switches']
  readonly messages: readonly Record<string, unknown>[]
  readonly tools: readonly Record<string, unknown>[]
}

/** Returns a function that renders a template's prompts, with the variables that every template gets. */
function openTemplate(
  { source, toolSource = null, specialTokens }: ChatTemplate,
  now = () => new Date(wallClockMs()),
): (values: Printed) => string {
  const plain = source === null ? null : parseTemplate(source, now)
  const withTools = toolSource === null ? plain : parseTemplate(toolSource, now)
  return ({ switches, messages, tools }) => {
    const template = tools.length === 0 ? plain : withTools
    if (template === null) throw new ChatTemplateError('this model has no chat template')
    return template.render({
      ...switches,
      ...specialTokens,
      messages,
      tools: tools.length === 0 ? null : tools,
      documents: null,
      add_generation_prompt: true,
    })
  }
}

/** An error of the Jinja library would say nothing to a caller. So its message names the part of the chat instead. */
function toTemplateError(error: unknown, nameCause: () => string): ChatTemplateError {
  if (error instanceof ChatTemplateError) return error
  if (error instanceof UnprintableError) return new ChatTemplateError(error.message, error)
  if (!(error instanceof TemplateRefusal)) {
    return new ChatTemplateError(new UnprintableError(nameCause()).message, error)
  }
  const reason = error.message.slice(0, 500)
  return new ChatTemplateError(`the model's chat template refused these messages: ${reason}`, error)
}

/** Names the first tool, or else the first message, with which the Jinja library fails to print a chat. */
function nameUnprintable(chat: Chat, render: (chat: Chat) => unknown): string {
  const fails = (part: Partial<Chat>) => {
    try {
      render({ ...chat, ...part })
      return false
    } catch (error) {
      return ![ChatTemplateError, UnprintableError, TemplateRefusal].some((known) => error instanceof known)
    }
  }
  if (!fails({ tools: [] })) {
    const { name = '' } = chat.tools[firstFailing(chat.tools, (tools) => fails({ tools }))] ?? {}
    return `the tool ${JSON.stringify(name)}`
  }
  const place = firstFailing(chat.messages, (messages) => fails({ messages, tools: [] }))
  return `message ${place + 1}, which has the role ${chat.messages[place]?.role}`
}

/** Returns the place of the item that ends the shortest beginning of a list that fails. The whole list fails. */
function firstFailing<Item>(items: readonly Item[], fails: (items: readonly Item[]) => boolean): number {
  let [passing, failing] = [0, items.length]
  while (failing - passing > 1) {
    const middle = (passing + failing) >> 1
    if (fails(items.slice(0, middle))) failing = middle
    else passing = middle
  }
  return failing - 1
}

function parseTemplate(source: string, now: () => Date): PythonTemplate {
  try {
    return createPythonTemplate(source, now)
  } catch (error) {
    const problem = error instanceof Error ? error.message : String(error)
    throw new Error(`the chat template cannot be parsed: ${problem}`, { cause: error })
  }
}

/** The order of keys is part of the prompt, so it is the same as vLLM's. */
function toTemplateTool(tool: ToolDefinition, safe: SafeValues): Record<string, unknown> {
  const { name, description, parameters, parametersText, strict } = tool
  return {
    type: 'function',
    function: {
      name: safe.text(name, 'all'),
      description: description === null ? null : safe.text(description, 'all'),
      parameters: parameters === null ? null : safe.json(parametersText ?? JSON.stringify(parameters)),
      ...(strict !== undefined && { strict }),
    },
  }
}
