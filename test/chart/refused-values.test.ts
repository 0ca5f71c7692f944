import { expect, test } from 'vitest'
import { REFUSED_BY_RULES, REFUSED_BY_SCHEMA } from './bad-values.ts'
import { HELMS, renderValues } from './helm.ts'

test.each(REFUSED_BY_RULES)('the rules refuse $problem and name the value', async ({ values, message }) => {
  await expect(renderValues(values)).rejects.toThrow(message)
})

test.each(HELMS.flatMap((helm) => REFUSED_BY_SCHEMA.slice(0, 3).map((bad) => ({ helm, ...bad }))))(
  '$helm refuses $problem by the schema',
  async ({ helm, values }) => {
    await expect(renderValues(values, { helm })).rejects.toThrow(
      /values don't meet the specifications of the schema/,
    )
  },
)

test('all wrong values are shown at once', async () => {
  const values = { dev: { enabled: true }, models: { billing: { contextWindow: 1, maxOutputTokens: 2 } } }
  await expect(
    renderValues({ ...values, models: { billing: { contextWindow: 8, maxOutputTokens: 9 } } }),
  ).rejects.toThrow('3 wrong value(s):')
})
