import { expect, it } from 'vitest'
import { MessageObject } from '#apps/gateway/endpoints/messages/message-object.ts'
import { toObject } from '#apps/gateway/endpoints/messages/to-object.ts'
import { collect } from '#apps/gateway/generation/output/collect.ts'
import type { OutputEvent } from '#apps/gateway/generation/request/generation-call.ts'
import type { GenerationEnd } from '#libs/contracts/generation-event.ts'
import { createAnswer } from '#test/support/answer.ts'

const answer = createAnswer({ id: '0197-x', model: 'org/demo', options: null })
const usage = { promptTokens: 12, cachedTokens: 10, completionTokens: 4, reasoningTokens: 1 }

async function render(events: readonly OutputEvent[], end: Partial<GenerationEnd> = {}) {
  const generation = await collect(async (send) => {
    send([...events, { type: 'generation-end', finishReason: 'stop', usage, ...end }])
  })
  return MessageObject.parse(JSON.parse(toObject(generation, answer)))
}

const called = (args: string): OutputEvent[] => [
  { type: 'tool-call-start', index: 0, id: 'call_0', name: 'f' },
  { type: 'tool-call-delta', index: 0, text: args },
]

it('has the blocks in their order, and the usage without the tokens of the cache', async () => {
  const events: OutputEvent[] = [
    { type: 'reasoning-delta', text: 'Hm.' },
    { type: 'text-delta', text: 'A' },
    ...called('{"a":1}'),
  ]
  expect(await render(events, { finishReason: 'tool-calls' })).toEqual({
    id: 'msg_0197-x',
    type: 'message',
    role: 'assistant',
    model: 'org/demo',
    content: [
      { type: 'thinking', thinking: 'Hm.', signature: expect.stringMatching(/./) },
      { type: 'text', text: 'A' },
      { type: 'tool_use', id: 'call_0', name: 'f', input: { a: 1 } },
    ],
    stop_reason: 'tool_use',
    stop_sequence: null,
    usage: {
      input_tokens: 2,
      cache_creation_input_tokens: 0,
      cache_read_input_tokens: 10,
      output_tokens: 4,
      output_tokens_details: { thinking_tokens: 1 },
      service_tier: 'standard',
    },
  })
})

it.each<[end: Partial<GenerationEnd>, reason: string, sequence: string | null]>([
  [{ finishReason: 'stop' }, 'end_turn', null],
  [{ finishReason: 'stop', stopString: 'END' }, 'stop_sequence', 'END'],
  [{ finishReason: 'length' }, 'max_tokens', null],
  [{ finishReason: 'tool-calls', stopString: 'END' }, 'tool_use', null],
])('%j ends it by %s', async (end, stop_reason, stop_sequence) => {
  expect(await render([], end)).toMatchObject({ content: [], stop_reason, stop_sequence })
})

it.each(['{"a"', '[1]', 'null', 'x', '{"a":'.repeat(5_000) + '1' + '}'.repeat(5_000)])(
  'keeps the text of arguments that are no object',
  async (args) => {
    const { content } = await render(called(args), { finishReason: 'length' })
    expect(content).toMatchObject([{ type: 'tool_use', input: { arguments: args } }])
  },
)

it('reads no arguments as an empty object', async () => {
  expect((await render(called(''))).content).toMatchObject([{ input: {} }])
})
