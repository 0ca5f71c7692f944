import { expect, it } from 'vitest'
import { chatCompletions } from '#apps/gateway/endpoints/chat-completions/endpoint.ts'
import { completions } from '#apps/gateway/endpoints/completions/endpoint.ts'
import { modelSpec } from '#test/support/model-spec.ts'

const catalog = { find: () => modelSpec() }
const BODIES = {
  chat: { model: 'm', messages: [{ role: 'user', content: 'Hi' }] },
  legacy: { model: 'm', prompt: 'Hi' },
}
const prepareChat = (body: object) => chatCompletions.prepare({ ...BODIES.chat, ...body }, catalog)
const prepareLegacy = (body: object) => completions.prepare({ ...BODIES.legacy, ...body }, catalog)
const OPERATIONS = [
  ['a chat', prepareChat],
  ['a legacy completion', prepareLegacy],
] as const

it.each(OPERATIONS)(
  '%s has up to eight answers, and one is no other request than none given',
  (_, prepare) => {
    expect(prepare({ n: 8 })).toMatchObject({ choices: 8, options: { choices: 8 } })
    expect(prepare({ n: 2, best_of: 2 })).toMatchObject({ choices: 2 })
    expect(prepare({ n: 3, best_of: null })).toMatchObject({ choices: 3 })
    for (const one of [{ n: 1 }, { n: null }, { best_of: 1 }, { n: 1, best_of: 1 }]) {
      expect(prepare(one)).toEqual(prepare({}))
    }
    expect(prepare({})).not.toHaveProperty('choices')
  },
)

it.each(OPERATIONS)('%s refuses other numbers, and more answers than are returned, by name', (_, prepare) => {
  const range = 'expected a whole number from 1 to 8'
  for (const [body, param, message] of [
    [{ n: 0 }, 'n', range],
    [{ n: 9 }, 'n', range],
    [{ n: 1.5 }, 'n', range],
    [{ n: '2' }, 'n', range],
    [{ best_of: 9 }, 'best_of', range],
    [{ best_of: 2 }, 'best_of', "expected the value of 'n', which is 1"],
    [{ n: 2, best_of: 1 }, 'best_of', "expected the value of 'n', which is 2"],
  ] as const) {
    expect(() => prepare(body)).toThrow(
      expect.objectContaining({ code: 'invalid_request', param, message: expect.stringContaining(message) }),
    )
  }
})
