import { expect, it } from 'vitest'
import { describeTools } from '#libs/chat-template/shape/describe-tools.ts'

it('adds missing descriptions, and writes the default of an enum as text', () => {
  const parameters = { properties: { level: { enum: [1, 2], default: 1 }, name: { type: 'string' } } }
  expect(describeTools([{ name: 'f', description: null, parameters }])).toEqual([
    {
      name: 'f',
      description: '',
      parameters: {
        properties: {
          level: { enum: [1, 2], default: '1', description: '' },
          name: { type: 'string', description: '' },
        },
      },
    },
  ])
})

it('keeps the numbers of a schema’s text', () => {
  const parametersText =
    '{"properties":{"level":{"enum":[1.0,9007199254740993],"default":1.0,"minimum":-0.0}}}'
  const parameters = { properties: { level: { enum: [1, 2 ** 53], default: 1, minimum: -0 } } }
  const [described] = describeTools([{ name: 'f', description: 'F.', parameters, parametersText }])
  expect(described?.parametersText).toBe(
    '{"properties":{"level":{"enum":[1.0,9007199254740993],"default":"1.0","minimum":-0.0,"description":""}}}',
  )
})
