import { expect, it } from 'vitest'
import { describeShapes } from '#libs/chat-template/shape/describe-shapes.ts'
import { PLAIN_SHAPE, PLAIN_SHAPES } from '#libs/chat-template/shape/template-shape.ts'

it('a plain shape refuses and changes nothing', () => {
  expect(describeShapes(PLAIN_SHAPES)).toEqual({ refused: [], changed: [] })
})

it('what is refused and changed is named once, beside tools and without', () => {
  const plain = { ...PLAIN_SHAPE, leadingSystems: 'joined' as const, laterSystem: null }
  const withTools = { ...plain, calls: { form: 'written' as const, empty: '' as const, namedResults: false } }
  expect(describeShapes({ plain, withTools, tools: false })).toEqual({
    refused: ['tools', 'a system message behind other messages'],
    changed: [
      'several system messages become one',
      'calls are written into the text, as the model writes them',
    ],
  })
})

it('of a template without calls nothing is said of their parts', () => {
  const shape = { ...PLAIN_SHAPE, calls: null, otherArguments: null, severalCalls: null, orphanResult: null }
  expect(describeShapes({ plain: shape, withTools: shape, tools: true }).refused).toEqual(['tool calls'])
})
