import { z } from 'zod'
import { readCatalogFiles } from '#libs/catalog-file/read-catalog-files.ts'
import { ModelSpec } from '#libs/contracts/model-spec.ts'
import { toCredits, toTime, toYesNo } from '../cells.ts'
import { defineCall, defineList } from '../command.ts'
import { CommandError } from '../command-error.ts'
import { REASON, flag, restArguments, text } from '../fields.ts'
import { formatTable, type Column } from '../table.ts'
import { CatalogChange, formatChanges } from './catalog-changes.ts'

const PriceVersion = z.object({
  id: z.string(),
  model: z.string(),
  effectiveFrom: z.string(),
  inputPriceNano: z.string(),
  cachedInputPriceNano: z.string(),
  outputPriceNano: z.string(),
})
type PriceVersion = z.infer<typeof PriceVersion>

type Prices = Pick<PriceVersion, 'inputPriceNano' | 'cachedInputPriceNano' | 'outputPriceNano'>

/** Credits per 1,000,000 tokens. */
const PRICES: readonly Column<Prices>[] = [
  { title: 'input/1M', cell: ({ inputPriceNano }) => toCredits(inputPriceNano), align: 'right' },
  { title: 'cached/1M', cell: ({ cachedInputPriceNano }) => toCredits(cachedInputPriceNano), align: 'right' },
  { title: 'output/1M', cell: ({ outputPriceNano }) => toCredits(outputPriceNano), align: 'right' },
]

const MODELS: readonly Column<ModelSpec>[] = [
  { title: 'model', cell: ({ id }) => id },
  { title: 'kind', cell: ({ kind }) => kind },
  { title: 'enabled', cell: ({ enabled }) => toYesNo(enabled) },
  { title: 'context', cell: ({ contextWindow }) => contextWindow, align: 'right' },
  { title: 'output', cell: ({ maxOutputTokens }) => maxOutputTokens, align: 'right' },
  ...PRICES,
]

const VERSIONS: readonly Column<PriceVersion>[] = [
  { title: 'version', cell: ({ id }) => id, align: 'right' },
  { title: 'model', cell: ({ model }) => model },
  { title: 'from', cell: ({ effectiveFrom }) => toTime(effectiveFrom) },
  ...PRICES,
]

const list = defineCall({
  name: 'models list',
  summary: 'Shows the models as they are now, and the prices to come.',
  fields: z.strictObject({}),
  examples: ['models list', 'models list --json'],
  request: () => ({ method: 'GET', path: '/catalog' }),
  answer: z.object({ models: z.array(ModelSpec), scheduled: z.array(PriceVersion) }),
  show: ({ models, scheduled }) =>
    formatTable(MODELS, models) +
    (scheduled.length === 0 ? '' : `\nPrices to come\n${formatTable(VERSIONS, scheduled)}`),
})

const publish = defineCall({
  name: 'models publish',
  summary: 'Makes the catalog what the files say together; a model that they lack is disabled.',
  fields: z.strictObject({
    files: restArguments('FILE', 'a catalog file, as billing reads it at its start'),
    at: text('TIME', 'when prices and new models begin, such as 2030-01-01T00:00:00Z; now unless told'),
    dryRun: flag('only tell what would change'),
    reason: REASON,
  }),
  examples: [
    'models publish deploy/catalog.demo.json deploy/catalog.sandbox.json --dry-run',
    'models publish catalog.json --at 2030-01-01T00:00:00Z --reason "prices of 2030"',
  ],
  async request({ files, at, dryRun, reason }) {
    const models = await readModels(files)
    const body = { models, effectiveAt: at, reason }
    return { method: 'POST', path: '/catalog', query: { dryRun }, body }
  },
  answer: z.object({ dryRun: z.boolean(), effectiveAt: z.string(), changes: z.array(CatalogChange) }),
  show({ dryRun, effectiveAt, changes }) {
    if (changes.length === 0) return 'Nothing changes.\n'
    const verb = dryRun ? 'Would change, from' : 'Changed, from'
    return `${formatChanges(changes)}\n${verb} ${toTime(effectiveAt)} on. Prices are credits per 1,000,000 tokens.\n`
  },
})

const prices = defineList({
  name: 'models prices',
  summary: 'Lists prices as they were, are and will be, the latest published first.',
  fields: { model: text('MODEL', 'only of this one') },
  examples: ['models prices', 'models prices --model demo-chat'],
  path: '/price-versions',
  item: PriceVersion,
  columns: VERSIONS,
})

export const MODEL_COMMANDS = [list, publish, prices] as const

async function readModels(files: readonly string[]): Promise<ModelSpec[]> {
  try {
    return await readCatalogFiles(files)
  } catch (error) {
    const problem = error instanceof Error ? error.message : String(error)
    // Of several lines where a model is wrong.
    throw new CommandError('usage', problem.replaceAll(/\s*\n\s*/g, ' '), { cause: error })
  }
}
