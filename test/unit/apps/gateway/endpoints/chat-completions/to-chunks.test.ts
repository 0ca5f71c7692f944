import { describe, expect, it } from 'vitest'
import { createChatChunks } from '#apps/gateway/endpoints/chat-completions/to-chunks.ts'
import type { OutputEvent } from '#apps/gateway/generation/generation-call.ts'
import { createAnswer } from '#test/support/answer.ts'

const answer = (includeUsage = false) =>
  createAnswer({ id: '0197-x', model: 'org/demo', options: { includeUsage } })
const usage = { promptTokens: 5, cachedTokens: 2, completionTokens: 4, reasoningTokens: 1 }
const end: OutputEvent = { type: 'generation-end', finishReason: 'stop', usage }

function render(batches: OutputEvent[][], includeUsage = false) {
  const chunks = createChatChunks(answer(includeUsage))
  return batches.map((batch) => chunks.render(batch)).join('')
}

function read(frames: string): unknown[] {
  expect(frames.endsWith('\n\n')).toBe(true)
  return frames
    .slice(0, -2)
    .split('\n\n')
    .map((frame) => {
      expect(frame).toMatch(/^data: [^\n]+$/)
      const data = frame.slice(6)
      return data === '[DONE]' ? data : JSON.parse(data)
    })
}

const chunk = (delta: object, finishReason: string | null = null) => ({
  id: 'chatcmpl-0197-x',
  object: 'chat.completion.chunk',
  created: 1_700_000_000,
  model: 'org/demo',
  choices: [{ index: 0, delta, finish_reason: finishReason }],
})
const role = chunk({ role: 'assistant', content: '' })

describe('chat chunks', () => {
  it('begin with the role, carry text, and end with one finish chunk and [DONE]', () => {
    expect(
      read(render([[{ type: 'text-delta', text: 'Hel' }], [{ type: 'text-delta', text: 'lo' }], [end]])),
    ).toEqual([role, chunk({ content: 'Hel' }), chunk({ content: 'lo' }), chunk({}, 'stop'), '[DONE]'])
  })

  it('merge the deltas of one kind in a batch, and keep kinds in their order', () => {
    const batch: OutputEvent[] = [
      { type: 'reasoning-delta', text: 'h' },
      { type: 'reasoning-delta', text: 'm' },
      { type: 'text-delta', text: 'a' },
      { type: 'text-delta', text: 'b' },
      { type: 'text-delta', text: 'c' },
      end,
    ]
    expect(read(render([batch]))).toEqual([
      role,
      chunk({ reasoning_content: 'hm' }),
      chunk({ content: 'abc' }),
      chunk({}, 'stop'),
      '[DONE]',
    ])
  })

  it('name a tool call once, and never merge the arguments of two', () => {
    const batch: OutputEvent[] = [
      { type: 'tool-call-start', index: 0, id: 'c0', name: 'f' },
      { type: 'tool-call-delta', index: 0, text: '{"a"' },
      { type: 'tool-call-delta', index: 0, text: ':1}' },
      { type: 'tool-call-start', index: 1, id: 'c1', name: 'g"' },
      { type: 'tool-call-delta', index: 1, text: '{' },
      { type: 'tool-call-delta', index: 0, text: ' ' },
      { type: 'tool-call-delta', index: 1, text: '}' },
      { ...end, finishReason: 'tool-calls' },
    ]
    const call = (index: number, rest: object) => chunk({ tool_calls: [{ index, ...rest }] })
    const started = (id: string, name: string) => ({
      id,
      type: 'function',
      function: { name, arguments: '' },
    })
    const more = (text: string) => ({ function: { arguments: text } })
    expect(read(render([batch]))).toEqual([
      role,
      call(0, started('c0', 'f')),
      call(0, more('{"a":1}')),
      call(1, started('c1', 'g"')),
      call(1, more('{')),
      call(0, more(' ')),
      call(1, more('}')),
      chunk({}, 'tool_calls'),
      '[DONE]',
    ])
  })

  it('carry usage in one last chunk without choices, only when asked', () => {
    const frames = read(render([[end]], true))
    expect(frames).toEqual([
      role,
      chunk({}, 'stop'),
      {
        ...chunk({}),
        choices: [],
        usage: {
          prompt_tokens: 5,
          completion_tokens: 4,
          total_tokens: 9,
          prompt_tokens_details: { cached_tokens: 2 },
          completion_tokens_details: { reasoning_tokens: 1 },
        },
      },
      '[DONE]',
    ])
  })

  it.each(['"\\\n\r\t\b\u0000', 'ä€𝄞', '\ud800', '\u0085\u2028\u2029', '</script>'])(
    'carry the text %j whole, on one line however a reader splits lines',
    (text) => {
      const frames = render([[{ type: 'text-delta', text }]])
      expect(read(frames)[1]).toEqual(chunk({ content: text }))
      // JSON escapes all other characters at which Python's str.splitlines, used by several readers, splits.
      expect(frames.split(/[\n\u0085\u2028\u2029]/)).toHaveLength(5)
    },
  )

  it('render nothing for an empty batch, so that an answer can still get its status', () => {
    expect(render([[], []])).toBe('')
  })

  it('know when they have ended', () => {
    const chunks = createChatChunks(answer())
    chunks.render([{ type: 'text-delta', text: 'a' }])
    expect(chunks.ended).toBe(false)
    chunks.render([end])
    expect(chunks.ended).toBe(true)
  })

  it('end a failed stream with the error and [DONE], without a finish chunk', () => {
    const chunks = createChatChunks(answer(true))
    const body = { error: { message: 'm', type: 'api_error', code: 'upstream_error' } } as const
    expect(read(chunks.renderError(body))).toEqual([body, '[DONE]'])
  })
})
