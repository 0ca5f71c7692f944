import { expect, it } from 'vitest'
import { createMessageEvents } from '#apps/gateway/endpoints/messages/to-events.ts'
import { createAnswer } from '#test/support/answer.ts'
import { prepare } from './prepared.ts'

const usage = { promptTokens: 1, cachedTokens: 0, completionTokens: 1, reasoningTokens: 0 }
const BETA = { 'anthropic-beta': 'a,fine-grained-tool-streaming-2025-05-14' }

/** Streams two pieces of arguments in batches of their own, and returns the pieces of the deltas. */
function stream(
  pieces: readonly string[],
  tool: object = {},
  headers: Record<string, string> = {},
): string[] {
  const { options } = prepare({ tools: [{ name: 'f', ...tool }] })
  const events = createMessageEvents(createAnswer({ id: 'x', model: 'm', options, headers }))
  events.takePrompt?.(usage)
  const rendered =
    events.render([{ type: 'tool-call-start', index: 0, id: 'c', name: 'f' }]) +
    pieces.map((text) => events.render([{ type: 'tool-call-delta', index: 0, text }])).join('') +
    events.render([{ type: 'generation-end', finishReason: 'tool-calls', usage }])
  return Array.from(rendered.matchAll(/"partial_json":("(?:[^"\\]|\\.)*")/g), ([, json = '']) =>
    JSON.parse(json),
  )
}

it.each<[string[], string[]]>([
  [['{"n":', '1.0}'], ['{"n":1.0}']],
  [['{"city":', ' Paris}'], ['{"arguments":"{\\"city\\": Paris}"}']],
  [['{"city":', '"Par'], ['{"arguments":"{\\"city\\":\\"Par"}']],
  [['[1', ']'], ['{"arguments":"[1]"}']],
  [[], []],
])('arguments %j are sent when they are complete, as an object', (pieces, expected) => {
  expect(stream(pieces)).toEqual(expected)
  expect(stream(pieces, { eager_input_streaming: false }, BETA)).toEqual(expected)
})

it('arguments are sent as they arrive if the tool or the header asks for it', () => {
  const pieces = ['{"city":', ' Paris}']
  expect(stream(pieces, { eager_input_streaming: true })).toEqual(pieces)
  expect(stream(pieces, {}, BETA)).toEqual(pieces)
})
