import { cpSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { ModelFamily } from '#libs/dialect/family.ts'
import { scratchFolder } from './run-folder.ts'

export type NamedFamily = ModelFamily & { readonly name: string }

/** One family of models/families/ for each format of thinking, calls and call ids. */
export const FAMILIES: readonly NamedFamily[] = Array.from(
  new Map(
    readFamilies().map((family) => {
      const { reasoning, toolCalls, callIds } = family
      return [JSON.stringify({ reasoning, toolCalls, callIds }), family]
    }),
  ).values(),
)

/** The model whose template opens the thinking, unlike the other models of its family. */
export const OPENED_MODEL = 'thinking-opened'
/** Models whose markers are special tokens, as in most real models of these families. */
export const SPECIAL_MODELS = {
  magistral: 'special-magistral',
  'gpt-oss': 'special-gpt-oss',
} as const
const MAGISTRAL_MARKERS = ['[TOOL_CALLS]', '[THINK]', '[/THINK]']
const HARMONY_MARKERS = ['start', 'channel', 'message', 'constrain', 'end', 'call', 'return']
const SPECIAL_TOKENS = [...MAGISTRAL_MARKERS, ...HARMONY_MARKERS.map((name) => `<|${name}|>`)]

/**
 * Writes a folder with `OPENED_MODEL`, the `SPECIAL_MODELS`, and one model of each of the `FAMILIES` under the family's
 * name. Returns the folder's path. All models have the tokenizer of models/tiny. For the `SPECIAL_MODELS`, the markers
 * of their two families (Magistral and gpt-oss) are added to this tokenizer as special tokens.
 */
export function writeFamilyModels(): string {
  const folder = scratchFolder('models')
  cpSync('models/families', join(folder, 'families'), { recursive: true })
  for (const copy of ['tiny', 'opened', 'special']) {
    cpSync('models/tiny', join(folder, copy), { recursive: true })
  }
  openThinking(join(folder, 'opened', 'tokenizer_config.json'))
  addSpecialTokens(join(folder, 'special', 'tokenizer.json'), SPECIAL_TOKENS)
  const write = (name: string, parts: object) =>
    writeFileSync(join(folder, `${name}.json`), JSON.stringify(parts))
  write(OPENED_MODEL, { family: 'deepseek-r1', folder: 'opened' })
  for (const [family, name] of Object.entries(SPECIAL_MODELS)) write(name, { family, folder: 'special' })
  for (const { name } of FAMILIES) write(name, { family: name, folder: 'tiny' })
  return folder
}

function openThinking(path: string): void {
  const config: { chat_template: string } = JSON.parse(readFileSync(path, 'utf8'))
  const opening = "{%- if add_generation_prompt %}{{- '<think>\\n' }}{%- endif %}"
  writeFileSync(path, JSON.stringify({ ...config, chat_template: config.chat_template + opening }))
}

function addSpecialTokens(path: string, texts: readonly string[]): void {
  const tokenizer: { added_tokens: { id: number }[] } = JSON.parse(readFileSync(path, 'utf8'))
  const known = tokenizer.added_tokens
  const first = Math.max(...known.map(({ id }) => id)) + 1
  const added = texts.map((content, i) => ({ ...known[0], id: first + i, content, special: true }))
  writeFileSync(path, JSON.stringify({ ...tokenizer, added_tokens: [...known, ...added] }))
}

/** Writes the catalog of these models and returns its path. */
export function writeFamilyCatalog(): string {
  const { models }: { models: { id: string }[] } = JSON.parse(
    readFileSync('deploy/catalog.demo.json', 'utf8'),
  )
  const demo = models.find(({ id }) => id === 'demo-chat')
  const toEntry = (id: string, reasoning: boolean) => ({
    ...demo,
    id,
    reasoning,
    defaultEffort: reasoning ? 'low' : 'off',
  })
  const entries = FAMILIES.map(({ name, reasoning }) => toEntry(name, reasoning !== 'none'))
  const others = [OPENED_MODEL, ...Object.values(SPECIAL_MODELS)].map((id) => toEntry(id, true))
  const path = join(scratchFolder('catalog'), 'catalog.json')
  writeFileSync(path, JSON.stringify({ models: [...entries, ...others] }))
  return path
}

function readFamilies(): NamedFamily[] {
  return readdirSync('models/families').map((file) => ({
    name: basename(file, '.json'),
    ...ModelFamily.parse(JSON.parse(readFileSync(join('models/families', file), 'utf8'))),
  }))
}
