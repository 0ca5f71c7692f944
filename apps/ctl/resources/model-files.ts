import { mkdir, readFile, readdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { z } from 'zod'
import type { ModelFamily } from '#libs/dialect/family.ts'
import { guessFamily, type FamilyGuess } from '#libs/dialect/guess-family.ts'
import { ChatReference, checkChats, type ChatDifference } from '#libs/model-files/check-chats.ts'
import { describeTemplate } from '#libs/model-files/describe-template.ts'
import { fetchModelFiles } from '#libs/model-files/fetch-model-files.ts'
import { loadModel, readFamily } from '#libs/model-files/load-model.ts'
import { readModelFolder, type ModelFiles } from '#libs/model-files/model-files.ts'
import { createModel, type Model } from '#libs/model-files/model.ts'
import { toEndIds } from '#libs/model-files/to-end-ids.ts'
import { toYesNo } from '../cells.ts'
import { defineCommand } from '../command.ts'
import { CommandError } from '../command-error.ts'
import { argument, text } from '../fields.ts'
import { formatFields } from '../table.ts'

const REFERENCE = 'chat-reference.json'

const MODELS_DIR = text('FOLDER', 'where the files of models are; without it, models/ of this repository')

const NAME = argument('NAME', 'of a file in that folder, without .json')

const add = defineCommand({
  name: 'models add',
  summary: 'Adds the files of a model, from a folder or an engine, and guesses its family.',
  fields: z.strictObject({
    name: NAME,
    from: text('FOLDER', 'with tokenizer.json and the other small files of the model'),
    engine: text('HOST:PORT', 'a vLLM that serves the model from a folder'),
    family: text('FAMILY', 'instead of a guess'),
    modelsDir: MODELS_DIR,
  }),
  examples: [
    'models add my-model --from /models/My-Model-8B',
    'models add my-model --engine 127.0.0.1:50051',
  ],
  async run({ name, from, engine, family, modelsDir }) {
    const folder = modelsDir ?? defaultFolder()
    if (!/^[\w-][\w.-]*$/u.test(name))
      throw new CommandError('usage', `NAME ${JSON.stringify(name)} is not a file name`)
    const files = await asRefusal(async () => await readFiles(from, engine))
    const model = await asRefusal(async () => await createModel(files))
    const guess = family === undefined ? toGuess(files, model) : { family, because: 'given with --family' }
    const chosen = await asRefusal(async () => await readFamily(folder, guess.family))
    await asRefusal(async () => await writeModel(folder, { name, family: guess.family, files }))
    const template = describeTemplate(model, chosen) ?? NOTHING
    const answer = {
      name,
      ...guess,
      ...traitsOf(model, chosen),
      template,
      files: [...files.keys()].toSorted((a, b) => (a < b ? -1 : 1)),
    }
    return {
      answer,
      text: formatFields([
        ['wrote', `${join(folder, `${name}.json`)}, ${join(folder, name)}/`],
        ['files', answer.files.join(', ')],
        ['family', `${guess.family}: ${guess.because}`],
        ['tokens', String(answer.tokens)],
        ['end tokens', answer.endTokens.join(' ') || 'none'],
        ['chat template', toYesNo(answer.hasChatTemplate)],
        ['it refuses', template.refused.join('; ') || 'nothing'],
        ['it changes', template.changed.join('; ') || 'nothing'],
        ['next', `npm run references -- ${join(folder, name)}`],
        [
          'then',
          `npx millrace models check ${name}${modelsDir === undefined ? '' : ` --models-dir ${modelsDir}`}`,
        ],
      ]),
    }
  },
})

const check = defineCommand({
  name: 'models check',
  summary: 'Compares the prompts of a model, token by token, with those of transformers.',
  fields: z.strictObject({ name: NAME, modelsDir: MODELS_DIR }),
  examples: ['models check demo', 'models check my-model --models-dir ./models'],
  async run({ name, modelsDir }) {
    const folder = modelsDir ?? defaultFolder()
    const model = await asRefusal(async () => await loadModel(folder, name))
    if (model.folder === null)
      throw new CommandError('usage', `${name} has no folder of its own: there is nothing to compare`)
    const reference = await readReference(model.folder)
    const differences = await asRefusal(async () => await checkChats(model, reference))
    const template = describeTemplate(model, model.family) ?? NOTHING
    return {
      answer: { name, madeBy: reference.madeBy, cases: reference.cases.length, differences, template },
      text:
        differences.map(formatDifference).join('') +
        template.refused.map((what) => `its chat template cannot print ${what}\n`).join('') +
        template.changed.map((what) => `for its chat template ${what}\n`).join('') +
        `${name}: ${differences.length} of ${reference.cases.length} prompts differ from those of ${reference.madeBy}\n`,
      isProblem: differences.length > 0,
    }
  },
})

export const MODEL_FILE_COMMANDS = [add, check] as const

/** The description of a model without a chat template. */
const NOTHING = { refused: [], changed: [] } as const

const defaultFolder = (): string => fileURLToPath(new URL('../../../models', import.meta.url))

/**
 * Runs `work`, which reads or writes model files. Throws a CommandError with a message of one line if `work` fails. No
 * new files are left after a failure.
 */
async function asRefusal<Result>(work: () => Promise<Result>): Promise<Result> {
  try {
    return await work()
  } catch (error) {
    if (error instanceof CommandError) throw error
    const problem = error instanceof Error ? error.message : String(error)
    throw new CommandError('refused', problem, { cause: error })
  }
}

async function readFiles(from: string | undefined, engine: string | undefined): Promise<ModelFiles> {
  if (from !== undefined && engine === undefined) return await readModelFolder(from)
  if (engine !== undefined && from === undefined) return await fetchModelFiles(engine)
  throw new CommandError('usage', 'millrace models add: give either --from or --engine.')
}

const Config = z.object({ model_type: z.string().default('') })

function toGuess(files: ModelFiles, { template }: Model): FamilyGuess {
  const config = Config.safeParse(JSON.parse(files.get('config.json')?.toString('utf8') ?? '{}'))
  const chatTemplate = `${template.source ?? ''}${template.toolSource ?? ''}`
  const guess = guessFamily({ modelType: config.data?.model_type ?? '', chatTemplate })
  if (guess !== null) return guess
  throw new CommandError(
    'refused',
    'Its files do not identify its family: give --family. See models/families/.',
  )
}

function traitsOf(model: Model, family: ModelFamily) {
  const { tokenizer, template } = model
  return {
    tokens: tokenizer.vocabularySize,
    endTokens: Array.from(toEndIds(model, family), (id) => tokenizer.decode([id]) || String(id)),
    hasChatTemplate: template.source !== null,
  }
}

/** Writes all files or none. An existing model is not changed. */
async function writeModel(
  modelsFolder: string,
  { name, family, files }: { name: string; family: string; files: ModelFiles },
): Promise<void> {
  const names = await readdir(modelsFolder)
  if (names.includes(name) || names.includes(`${name}.json`)) {
    throw new CommandError(
      'refused',
      `There is a model ${name} in ${modelsFolder}: remove it first, or take another name.`,
    )
  }
  const folder = join(modelsFolder, name)
  await mkdir(folder)
  try {
    for (const [file, data] of files) await writeFile(join(folder, file), data)
    const model = `${JSON.stringify({ family, folder: name }, null, 2)}\n`
    await writeFile(join(modelsFolder, `${name}.json`), model, { flag: 'wx' })
  } catch (error) {
    await rm(folder, { recursive: true, force: true })
    throw error
  }
}

async function readReference(folder: string): Promise<ChatReference> {
  const path = join(folder, REFERENCE)
  try {
    return ChatReference.parse(JSON.parse(await readFile(path, 'utf8')))
  } catch (error) {
    const isMissing = error instanceof Error && 'code' in error && error.code === 'ENOENT'
    const problem = isMissing ? `There is no ${path}` : `${path} cannot be used`
    throw new CommandError('refused', `${problem}: make it with npm run references -- ${folder}`, {
      cause: error,
    })
  }
}

function formatDifference({ name, switches, problem }: ChatDifference): string {
  const given = Object.keys(switches).length === 0 ? '' : ` with ${JSON.stringify(switches)}`
  return `${name}${given}: ${problem}\n`
}
