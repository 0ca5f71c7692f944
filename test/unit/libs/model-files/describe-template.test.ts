import { expect, it } from 'vitest'
import { describeTemplate } from '#libs/model-files/describe-template.ts'
import { loadModel } from '#libs/model-files/load-model.ts'

const model = await loadModel('models', 'demo')
const describe = (source: string | null) =>
  describeTemplate({ template: { source, specialTokens: {}, addedTokens: [] } }, { toolCalls: 'hermes' })

it('a model whose template prints every conversation refuses nothing', () => {
  expect(describeTemplate(model, model.family)).toEqual({ refused: [], changed: [] })
})

it('names what a template cannot print, of a model whose shapes are not known yet', () => {
  const source = '{% for message in messages %}{{ message.role }}: {{ message.content }}\n{% endfor %}'
  expect(describe(source)?.refused).toContain('tools')
})

it('a model without a template has nothing to describe', () => {
  expect(describe(null)).toBeNull()
})
