import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { SANDBOX_ENGINES } from '#scripts/cluster/sandbox-models.ts'
import type { EnginePlan } from './cluster.ts'
import { scratchFolder } from './run-folder.ts'

/** The catalogs' context window, for clients with long instructions. */
const WIDE = { maxModelLen: 32_768 }
const QUICK = { stepMs: 1, sequenceMs: 0 }
/** The time to the first token of test/slow, which is shorter here than in `npm start`. */
export const SLOW_FIRST_TOKEN_MS = 400
const QUICKER: Readonly<Record<string, Partial<EnginePlan>>> = {
  'test/slow': { behaviour: { type: 'waits', firstTokenMs: SLOW_FIRST_TOKEN_MS } },
  'test/long': { stepMs: 0, sequenceMs: 0 },
}

/** An engine for one generation at a time. */
const NARROW = { files: 'demo', maxNumSeqs: 1, ...WIDE }

/**
 * Models that are each used by only one test file. The key is the name of this file. The file may fill its model, or
 * wait until nothing runs on its model. The model's catalog entry is a copy of the entry of the demo model that `like`
 * names, so both cost the same.
 */
export const FILE_MODELS = {
  agents: { like: 'demo-chat', engine: { model: 'agents/narrow', ...NARROW } },
  'ai-sdk': { like: 'demo-chat', engine: { model: 'ai-sdk/narrow', ...NARROW } },
  'anthropic-sdk': { like: 'demo-chat', engine: { model: 'anthropic-sdk/narrow', ...NARROW } },
  codex: { like: 'demo-chat', engine: { model: 'codex/narrow', ...NARROW } },
  credits: { like: 'demo-chat', engine: { model: 'credits/quick', files: 'demo', ...QUICK } },
  'credits-race': { like: 'demo-chat', engine: { model: 'credits/race', files: 'demo', ...QUICK } },
  embeddings: {
    like: 'demo-embed',
    // The engine is fast enough for thousands of inputs, and slow enough to be interrupted in the middle of them.
    engine: { model: 'embeddings/embed', files: 'demo', kind: 'embedding', maxNumSeqs: 8, stepMs: 4 },
  },
  'gateway-stop': { like: 'demo-chat', engine: { model: 'gateway-stop/narrow', ...NARROW, stepMs: 50 } },
  'hang-up': { like: 'demo-chat', engine: { model: 'hang-up/narrow', ...NARROW, stepMs: 20 } },
  langchain: { like: 'demo-chat', engine: { model: 'langchain/narrow', ...NARROW } },
  metrics: { like: 'demo-chat', engine: { model: 'metrics/quick', files: 'demo', ...QUICK } },
  // The engine's servicer does not keep the prefix caches of accounts apart.
  'other-prompts': {
    like: 'demo-chat',
    engine: {
      model: 'other-prompts/unsalted',
      files: 'demo',
      servicerVersion: '0.26.0+0.8.0',
      maxNumSeqs: 8,
      ...QUICK,
    },
  },
  'openai-failures': { like: 'demo-chat', engine: { model: 'openai-failures/narrow', ...NARROW } },
  'version-skew': {
    like: 'demo-chat',
    engine: { model: 'version-skew/served', files: 'demo', maxModelLen: 16_384, stepMs: 3 },
  },
  // With 8 slots, 24 generations may wait before the duration of a generation is known.
  'queue-tools': {
    like: 'demo-chat',
    engine: { model: 'queue-tools/narrow', ...NARROW, maxNumSeqs: 8, stepMs: 10, sequenceMs: 0 },
  },
  // The engine is so slow that a stream, and its hold, stay open during all tests of the file.
  roles: { like: 'demo-chat', engine: { model: 'roles/slow', files: 'demo', stepMs: 400 } },
} as const

/** Models without an engine in the shared cluster. A test file starts its own workers for them. */
export const UNSERVED_MODELS = {
  'without-credits': { like: 'demo-chat', model: 'without-credits/demo' },
  cordon: { like: 'demo-chat', model: 'cordon/demo' },
  'engine-killers': { like: 'demo-chat', model: 'engine-killers/lone' },
  'engine-killers-twin': { like: 'demo-chat', model: 'engine-killers/twin' },
  'trusting-engines': { like: 'demo-chat', model: 'trusting-engines/demo' },
  'many-streams': { like: 'demo-chat', model: 'many-streams/demo' },
  'model-files': { like: 'demo-chat', model: 'model-files/demo' },
  'model-files-thinking': { like: 'demo-reasoning', model: 'model-files/thinking' },
  // A model at zero in the examples of docs/api.md.
  'docs-api': { like: 'demo-chat', model: 'demo-cold' },
  'unpaid-work': { like: 'demo-chat', model: 'unpaid-work/chat' },
  'unpaid-work-embeddings': { like: 'demo-embed', model: 'unpaid-work/embed' },
  'version-skew': { like: 'demo-chat', model: 'version-skew/demo' },
  'warm-conversations': { like: 'demo-chat', model: 'warm-conversations/demo' },
} as const

/** The engines of the shared cluster. */
export const SHARED_ENGINES: readonly EnginePlan[] = [
  { model: 'demo-chat', files: 'demo', ...QUICK, ...WIDE },
  { model: 'millrace/demo-chat', files: 'demo', ...QUICK, stepMs: 20, ...WIDE },
  { model: 'demo-reasoning', files: 'demo-reasoning', ...QUICK, ...WIDE },
  { model: 'demo-embed', files: 'demo', kind: 'embedding' },
  ...SANDBOX_ENGINES.map((engine) => ({ ...engine, ...WIDE, ...QUICKER[engine.model] })),
  ...Object.values(FILE_MODELS).map(({ engine }) => engine),
]

/**
 * Writes a catalog with the models of `FILE_MODELS` and `UNSERVED_MODELS`. Returns the value of CATALOG_FILE: the paths
 * of this catalog and of the other catalogs of the cluster.
 */
export function writeSharedCatalogs(): string {
  const demo = 'deploy/catalog.demo.json'
  const { models }: { models: { id: string }[] } = JSON.parse(readFileSync(demo, 'utf8'))
  const served = Object.values(FILE_MODELS).map(({ engine, like }) => ({ model: engine.model, like }))
  const copies = [...served, ...Object.values(UNSERVED_MODELS)].map(({ model, like }) => ({
    ...models.find(({ id }) => id === like),
    id: model,
  }))
  const path = join(scratchFolder('catalog'), 'catalog.json')
  writeFileSync(path, JSON.stringify({ models: copies }))
  return [demo, 'deploy/catalog.sandbox.json', path].join(',')
}
