import type { ChatRequest } from '#libs/contracts/generation-request.ts'
import type { ModelFamily } from '#libs/dialect/family.ts'
import { ChatTemplateError, type Chat } from '#libs/chat-template/chat-renderer.ts'
import { describeTools } from '#libs/chat-template/shape/describe-tools.ts'
import { pairResults } from '#libs/chat-template/shape/pair-results.ts'
import type { Tokenizer } from '#libs/tokenizer/tokenizer.ts'
import { withOwnCallIds } from '#libs/dialect/syntax/call-id.ts'
import type { ThreadedChatRenderer } from './threaded-chat-renderer.ts'

export type RenderedPrompt = {
  /** The last piece of the prompt's text. Its end shows whether the prompt opens the reasoning. */
  readonly tail: string
  readonly ids: Uint32Array
}

/** Renders a job's request for an engine whose context window has this many tokens. */
export type RenderPrompt = (
  job: { readonly request: ChatRequest },
  contextWindow: number,
) => Promise<RenderedPrompt>

/**
 * Renders a job's conversation with the model's chat template and tokenizes it. Special tokens of the template become
 * their ids; special tokens that a caller types stay text. Throws a ChatTemplateError in two cases: the template
 * refuses the conversation, or the ids contain a control token whose text is not in the rendered prompt. The second
 * case occurs because the tokenizer's normalizer may turn other characters into the text of a token. If a prompt is far
 * longer than the window, only a beginning that already exceeds the window is tokenized.
 *
 * A raw prompt is tokenized as it is, as vLLM's HTTP server tokenizes the prompt of a legacy completion.
 */
export function createRenderPrompt(deps: {
  renderer: ChatRendering
  tokenizer: Pick<Tokenizer, 'encode' | 'encodePieces' | 'encodeWhole'>
  family: Pick<ModelFamily, 'callIds' | 'effort'>
}): RenderPrompt {
  const { renderer, tokenizer, family } = deps
  return async ({ request }, contextWindow) => {
    if (request.rawPrompt !== undefined) return await encodeRaw(request, contextWindow)
    const pieces = await renderDescribed(renderer, {
      messages: withOwnCallIds(family.callIds, pairResults(request.messages)),
      tools: request.toolChoice === 'none' ? [] : request.tools,
      switches: family.effort[request.reasoningEffort],
    })
    const tail = pieces.at(-1) ?? ''
    const beginning = await beginningTooLong(pieces, contextWindow, tokenizer)
    if (beginning !== null) return { tail, ids: beginning }
    const ids = await tokenizer.encodePieces(pieces)
    if (renderer.isForged(pieces, ids)) {
      throw new ChatTemplateError('the messages contain characters that this model reads as control tokens')
    }
    return { tail, ids }
  }

  /** Special tokens that the caller has written become their ids, because the prompt has no parts to forge. */
  async function encodeRaw(
    { messages, rawPrompt }: ChatRequest,
    contextWindow: number,
  ): Promise<RenderedPrompt> {
    const text = messages.map(({ content }) => content).join('')
    const beginning = await beginningTooLong([text], contextWindow, tokenizer)
    if (beginning !== null) return { tail: text, ids: beginning }
    const encode = rawPrompt?.addsSpecialTokens === true ? tokenizer.encodeWhole : tokenizer.encode
    return { tail: text, ids: await encode(text) }
  }
}

type ChatRendering = Pick<ThreadedChatRenderer, 'render' | 'isForged'>

/**
 * Renders a chat. A tool without a description has the description null, as in vLLM. If the template refuses this chat,
 * renders it again with the descriptions of `describeTools`.
 */
async function renderDescribed(renderer: ChatRendering, chat: Chat): Promise<string[]> {
  try {
    return await renderer.render(chat)
  } catch (error) {
    if (chat.tools.length === 0 || !(error instanceof ChatTemplateError)) throw error
    try {
      return await renderer.render({ ...chat, tools: describeTools(chat.tools) })
    } catch {
      throw error
    }
  }
}

/**
 * A prompt is tokenized as a whole if it has at most this many characters for each token of the context window.
 * Ordinary text has fewer characters per token.
 */
const SUSPICIOUS_CHARACTERS_PER_TOKEN = 8
const SLICE_CHARACTERS = 32_768

/**
 * Returns the first ids of a prompt that cannot fit the window, or null when it may fit. Tokenizing a megabyte takes
 * seconds of a core. So a suspiciously long prompt is tokenized in slices, until there are more ids than twice the
 * window. That is enough: a cut between two slices changes the tokens around it, but never doubles their number.
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

/** Groups the pieces into slices of about the same length; a longer piece is cut between characters. */
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
