import { describe, expect, it } from 'vitest'
import { createCompletionChunks } from '#apps/gateway/endpoints/completions/to-chunks.ts'
import type { OutputEvent } from '#apps/gateway/generation/generation-call.ts'
import { createAnswer } from '#test/support/answer.ts'

const usage = { promptTokens: 5, cachedTokens: 2, completionTokens: 4, reasoningTokens: 1 }
const end: OutputEvent = { type: 'generation-end', finishReason: 'stop', usage }
const text = (value: string): OutputEvent => ({ type: 'text-delta', text: value })

const createChunks = () =>
  createCompletionChunks(createAnswer({ id: '0197-x', model: 'org/demo', options: null }))

function render(...batches: OutputEvent[][]) {
  const chunks = createChunks()
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

const chunk = (value: string, finishReason: string | null = null) => ({
  id: 'cmpl-0197-x',
  object: 'text_completion',
  created: 1_700_000_000,
  model: 'org/demo',
  choices: [{ index: 0, text: value, finish_reason: finishReason }],
})

describe('legacy chunks', () => {
  it('carry text and no delta, and end with one finish chunk and [DONE], without usage', () => {
    expect(read(render([text('Hel')], [text('lo'), text('!')], [end]))).toEqual([
      chunk('Hel'),
      chunk('lo!'),
      chunk('', 'stop'),
      '[DONE]',
    ])
  })

  it('keep the text of the batch that ends', () => {
    expect(read(render([text('a'), { ...end, finishReason: 'length' }]))).toEqual([
      chunk('a'),
      chunk('', 'length'),
      '[DONE]',
    ])
  })

  it('have no reasoning and no tool calls; a turn of calls has simply stopped', () => {
    const batch: OutputEvent[] = [
      { type: 'reasoning-delta', text: 'hm' },
      text('a'),
      { type: 'tool-call-start', index: 0, id: 'c0', name: 'f' },
      { type: 'tool-call-delta', index: 0, text: '{}' },
      { ...end, finishReason: 'tool-calls' },
    ]
    expect(read(render(batch))).toEqual([chunk('a'), chunk('', 'stop'), '[DONE]'])
  })

  it.each(['"\\\n\r\u0000', 'ä€𝄞', '\ud800', '\u0085\u2028\u2029'])(
    'carry %j whole, on one line',
    (value) => {
      const frames = render([text(value)])
      expect(read(frames)).toEqual([chunk(value)])
      expect(frames.split(/[\n\u0085\u2028\u2029]/)).toHaveLength(3)
    },
  )

  it('render nothing where there is no text, so that an answer can still get its status', () => {
    expect(render([], [{ type: 'reasoning-delta', text: 'hm' }])).toBe('')
  })

  it('know when they have ended', () => {
    const chunks = createChunks()
    chunks.render([text('a')])
    expect(chunks.ended).toBe(false)
    chunks.render([end])
    expect(chunks.ended).toBe(true)
  })

  it('end a failed stream with the error and [DONE], without a finish chunk', () => {
    const body = { error: { message: 'm', type: 'api_error', code: 'upstream_error' } } as const
    expect(read(createChunks().renderError(body))).toEqual([body, '[DONE]'])
  })
})
