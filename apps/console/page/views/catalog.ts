import { html, nothing, type TemplateResult } from 'lit-html'
import { openForm } from '#libs/page-parts/form.ts'
import { showList } from '#libs/page-parts/list.ts'
import { load, loadList, showLoaded } from '#libs/page-parts/load.ts'
import { mark } from '#libs/page-parts/mark.ts'
import { pricePerMillion } from '#libs/page-parts/money.ts'
import { short } from '#libs/page-parts/number.ts'
import { table, type Column } from '#libs/page-parts/table.ts'
import { moment } from '#libs/page-parts/time.ts'
import { read, type Answer, type Item } from '../api.ts'
import type { App, OpenScreen } from '../app.ts'
import { modelLink } from '../parts/links.ts'
import { may } from '../roles.ts'
import { EFFECTIVE_AT, proposeCatalog, publishFile, REASON } from './publish-catalog.ts'

type Catalog = Answer<'/catalog'>
type Model = Catalog['models'][number]
type PriceVersion = Item<'/price-versions'>

const PRICES: readonly Column<
  Pick<PriceVersion, 'inputPriceNano' | 'cachedInputPriceNano' | 'outputPriceNano'>
>[] = [
  { name: 'Input', isNumber: true, cell: ({ inputPriceNano }) => pricePerMillion(inputPriceNano) },
  {
    name: 'Cached',
    isNumber: true,
    from: 'medium',
    cell: ({ cachedInputPriceNano }) => pricePerMillion(cachedInputPriceNano),
  },
  { name: 'Output', isNumber: true, cell: ({ outputPriceNano }) => pricePerMillion(outputPriceNano) },
]

/** The screen of the catalog: models with past, present and future prices. */
export const open: OpenScreen = (app) => {
  const catalog = load(app, async (signal) => read('/catalog', {}, signal))
  const versions = loadList(app, async (cursor, signal) =>
    read('/price-versions', { limit: '20', cursor }, signal),
  )
  function changed(): void {
    catalog.reload()
    versions.reload()
  }
  return {
    title: 'Catalog',
    close() {
      catalog.close()
      versions.close()
    },
    view: () =>
      html`<div class="head">
          <h1>Catalog</h1>
          ${
            may(app, 'publishCatalog')
              ? html`<button type="button" @click=${() => publishFile(app, changed)}>Publish a file</button>`
              : nothing
          }
        </div>
        <p class="dim">Prices are in credits for 1,000,000 tokens.</p>
        ${showLoaded(
          catalog,
          ({ models, scheduled }) =>
            html`${modelTable(app, models, changed)}
            ${
              scheduled.length === 0
                ? nothing
                : html`<section>
                    <h2>Prices to come</h2>
                    ${priceTable('Prices to come', scheduled)}
                  </section>`
            }`,
        )}
        <section>
          <h2>Prices, the latest published first</h2>
          ${showList(versions, (rows) => priceTable('Price versions', rows))}
        </section>`,
  }
}

function modelTable(app: App, models: readonly Model[], changed: () => void): TemplateResult {
  return table<Model>({
    caption: 'Models; prices in credits for 1,000,000 tokens',
    rows: models,
    key: ({ id }) => id,
    empty: 'The catalog is empty.',
    columns: [
      { name: 'Model', cell: ({ id }) => modelLink(id) },
      { name: 'State', cell: ({ enabled }) => (enabled ? mark('good', 'sold') : mark('off', 'disabled')) },
      { name: 'Kind', from: 'medium', cell: ({ kind }) => kind },
      { name: 'Context', isNumber: true, from: 'wide', cell: ({ contextWindow }) => short(contextWindow) },
      ...PRICES,
      ...(may(app, 'publishCatalog')
        ? [
            {
              name: 'Actions',
              cell: (model: Model) =>
                html`<button
                  type="button"
                  class="quiet"
                  aria-label="change ${model.id}"
                  @click=${() => changeModel(app, model, changed)}
                >
                  change
                </button>`,
            },
          ]
        : []),
    ],
  })
}

function priceTable(caption: string, rows: readonly PriceVersion[]): TemplateResult {
  return table<PriceVersion>({
    caption,
    rows,
    key: ({ id }) => id,
    empty: 'There is none.',
    columns: [
      { name: 'Model', cell: ({ model }) => model },
      { name: 'Version', from: 'medium', cell: ({ id }) => id },
      { name: 'From', cell: ({ effectiveFrom }) => moment(effectiveFrom) },
      ...PRICES,
    ],
  })
}

/** Changes one model and keeps all others: a dry run lists the changes, then a second click publishes them. */
function changeModel(app: App, model: Model, changed: () => void): void {
  openForm(app, {
    title: `Change ${model.id}`,
    intro: html`<p>
      Credits for 1,000,000 tokens. Requests under way keep their prices. Nothing is published yet.
    </p>`,
    fields: [
      { name: 'input', label: 'Input', kind: 'number', value: plain(model.inputPriceNano) },
      { name: 'cached', label: 'Cached input', kind: 'number', value: plain(model.cachedInputPriceNano) },
      { name: 'output', label: 'Output', kind: 'number', value: plain(model.outputPriceNano) },
      {
        name: 'enabled',
        label: 'State',
        kind: 'choice',
        value: String(model.enabled),
        choices: [
          { value: 'true', label: 'sold' },
          { value: 'false', label: 'disabled: requests are refused' },
        ],
      },
      EFFECTIVE_AT,
      REASON,
    ],
    button: 'List the changes',
    // A dry run changes nothing.
    mayRepeat: true,
    async run({ input = '', cached = '', output = '', enabled, effectiveAt = '', reason = '' }) {
      const changedModel = {
        ...model,
        inputPriceNano: toNano(input),
        cachedInputPriceNano: toNano(cached),
        outputPriceNano: toNano(output),
        enabled: enabled === 'true',
      }
      return await proposeCatalog(app, [changedModel], { keep: 'all', effectiveAt, reason, changed })
    },
  })
}

function plain(nano: string): string {
  return pricePerMillion(nano).replaceAll(',', '')
}

/**
 * Converts a price in credits to nano-credits without rounding. Returns any other text as the viewer has typed it:
 * billing refuses that text, with a message about this price.
 */
function toNano(text: string): string {
  const [, units = '', fraction = ''] = /^(\d{1,9})(?:\.(\d{1,9}))?$/.exec(text) ?? []
  return units === '' ? text : String(BigInt(units + fraction.padEnd(9, '0')))
}
