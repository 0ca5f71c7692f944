import { html, type TemplateResult } from 'lit-html'
import { Failure } from '#libs/page-parts/failure.ts'
import { openForm, type Field } from '#libs/page-parts/form.ts'
import { pricePerMillion } from '#libs/page-parts/money.ts'
import { table } from '#libs/page-parts/table.ts'
import { moment } from '#libs/page-parts/time.ts'
import { change, type Changed } from '../api.ts'
import type { App } from '../app.ts'

type Body = Parameters<typeof change<'/catalog'>>[1]
type Publication = Changed<'/catalog'>
type Change = Publication['changes'][number]

export const EFFECTIVE_AT: Field = {
  name: 'effectiveAt',
  label: 'From',
  help: 'UTC, such as 2030-01-31 00:00; empty: now. Later, only prices and new models may differ.',
}
export const REASON: Field = { name: 'reason', label: 'Reason', help: 'For the readers of the log.' }

/**
 * Opens a form that lists the changes that a catalog would make, with a button that publishes the catalog. If there are
 * no changes, no form is opened. The caller is another form. Returns the text that this other form then shows: how many
 * changes there are.
 */
export async function proposeCatalog(
  app: App,
  models: Body['models'],
  given: { keep?: Body['keep']; effectiveAt: string; reason: string; changed: () => void },
): Promise<TemplateResult> {
  const { keep, effectiveAt, reason, changed } = given
  const body = {
    models,
    ...(keep === undefined ? {} : { keep }),
    ...(effectiveAt === '' ? {} : { effectiveAt: toTime(effectiveAt) }),
    ...(reason === '' ? {} : { reason }),
  }
  const { changes, effectiveAt: from } = await change('/catalog', body, { query: '?dryRun=true' })
  if (changes.length === 0) return html`<p>Nothing would change.</p>`
  const count = changes.length === 1 ? '1 change' : `${changes.length} changes`
  openForm(app, {
    title: `Publish ${count}`,
    intro: html`<p>${effectiveAt === '' ? 'From now on.' : html`From ${moment(from)} on.`}</p>
      ${changeList(changes)}`,
    fields: [],
    button: `Publish ${count}`,
    isDangerous: true,
    // Publishing the same catalog again changes nothing.
    mayRepeat: true,
    async run() {
      await change('/catalog', body)
      app.say(`Published ${count}.`)
      changed()
      return undefined
    },
  })
  return html`<p>${count}.</p>`
}

/**
 * Opens the form that publishes a catalog file. As on the command line, models missing from the file are kept unless
 * the viewer chooses to disable them.
 */
export function publishFile(app: App, changed: () => void): void {
  openForm(app, {
    title: 'Publish a catalog file',
    intro: html`<p>
      The file of a deployment, as <code>millrace models publish</code> takes it. Nothing is published yet.
    </p>`,
    fields: [
      { name: 'file', label: 'Catalog, as JSON', kind: 'file' },
      {
        name: 'keep',
        label: 'Models that the file lacks',
        kind: 'choice',
        value: 'all',
        choices: [
          { value: 'all', label: 'stay as they are' },
          { value: 'disable', label: 'are disabled: their requests are refused' },
        ],
      },
      EFFECTIVE_AT,
      REASON,
    ],
    button: 'List the changes',
    // A dry run changes nothing.
    mayRepeat: true,
    async run({ file = '', keep, effectiveAt = '', reason = '' }) {
      const kept = keep === 'all' ? ({ keep: 'all' } as const) : {}
      return await proposeCatalog(app, toModels(file), { ...kept, effectiveAt, reason, changed })
    },
  })
}

/**
 * Returns the list of models in the text of a catalog file. Throws a Failure if there is no list. Billing validates the
 * entries of the list and names what is wrong.
 */
function toModels(text: string): Body['models'] {
  const refuse = (message: string) => new Failure(0, { code: 'invalid_request', message, param: 'file' })
  let file: { models?: unknown } | null
  try {
    file = JSON.parse(text)
  } catch {
    throw refuse('This is no JSON.')
  }
  const models = file?.models
  if (!Array.isArray(models)) throw refuse('Expected an object with a list of models.')
  return models
}

/**
 * Completes a day or a time to the form that billing reads. A day or a time without a zone is in UTC. Returns any other
 * text as the viewer has typed it: billing refuses that text, with a message about this time.
 */
function toTime(text: string): string {
  const parts = /^(\d{4}-\d\d-\d\d)(?:[T ](\d\d:\d\d)(:\d\d)?)?(Z|[+-]\d\d:\d\d)?$/i.exec(text.trim())
  if (parts === null) return text
  const [, day = '', minute = '00:00', second = ':00', zone = 'Z'] = parts
  return `${day}T${minute}${second}${zone}`
}

function changeList(changes: readonly Change[]): TemplateResult {
  return table<Change>({
    caption: 'Changes',
    rows: changes,
    key: ({ model, field }) => `${model} ${field}`,
    empty: '',
    columns: [
      { name: 'Model', cell: ({ model }) => model },
      { name: 'Field', cell: ({ field }) => field.replace(/Nano$/, '') },
      { name: 'Before', isNumber: true, cell: ({ field, before }) => toText(field, before) },
      { name: 'After', isNumber: true, cell: ({ field, after }) => toText(field, after) },
    ],
  })
}

/** Returns the text of a value. Prices are in credits per million tokens, as in the form of a model. */
function toText(field: string, value: unknown): string {
  if (value === null) return 'none'
  if (field.endsWith('Nano') && typeof value === 'string') return pricePerMillion(value)
  return typeof value === 'string' ? value : JSON.stringify(value)
}
