import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { responses } from '#apps/gateway/endpoints/responses/endpoint.ts'
import { openReasoning, sealReasoning } from '#apps/gateway/endpoints/responses/sealed-reasoning.ts'
import { toObject } from '#apps/gateway/endpoints/responses/to-object.ts'
import { createAnswer } from '#test/support/answer.ts'
import { modelSpec } from '#test/support/model-spec.ts'
import { refusal } from './responses-answer.ts'

const [OLD, NEW] = ['o'.repeat(32), 'n'.repeat(32)]
const keys = { secrets: [OLD], account: 'a' }

describe('sealed reasoning', () => {
  it('is read by its account, also after a newer secret came, and says nothing', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme' }), (text) => {
        const sealed = sealReasoning(text, keys)
        const opened = { status: 'opened', text }
        expect(openReasoning(sealed, keys)).toEqual(opened)
        expect(openReasoning(sealed, { ...keys, secrets: [NEW, OLD] })).toEqual(opened)
        expect(sealReasoning(text, keys)).not.toBe(sealed)
      }),
    )
  })

  it('of another account, or changed in any character, is broken; of an unknown secret, foreign', () => {
    const sealed = sealReasoning('Hm.', keys)
    expect(openReasoning(sealed, { ...keys, account: 'b' })).toEqual({ status: 'broken' })
    expect(openReasoning(sealed, { ...keys, secrets: [NEW] })).toEqual({ status: 'foreign' })
    const bytesOf = (text: string) => Buffer.from(text.slice('mrr1.'.length), 'base64url')
    for (let index = 0; index < sealed.length; index += 1) {
      const changed = `${sealed.slice(0, index)}${sealed[index] === 'A' ? 'B' : 'A'}${sealed.slice(index + 1)}`
      // The last character has bits that are no part of a byte.
      const isSame = index > 5 && bytesOf(changed).equals(bytesOf(sealed))
      expect(openReasoning(changed, keys).status === 'opened').toBe(isSame)
      expect(openReasoning(sealed.slice(0, index), keys).status).not.toBe('opened')
    }
  })
})

describe('a response', () => {
  const usage = { promptTokens: 5, cachedTokens: 0, completionTokens: 1, reasoningTokens: 1 }
  const model = modelSpec({ id: 'demo', reasoning: true })
  const prepare = (body: Record<string, unknown>) =>
    responses.prepare({ model: 'demo', input: 'Hi', ...body }, { find: () => model, reasoningKeys: keys })
  const answerOf = (include: readonly string[], stream: boolean) => {
    const answer = {
      ...createAnswer({ id: 'x', model: 'demo', options: prepare({ include }).options }),
      reasoningKeys: keys,
    }
    const events = [
      { type: 'reasoning-delta', text: 'Hm.' },
      { type: 'text-delta', text: 'Yes' },
    ] as const
    if (stream)
      return responses
        .renderStream(answer)
        .render([...events, { type: 'generation-end', finishReason: 'stop', usage }])
    const parts = [{ type: 'reasoning' as const, text: 'Hm.' }]
    return toObject({ parts, reasoning: 'Hm.', text: '', toolCalls: [], finishReason: 'stop', usage }, answer)
  }
  const inputOf = (fields: Record<string, unknown>) => [
    { role: 'user', content: 'Hi' },
    { type: 'reasoning', summary: [], ...fields },
    { type: 'function_call', call_id: 'c', name: 'f', arguments: '{}' },
  ]

  it.each([false, true])(
    'has encrypted reasoning if it is asked for, and reads it back (streamed: %j)',
    (stream) => {
      expect(answerOf([], stream)).not.toContain('encrypted_content')
      const [, sealed] =
        /"encrypted_content":"([^"]+)"/.exec(answerOf(['reasoning.encrypted_content'], stream)) ?? []
      expect(prepare({ input: inputOf({ encrypted_content: sealed }) }).request.messages).toMatchObject([
        {},
        { reasoning: 'Hm.' },
      ])
    },
  )

  it('ignores reasoning of another service, and refuses that of another account by name', () => {
    const summary = [{ type: 'summary_text', text: 'So.' }]
    const foreign = inputOf({ encrypted_content: 'gAAAAABo', summary })
    expect(prepare({ input: foreign }).request.messages).toMatchObject([{}, { reasoning: 'So.' }])
    const other = sealReasoning('Hm.', { ...keys, account: 'b' })
    expect(() => prepare({ input: inputOf({ encrypted_content: other }) })).toThrow(
      refusal('input[1].encrypted_content', 'this account'),
    )
  })
})
