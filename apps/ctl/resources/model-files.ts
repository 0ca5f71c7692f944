import { mkdir, readFile, readdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { z } from 'zod'
import { pino } from 'pino'
import type { ModelFamily } from '#libs/dialect/family.ts'
import { guessFamily, type FamilyGuess } from '#libs/dialect/guess-family.ts'
import { ChatReference, checkChats, type ChatDifference } from '#libs/model-files/check-chats.ts'
import { toEndIds } from '#libs/model-files/end-ids.ts'
import { openJavascriptEncoder } from '#libs/tokenizer/encoding/javascript-encoder.ts'
import { loadModel, readFamily } from '#libs/model-files/load-model.ts'
import { createTokenizer, type Tokenizer } from '#libs/tokenizer/tokenizer.ts'
import { fetchTokenizerFiles } from '#libs/model-files/fetch-tokenizer-files.ts'
import { readTokenizerFolder, type TokenizerFiles } from '#libs/model-files/tokenizer-files.ts'
import { toYesNo } from '../cells.ts'
import { defineCommand } from '../command.ts'
import { CommandError } from '../command-error.ts'
import { argument, text } from '../fields.ts'
import { formatFields } from '../table.ts'

const REFERENCE = 'chat-reference.json'

const MODELS_DIR = text('FOLDER', 'where the files of models are; those of this repository unless told')

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
      throw new CommandError('usage', `NAME ${JSON.stringify(name)} is no file name`)
    const files = await asRefusal(async () => await readFiles(from, engine))
    const tokenizer = await asRefusal(async () => await createTokenizer(files))
    const guess = family === undefined ? toGuess(files, tokenizer) : { family, because: 'you said so' }
    const chosen = await asRefusal(async () => await readFamily(folder, guess.family))
    await asRefusal(async () => await writeModel(folder, { name, family: guess.family, files }))
    const answer = {
      name,
      ...guess,
      ...traitsOf(tokenizer, chosen),
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
  summary: 'Compares the prompts of a model, token by token, with what transformers makes of them.',
  fields: z.strictObject({ name: NAME, modelsDir: MODELS_DIR }),
  examples: ['models check demo', 'models check my-model --models-dir ./models'],
  async run({ name, modelsDir }) {
    const folder = modelsDir ?? defaultFolder()
    const { tokenizer, folder: own } = await asRefusal(async () => await loadModel(folder, name))
    if (own === null)
      throw new CommandError('usage', `${name} has no folder of its own: there is nothing to compare`)
    const reference = await readReference(own)
    const differences = await asRefusal(async () => await checkChats(tokenizer, reference))
    const encoders = await compareEncoders(own, tokenizer, reference)
    return {
      answer: { name, madeBy: reference.madeBy, cases: reference.cases.length, differences, encoders },
      text:
        differences.map(formatDifference).join('') +
        (encoders === null ? '' : `${encoders}\n`) +
        `${name}: ${differences.length} of ${reference.cases.length} prompts differ from those of ${reference.madeBy}\n`,
      isBadNews: differences.length > 0 || encoders !== null,
    }
  },
})

export const MODEL_FILE_COMMANDS = [add, check] as const

const defaultFolder = (): string => fileURLToPath(new URL('../../../models', import.meta.url))

/** What goes wrong with files is told in a line, and nothing was done. */
async function asRefusal<Result>(work: () => Promise<Result>): Promise<Result> {
  try {
    return await work()
  } catch (error) {
    if (error instanceof CommandError) throw error
    const problem = error instanceof Error ? error.message : String(error)
    throw new CommandError('refused', problem, { cause: error })
  }
}

async function readFiles(from: string | undefined, engine: string | undefined): Promise<TokenizerFiles> {
  if (from !== undefined && engine === undefined) return await readTokenizerFolder(from)
  if (engine !== undefined && from === undefined) return await fetchTokenizerFiles(engine)
  throw new CommandError('usage', 'millrace models add: give either --from or --engine.')
}

const Config = z.object({ model_type: z.string().default('') })

function toGuess(files: TokenizerFiles, tokenizer: Tokenizer): FamilyGuess {
  const config = Config.safeParse(JSON.parse(files.get('config.json')?.toString('utf8') ?? '{}'))
  const chatTemplate = `${tokenizer.chatTemplate ?? ''}${tokenizer.toolTemplate ?? ''}`
  const guess = guessFamily({ modelType: config.data?.model_type ?? '', chatTemplate })
  if (guess !== null) return guess
  throw new CommandError(
    'refused',
    'Nothing in its files tells the family: give --family. See models/families/.',
  )
}

function traitsOf(tokenizer: Tokenizer, family: ModelFamily) {
  return {
    tokens: tokenizer.vocabularySize,
    endTokens: Array.from(toEndIds(tokenizer, family), (id) => tokenizer.decode([id]) || String(id)),
    hasChatTemplate: tokenizer.chatTemplate !== null,
  }
}

/** All or nothing: what is there already stays as it is. */
async function writeModel(
  modelsFolder: string,
  { name, family, files }: { name: string; family: string; files: TokenizerFiles },
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

/** The second encoder must read the prompts as the first one does; null when it does. */
async function compareEncoders(
  folder: string,
  native: Tokenizer,
  reference: ChatReference,
): Promise<string | null> {
  const log = pino({ level: 'silent' })
  const other = await createTokenizer(await readTokenizerFolder(folder), async (file) =>
    openJavascriptEncoder(file, log),
  )
  try {
    for (const { name, prompt } of reference.cases) {
      if (prompt === undefined) continue
      const [ids, others] = [await native.encode(prompt), await other.encode(prompt)]
      if (ids.join() !== others.join())
        return `${name}: the encoder in JavaScript gives other tokens than the native one`
    }
    return null
  } finally {
    await other.close()
  }
}

function formatDifference({ name, switches, problem }: ChatDifference): string {
  const given = Object.keys(switches).length === 0 ? '' : ` with ${JSON.stringify(switches)}`
  return `${name}${given}: ${problem}\n`
}
