import type { ChatJob } from '#libs/contracts/generation-job.ts'
import type { ModelFamily } from '#libs/dialect/family.ts'
import { ChatTemplateError, type Chat } from '#libs/chat-template/chat-renderer.ts'
import type { Tokenizer } from '#libs/tokenizer/tokenizer.ts'
import { withOwnCallIds } from '#libs/dialect/syntax/call-id.ts'
import type { RenderChat } from './render-chat.ts'

/** A prompt as the engine gets it, and the text behind its last control token that a caller typed as text. */
export type RenderedPrompt = { readonly tail: string; readonly ids: Uint32Array }

/** Of a job for an engine whose context window has so many tokens. */
export type RenderPrompt = (job: ChatJob, contextWindow: number) => Promise<RenderedPrompt>

/**
 * Renders a job's conversation with the model's own chat template and tokenizes it exactly: the template's
 * special tokens become their ids, those that a caller types stay text. Throws a ChatTemplateError when the
 * template refuses the conversation, and when the tokenizer finds a control token that nobody wrote (its
 * normalizer may turn other characters into a token's text). Of a prompt that is hopelessly longer than the window,
 * only a beginning that is too long as well is tokenized.
 */
export function createRenderPrompt(deps: {
  chats: Pick<RenderChat, 'render' | 'isForged'>
  tokenizer: Pick<Tokenizer, 'encodePieces'>
  family: Pick<ModelFamily, 'callIds' | 'effort'>
}): RenderPrompt {
  const { chats, tokenizer, family } = deps
  return async ({ request }, contextWindow) => {
    const pieces = await renderDescribed(chats, {
      messages: withOwnCallIds(family.callIds, request.messages),
      tools: request.toolChoice === 'none' ? [] : request.tools,
      switches: family.effort[request.reasoningEffort],
    })
    const tail = pieces.at(-1) ?? ''
    const beginning = await beginningTooLong(pieces, contextWindow, tokenizer)
    if (beginning !== null) return { tail, ids: beginning }
    const ids = await tokenizer.encodePieces(pieces)
    if (chats.isForged(pieces, ids)) {
      throw new ChatTemplateError('the messages hold characters that this model reads as control tokens')
    }
    return { tail, ids }
  }
}

/**
 * A tool without a description is told to the template as such. Some add it to a text, which nothing cannot be (those
 * of gpt-oss, Hermes and DeepSeek V3.1): they get an empty one.
 */
async function renderDescribed(chats: Pick<RenderChat, 'render'>, chat: Chat): Promise<string[]> {
  try {
    return await chats.render(chat)
  } catch (error) {
    const isDescribed = chat.tools.every((tool) => tool.description !== null)
    if (isDescribed || !(error instanceof ChatTemplateError)) throw error
    const tools = chat.tools.map((tool) => ({ ...tool, description: tool.description ?? '' }))
    return await chats.render({ ...chat, tools })
  }
}

/** Text of ordinary languages has fewer characters a token; a prompt of less is tokenized at once. */
const SUSPICIOUS_CHARACTERS_PER_TOKEN = 8
const SLICE_CHARACTERS = 32_768

/**
 * The first ids of a prompt that cannot fit the window, or null when it may fit. Tokenizing all of a megabyte
 * keeps a core busy for seconds, so a suspicious one is tokenized slice by slice until twice the window is
 * full: a cut changes the tokens around it, but does not double them.
 */
async function beginningTooLong(
  pieces: readonly string[],
  contextWindow: number,
  tokenizer: Pick<Tokenizer, 'encodePieces'>,
): Promise<Uint32Array | null> {
  const characters = pieces.reduce((sum, piece) => sum + piece.length, 0)
  if (characters <= contextWindow * SUSPICIOUS_CHARACTERS_PER_TOKEN) return null
  const beginning: number[] = []
  for (const slice of slicesOf(pieces)) {
    for (const id of await tokenizer.encodePieces(slice)) beginning.push(id)
    if (beginning.length > 2 * contextWindow) return Uint32Array.from(beginning)
  }
  return null
}

/** The pieces in portions of about the same length; a piece that is longer is cut between characters. */
function* slicesOf(pieces: readonly string[]): Generator<string[]> {
  let slice: string[] = []
  let room = SLICE_CHARACTERS
  for (const piece of pieces) {
    let from = 0
    while (piece.length - from >= room) {
      const end = from + room
      const to = isHighSurrogate(piece.charCodeAt(end - 1)) ? end - 1 : end
      yield [...slice, piece.slice(from, to)]
      slice = []
      from = to
      room = SLICE_CHARACTERS
    }
    slice.push(piece.slice(from))
    room -= piece.length - from
  }
  yield slice
}

const isHighSurrogate = (unit: number): boolean => unit >= 0xd800 && unit <= 0xdbff
