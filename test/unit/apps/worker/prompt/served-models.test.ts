import { cp, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { status } from '@grpc/grpc-js'
import { pino } from 'pino'
import { afterAll, expect, it } from 'vitest'
import { createServedModels, type LoadProblem } from '#apps/worker/prompt/served-models.ts'
import { createTokenizer } from '#libs/tokenizer/tokenizer.ts'
import { ModelFetchError } from '#libs/model-files/fetch-model-files.ts'
import { readModelFolder, type ModelFiles } from '#libs/model-files/model-files.ts'

const folder = await mkdtemp(join(tmpdir(), 'millrace-loader-'))
afterAll(async () => await rm(folder, { recursive: true }))
await cp('models/families', join(folder, 'families'), { recursive: true })
await cp('models/tiny', join(folder, 'tiny'), { recursive: true })
await writeFile(join(folder, 'away.json'), '{ "family": "hermes" }')
await writeFile(join(folder, 'near.json'), '{ "family": "hermes", "folder": "tiny" }')
await writeFile(join(folder, 'broken.json'), '{ "family": "hermes", "folder": "lost" }')

const tiny = await readModelFolder('models/tiny')
const unusable: ModelFiles = new Map([...tiny, ['tokenizer.json', Buffer.from('{}')]])

const refusal = (code: number, details: string) =>
  new ModelFetchError(details, Object.assign(new Error(details), { code }))

/**
 * Creates served models. Engines answer with the result of `toAnswer`, or with the tiny model's files if it is
 * undefined.
 */
function servedModels(
  toAnswer: (engine: string) => Error | ModelFiles | undefined = () => undefined,
  started = Promise.resolve(),
) {
  const logged: string[] = []
  const asked: string[] = []
  const problems = new Map<string, LoadProblem>()
  const seen: (string | undefined)[] = []
  let opened = 0
  const load = createServedModels({
    modelsFolder: folder,
    toTokenizer: createTokenizer,
    async fetchFiles(engine) {
      seen.push(problems.get(engine)?.reason)
      asked.push(engine)
      const answer = toAnswer(engine) ?? tiny
      if (answer instanceof Error) throw answer
      return answer
    },
    openRenderer() {
      opened += 1
      return { render: async () => [], isForged: () => false, started, close: async () => {} }
    },
    pauses: { firstPauseMs: 1, lastPauseMs: 1 },
    problems,
    log: pino({ base: null }, { write: (line) => logged.push(toLevel(line)) }),
  })
  return { load, logged, asked, problems, seen, opened: () => opened }
}

const toLevel = (line: string) => pino.levels.labels[JSON.parse(line).level] ?? ''

it('an engine that does not answer yet is waited for', async () => {
  const answers = [refusal(status.UNAVAILABLE, 'refused'), refusal(status.DEADLINE_EXCEEDED, 'late')]
  const { load, logged, seen } = servedModels(() => answers.shift())
  const { tokenizer } = await load({ model: 'm', files: 'away', engine: 'e:1' })
  expect(tokenizer.tokenId('<think>')).toBe(2005)
  expect(logged).toEqual(['info', 'info'])
  expect(seen).toEqual([undefined, undefined, undefined])
})

it('an error that waiting does not end is logged once, until the reason changes', async () => {
  const none = refusal(status.INTERNAL, 'no folder')
  const torn = new ModelFetchError('torn', new Error('torn'))
  const late = refusal(status.UNAVAILABLE, 'refused')
  const answers = [none, none, torn, torn, late, torn, unusable]
  const { load, logged, seen, problems } = servedModels(() => answers.shift())
  await load({ model: 'm', files: 'away', engine: 'e:1' })
  expect(logged).toEqual(['error', 'error', 'info', 'error', 'error'])
  expect(seen.slice(0, 7)).toEqual([undefined, 'no folder', 'no folder', 'torn', 'torn', undefined, 'torn'])
  expect(seen[7]).toMatch(/away\.json cannot be used: tokenizer\.json/)
  expect([...problems]).toEqual([])
})

it('an error of one engine of a model is logged once, independently of its other engines', async () => {
  const none = refusal(status.INTERNAL, 'no folder')
  const late = refusal(status.UNAVAILABLE, 'refused')
  const answers = new Map([
    ['e:1', [none, none, none, none]],
    ['e:2', [late, late, late, late]],
  ])
  const { load, logged } = servedModels((engine) => answers.get(engine)?.shift())
  await Promise.all(['e:1', 'e:2'].map(async (engine) => await load({ model: 'm', files: 'away', engine })))
  expect(logged.toSorted()).toEqual(['error', 'info', 'info', 'info', 'info'])
})

it('a model with a folder is loaded once for all its engines, a model without one once per engine', async () => {
  const { load, asked, opened } = servedModels()
  const near = await Promise.all(
    ['e:1', 'e:2'].map(async (engine) => await load({ model: 'n', files: 'near', engine })),
  )
  expect(near[1]).toBe(near[0])
  expect([asked, opened()]).toEqual([[], 1])
  const away = await Promise.all(
    ['e:1', 'e:2', 'e:1'].map(async (engine) => await load({ model: 'm', files: 'away', engine })),
  )
  expect(away[2]).toBe(away[0])
  expect([asked.toSorted(), opened()]).toEqual([['e:1', 'e:2'], 3])
})

it('an error in a model’s own files rejects at once', async () => {
  const { load, logged } = servedModels()
  await expect(load({ model: 'm', files: 'none', engine: 'e:1' })).rejects.toThrow(/none\.json/)
  await expect(load({ model: 'm', files: 'broken', engine: 'e:1' })).rejects.toThrow(/lost cannot be read/)
  expect(logged).toEqual([])
})

it('a model is served when the thread that renders its large chats has started', async () => {
  const { promise: started, resolve: start } = Promise.withResolvers<void>()
  const { load, opened } = servedModels(undefined, started)
  const steps: string[] = []
  const served = load({ model: 'm', files: 'near', engine: 'e:1' }).then(() => steps.push('served'))
  await expect.poll(opened).toBe(1)
  await nextTurn()
  steps.push('started')
  start()
  await served
  expect(steps).toEqual(['started', 'served'])
})
