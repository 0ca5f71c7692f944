import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import type { Output } from '#apps/worker/run/running-generation.ts'
import { createTrials } from '#apps/worker/run/trials.ts'

beforeEach(() => {
  vi.useFakeTimers()
})

afterEach(() => {
  vi.useRealTimers()
})

type Fields = { deaths?: number; mostTokens?: number; kind?: 'chat' | 'embedding' }

/** Sets up the runs of one engine. `gives` adds this many tokens to a run's output. */
function setUp() {
  const trials = createTrials(() => Date.now())
  const began: string[] = []
  function add(name: string, { deaths = 0, mostTokens = 0, kind = 'chat' }: Fields = {}) {
    const abort = new AbortController()
    const output: Output = { tokens: 0, mostTokens: null, firstMs: null, lastMs: null }
    const run: Parameters<typeof trials.begin>[0] = {
      job: { id: name, request: { kind } },
      epoch: 1,
      engineDeaths: { count: deaths, mostTokens },
      output,
      signal: abort.signal,
      blame: 'none',
    }
    void trials.begin(run).then(() => began.push(abort.signal.aborted ? `${name} left` : name))
    return {
      run,
      gives(tokens: number) {
        output.tokens += tokens
        output.firstMs ??= Date.now()
        trials.outputSeen()
      },
      ends: () => trials.end(run),
      leaves: () => abort.abort(),
    }
  }
  const settled = async () => await vi.advanceTimersByTimeAsync(0)
  const judge = () => trials.judge(Date.now())?.job.id ?? null
  const blames = (...runs: ReturnType<typeof add>[]) => runs.map(({ run }) => run.blame)
  return { add, began, settled, judge, blames, trials }
}

const TRIED = { deaths: 1, mostTokens: 100 }
const TRIED_TWICE = { deaths: 2, mostTokens: 100 }

test('runs that no engine died with do not wait for each other', async () => {
  const { add, began, settled } = setUp()
  add('a')
  add('b')
  await settled()
  expect(began).toEqual(['a', 'b'])
})

test('those present at a death are read one at a time, and no other is without a token then', async () => {
  const { add, began, settled } = setUp()
  const silent = add('silent')
  const first = add('first', TRIED)
  const second = add('second', TRIED)
  add('new')
  await settled()
  expect(began).toEqual(['silent'])
  silent.gives(1)
  await settled()
  expect(began).toEqual(['silent', 'first'])
  first.gives(2)
  await settled()
  expect(began).toHaveLength(2)
  first.gives(1)
  await settled()
  expect(began.slice(2)).toEqual(['second'])
  second.gives(3)
  await settled()
  expect(began.slice(3)).toEqual(['new'])
})

test('the next is read when the one before it has ended', async () => {
  const { add, began, settled } = setUp()
  const first = add('first', TRIED)
  add('second', TRIED)
  await settled()
  first.ends()
  await settled()
  expect(began).toEqual(['first', 'second'])
})

test('after two deaths a run is alone on trial until it is longer than before; new ones run beside it', async () => {
  const { add, began, settled } = setUp()
  const first = add('first', TRIED_TWICE)
  add('second', TRIED)
  await settled()
  first.gives(3)
  const fresh = add('new')
  await settled()
  fresh.gives(1)
  expect(began).toEqual(['first', 'new'])
  first.gives(113)
  await settled()
  expect(began).toHaveLength(2)
  first.gives(1)
  await settled()
  expect(began.slice(2)).toEqual(['second'])
})

test('an embedding begins anew, so it is on trial until its end', async () => {
  const { add, began, settled } = setUp()
  const first = add('first', { ...TRIED, kind: 'embedding' })
  add('second', { ...TRIED, kind: 'embedding' })
  await settled()
  first.gives(0)
  await settled()
  expect(began).toEqual(['first'])
  first.ends()
  await settled()
  expect(began).toEqual(['first', 'second'])
})

test('a wait ends when its run is stopped, and after 5 s for each death', async () => {
  const { add, began, settled } = setUp()
  add('first', TRIED)
  const leaving = add('leaving', TRIED)
  add('second', TRIED)
  add('third', TRIED_TWICE)
  leaving.leaves()
  await settled()
  expect(began).toEqual(['first', 'leaving left'])
  await vi.advanceTimersByTimeAsync(5_000)
  expect(began.slice(2)).toEqual(['second'])
  await vi.advanceTimersByTimeAsync(5_000)
  expect(began.slice(3)).toEqual(['third'])
})

test('a run that is stopped before its turn never waits', async () => {
  const { add, began, settled, trials } = setUp()
  const first = add('first', TRIED)
  first.leaves()
  await trials.begin(first.run)
  await settled()
  expect(began).toEqual(['first left'])
})

test('a first death is of any of those that ran, and of none that waits', async () => {
  const { add, settled, judge, blames } = setUp()
  const runs = [add('a'), add('b')]
  for (const { gives } of runs) gives(50)
  const tried = add('tried', TRIED)
  const waits = add('waits', TRIED)
  await settled()
  tried.gives(200)
  await settled()
  waits.ends()
  expect(judge()).toBe(null)
  expect(blames(...runs, tried, waits)).toEqual(['present', 'present', 'present', 'none'])
})

test('the one on trial is the suspect, and clears the others, but not before its turn', async () => {
  const { add, settled, judge, blames } = setUp()
  const talking = add('talking')
  talking.gives(50)
  const read = add('read', TRIED)
  await settled()
  read.gives(7)
  const tried = add('tried', TRIED)
  const waits = add('waits', TRIED)
  await settled()
  expect(judge()).toBe('tried')
  expect(blames(talking, read, tried, waits)).toEqual(['none', 'none', 'suspect', 'none'])
})

test('a run that is alone is the suspect, at a first death too', async () => {
  const { add, settled, judge, blames } = setUp()
  const ended = add('ended')
  const alone = add('alone')
  ended.ends()
  alone.gives(500)
  await settled()
  expect(judge()).toBe('alone')
  expect(blames(ended, alone)).toEqual(['none', 'suspect'])
})

test('one that is as long as when an engine died with it may be the cause as well: then nobody is the suspect', async () => {
  const { add, settled, judge, blames } = setUp()
  const again = add('again', { deaths: 1, mostTokens: 5 })
  await settled()
  again.gives(5)
  const tried = add('tried', TRIED)
  await settled()
  expect(judge()).toBe(null)
  expect(blames(again, tried)).toEqual(['present', 'present'])
})

test('what was given to an engine that hung already is not the cause', async () => {
  const { add, settled, trials, blames } = setUp()
  const talking = add('talking')
  talking.gives(50)
  const tried = add('tried', TRIED)
  await settled()
  const lastTokenMs = Date.now()
  await vi.advanceTimersByTimeAsync(4_000)
  tried.gives(0)
  const late = add('late', TRIED)
  await vi.advanceTimersByTimeAsync(5_000)
  expect(trials.judge(lastTokenMs)?.job.id).toBe('tried')
  expect(blames(talking, tried, late)).toEqual(['none', 'suspect', 'none'])
})
