import { html, type TemplateResult } from 'lit-html'
import { credits } from '#libs/page-parts/money.ts'
import { percent, short } from '#libs/page-parts/number.ts'
import { bar } from '#libs/page-parts/sparkline.ts'
import { table } from '#libs/page-parts/table.ts'
import type { Item } from '../api.ts'
import { modelLink } from './links.ts'

export type Usage = Item<'/usage'>

/** Shows the usage of each model, the largest charge first. */
export function usageByModel(caption: string, rows: readonly Usage[]): TemplateResult {
  const all = sumOf(rows)
  const models = [...Map.groupBy(rows, ({ model }) => model ?? 'unknown')].map(([model, own]) => ({
    model,
    charged: sumOf(own),
    writtenOff: own.reduce((sum, { writtenOffNano }) => sum + BigInt(writtenOffNano), 0n),
    requests: own.reduce((sum, { requests }) => sum + requests, 0),
    input: own.reduce((sum, { promptTokens }) => sum + promptTokens, 0),
    cached: own.reduce((sum, { cachedTokens }) => sum + cachedTokens, 0),
    output: own.reduce((sum, { completionTokens }) => sum + completionTokens, 0),
  }))
  return table({
    caption,
    rows: models.toSorted((a, b) => (a.charged < b.charged ? 1 : -1)),
    key: ({ model }) => model,
    empty: '',
    columns: [
      { name: 'Model', cell: ({ model }) => modelLink(model) },
      { name: 'Requests', isNumber: true, cell: ({ requests }) => short(requests) },
      { name: 'Input', isNumber: true, from: 'medium', cell: ({ input }) => short(input) },
      { name: 'Cached', isNumber: true, from: 'medium', cell: ({ cached, input }) => percent(cached, input) },
      { name: 'Output', isNumber: true, from: 'medium', cell: ({ output }) => short(output) },
      { name: 'Charged', isNumber: true, cell: ({ charged }) => credits(charged) },
      { name: 'Written off', isNumber: true, from: 'wide', cell: ({ writtenOff }) => credits(writtenOff) },
      {
        name: 'Share',
        isNumber: true,
        cell: ({ charged }) =>
          html`${percent(Number(charged), Number(all))}${bar(Number(charged), Number(all))}`,
      },
    ],
  })
}

/** Returns the sum of all charges. */
export function sumOf(rows: readonly Usage[]): bigint {
  return rows.reduce((sum, { chargedNano }) => sum + BigInt(chargedNano), 0n)
}
