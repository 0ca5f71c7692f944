import { z } from 'zod'
import { readCatalogFiles } from '#libs/catalog-file/read-catalog-files.ts'
import { ModelSpec } from '#libs/contracts/model-spec.ts'
import { ADMIN } from '#libs/admin-contract/admin-contract.ts'
import type { AnswerOf, InputOf } from '#libs/admin-contract/operation.ts'
import { PriceVersion } from '#libs/admin-contract/resources/catalog.ts'
import { toTime } from '../cells.ts'
import { defineCall, defineCommand, defineList, toOutcome } from '../command.ts'
import { CommandError } from '../command-error.ts'
import { REASON, flag, readText, restArguments, text } from '../fields.ts'
import { showTable, type Shown } from '../view.ts'
import { formatChanges } from './catalog-changes.ts'

/** Credits per 1,000,000 tokens. */
const PRICES = [
  ['inputPriceNano', 'input/1M'],
  ['cachedInputPriceNano', 'cached/1M'],
  ['outputPriceNano', 'output/1M'],
] as const

const MODEL: readonly Shown<ModelSpec>[] = [
  ['id', 'model'],
  'kind',
  'enabled',
  ['contextWindow', 'context'],
  ['maxOutputTokens', 'output'],
  ...PRICES,
]

const VERSION: readonly Shown<PriceVersion>[] = [
  ['id', 'version'],
  'model',
  ['effectiveFrom', 'from'],
  ...PRICES,
]

const list = defineCall({
  name: 'models list',
  operation: ADMIN.readCatalog,
  summary: 'Shows the current models, and the prices to come.',
  examples: ['models list', 'models list --json'],
  show: ({ models, scheduled }) =>
    showTable(ModelSpec, MODEL, models) +
    (scheduled.length === 0 ? '' : `\nPrices to come\n${showTable(PriceVersion, VERSION, scheduled)}`),
})

const publish = defineCommand({
  name: 'models publish',
  summary: 'Publishes the models and prices of catalog files. Publishing the same again changes nothing.',
  fields: z.strictObject({
    files: restArguments('FILE', 'a catalog file, as billing reads it at its start'),
    at: text('TIME', 'when prices and new models begin, such as 2030-01-01T00:00:00Z; default: now'),
    disableMissing: flag('disable the models that the files lack; without it they stay as they are'),
    keep: readText(
      { value: 'MODELS', help: 'ids, separated by commas, that --disable-missing leaves alone' },
      toIds,
    ),
    dryRun: flag('only show the changes'),
    reason: REASON,
  }),
  examples: [
    'models publish deploy/catalog.demo.json deploy/catalog.sandbox.json --dry-run',
    'models publish catalog.json --at 2030-01-01T00:00:00Z --reason "prices of 2030"',
    'models publish catalog.json --disable-missing --keep priced-by-hand --reason "release 17"',
  ],
  async run({ files, at, disableMissing, keep, dryRun, reason }, { admin }) {
    if (keep !== undefined && !disableMissing) {
      throw new CommandError('usage', 'millrace models publish: --keep is for --disable-missing only.')
    }
    const input: InputOf<typeof ADMIN.publishCatalog> = {
      models: await readModels(files),
      keep: disableMissing ? (keep ?? []) : 'all',
      effectiveAt: at,
      reason,
      dryRun: dryRun ? 'true' : 'false',
    }
    return toOutcome(ADMIN.publishCatalog, await admin.ask(ADMIN.publishCatalog, input), {
      show: showPublication,
    })
  },
})

const prices = defineList({
  name: 'models prices',
  operation: ADMIN.listPriceVersions,
  examples: ['models prices', 'models prices --model demo-chat'],
  shown: VERSION,
})

export const MODEL_COMMANDS = [list, publish, prices] as const

function showPublication({ dryRun, effectiveAt, changes }: AnswerOf<typeof ADMIN.publishCatalog>): string {
  if (changes.length === 0) return 'Nothing changes.\n'
  const verb = dryRun ? 'Would change, from' : 'Changed, from'
  return `${formatChanges(changes)}\n${verb} ${toTime(effectiveAt)} on. Prices are credits per 1,000,000 tokens.\n`
}

function toIds(given: string): string[] {
  const ids = given.split(',').map((id) => id.trim())
  if (ids.includes('')) throw new RangeError('expected ids, separated by commas')
  return ids
}

async function readModels(files: readonly string[]): Promise<ModelSpec[]> {
  try {
    return await readCatalogFiles(files)
  } catch (error) {
    const problem = error instanceof Error ? error.message : String(error)
    // The message has several lines if a model is wrong.
    throw new CommandError('usage', problem.replaceAll(/\s*\n\s*/g, ' '), { cause: error })
  }
}
