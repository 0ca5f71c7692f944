import { expect, test } from 'vitest'
import { formatChanges } from '#apps/ctl/resources/catalog-changes.ts'

test('changes are grouped by model: new, different, disabled', () => {
  const text = formatChanges([
    { model: 'new', field: 'kind', before: null, after: 'embedding' },
    { model: 'new', field: 'embedding', before: null, after: { dimensions: 256, matryoshka: true } },
    { model: 'new', field: 'enabled', before: null, after: true },
    { model: 'new', field: 'inputPriceNano', before: null, after: '20000000' },
    { model: 'chat', field: 'contextWindow', before: 4096, after: 8192 },
    { model: 'chat', field: 'fixedState', before: 'busy', after: null },
    { model: 'chat', field: 'outputPriceNano', before: '10000000', after: '12500000000' },
    { model: 'old', field: 'enabled', before: true, after: false },
  ])
  expect(text).toBe(`\
+ new
    kind        embedding
    embedding   {"dimensions":256,"matryoshka":true}
    enabled     true
    inputPrice  0.02
~ chat
    contextWindow  4096 → 8192
    fixedState     busy → none
    outputPrice    0.01 → 12.5
- old
    enabled  true → false
`)
})
