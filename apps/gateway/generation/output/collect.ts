import { ApiError } from '#libs/contracts/api-error.ts'
import type { GenerationEnd, PromptLogprob, TokenLogprob, Usage } from '#libs/contracts/generation-event.ts'
import type { ToolCall } from '#libs/contracts/generation-request.ts'
import type { OutputEvent, SendOutput } from '../request/generation-call.ts'
import { TextLogprobs } from './text-logprobs.ts'

/** A part of the output: the joined text of successive deltas of one kind, or one tool call. */
export type OutputPart =
  | { readonly type: 'reasoning'; readonly text: string }
  | {
      readonly type: 'text'
      readonly text: string
      /** One entry for each token of this text; absent if no log probabilities were received. */
      readonly logprobs?: readonly TokenLogprob[]
    }
  | { readonly type: 'tool-call'; readonly call: ToolCall }

/** The whole output of one choice. */
export type FinishedChoice = {
  /** The parts in the order in which they began. The next three fields are made from them. */
  readonly parts: readonly OutputPart[]
  readonly reasoning: string
  readonly text: string
  readonly toolCalls: readonly ToolCall[]
  readonly finishReason: GenerationEnd['finishReason']
  /** The stop string that ended the text; absent if none did. */
  readonly stopString?: string
  /** One entry for each output token, also of reasoning and calls; absent if no log probabilities were received. */
  readonly logprobs?: readonly TokenLogprob[]
  /** One entry for each token of the prompt; absent if no log probabilities of the prompt were received. */
  readonly promptLogprobs?: readonly PromptLogprob[]
}

/** The whole output of a request: its first choice, and the others in their order. */
export type FinishedGeneration = FinishedChoice & {
  /** The usage of all choices. */
  readonly usage: Usage
  /** Absent if the request has one choice. */
  readonly otherChoices?: readonly FinishedChoice[]
}

/**
 * Collects the output that `generate` sends, for answers that are not streamed. Rethrows the errors of `generate`, and
 * throws an `ApiError` `upstream_error` when the output of a choice stops without a `generation-end`.
 */
export async function collect(generate: (send: SendOutput) => Promise<void>): Promise<FinishedGeneration> {
  const first = createCollector()
  const others: ReturnType<typeof createCollector>[] = []
  let usage: Usage | null = null
  await generate((batch, choice = 0) => {
    while (others.length < choice) others.push(createCollector())
    const collector = others[choice - 1] ?? first
    for (const event of batch) {
      collector.take(event)
      // The last end has the usage of all choices.
      if (event.type === 'generation-end') ({ usage } = event)
    }
  })
  if (usage === null) throw brokenOutput(NO_END)
  const otherChoices = others.map((collector) => collector.finish())
  return { ...first.finish(), usage, ...(otherChoices.length > 0 && { otherChoices }) }
}

/** Collects the output of one choice. */
function createCollector() {
  const parts: OutputPart[] = []
  const logprobs: TokenLogprob[] = []
  const promptLogprobs: PromptLogprob[] = []
  const textLogprobs = new TextLogprobs()
  const toolCalls = new Map<number, { id: string; name: string; arguments: string }>()
  let written: { type: 'reasoning' | 'text'; text: string; logprobs?: TokenLogprob[] } | null = null
  let end: GenerationEnd | null = null

  function write(type: 'reasoning' | 'text', text: string) {
    if (text === '') return
    const begins = written?.type !== type
    if (written?.type !== type) {
      written = { type, text: '' }
      parts.push(written)
    }
    written.text += text
    if (logprobs.length === 0) return
    if (type === 'text') (written.logprobs ??= []).push(...textLogprobs.take(text, { begins }))
    else textLogprobs.drop()
  }

  function take(event: OutputEvent) {
    switch (event.type) {
      case 'reasoning-delta':
        return write('reasoning', event.text)
      case 'text-delta':
        return write('text', event.text)
      case 'tool-call-start': {
        const call = { id: event.id, name: event.name, arguments: '' }
        toolCalls.set(event.index, call)
        parts.push({ type: 'tool-call', call })
        written = null
        textLogprobs.drop()
        return
      }
      case 'tool-call-delta': {
        const call = toolCalls.get(event.index)
        if (call === undefined) throw brokenOutput('a delta of a tool call that never began')
        call.arguments += event.text
        textLogprobs.drop()
        return
      }
      case 'prompt-logprobs':
        for (const token of event.tokens) promptLogprobs.push(token)
        return
      case 'token-logprobs':
        for (const token of event.tokens) logprobs.push(token)
        textLogprobs.push(event.tokens)
        return
      case 'generation-end':
        end = event
    }
  }

  function finish(): FinishedChoice {
    const { finishReason, stopString } = assertEnded(end)
    return {
      parts,
      reasoning: textOf(parts, 'reasoning'),
      text: textOf(parts, 'text'),
      toolCalls: [...toolCalls.values()],
      ...(logprobs.length > 0 && { logprobs }),
      ...(promptLogprobs.length > 0 && { promptLogprobs }),
      finishReason,
      ...(stopString !== undefined && { stopString }),
    }
  }

  return { take, finish }
}

const NO_END = 'the output stopped without its end'

function assertEnded(end: GenerationEnd | null): GenerationEnd {
  if (end === null) throw brokenOutput(NO_END)
  return end
}

function textOf(parts: readonly OutputPart[], type: 'reasoning' | 'text'): string {
  return parts.map((part) => (part.type === type ? part.text : '')).join('')
}

/** Returns the error for a generation whose events are incomplete or out of order. */
export function brokenOutput(reason: string): ApiError {
  return new ApiError('upstream_error', 'The model’s output was interrupted.', { cause: new Error(reason) })
}
