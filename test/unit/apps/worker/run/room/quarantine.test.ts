import { expect, test } from 'vitest'
import { createQuarantine } from '#apps/worker/run/room/quarantine.ts'
import type { Output } from '#apps/worker/run/running-generation.ts'

type Run = Parameters<ReturnType<typeof createQuarantine>['open']>[0]

/** Sets up the quarantine of one engine, and the runs that the engine has got. */
function setUp() {
  const now = { ms: 100_000 }
  const looks: string[] = []
  const quarantine = createQuarantine({ nowMs: () => now.ms, onRoom: () => looks.push('look') })
  const runs = new Set<Run>()
  function add({ deaths = 0, begins = true } = {}) {
    const output: Output = { tokens: 0, mostTokens: null, firstMs: null, lastMs: null }
    const run: Run = {
      job: { id: `${runs.size}`, request: { kind: 'chat' } },
      engineDeaths: deaths,
      output,
      hasOutput: () => output.firstMs !== null,
      blame: 'none',
    }
    runs.add(run)
    quarantine.open(run)
    if (begins) quarantine.begin(run)
    return {
      run,
      gives(tokens: number) {
        output.tokens += tokens
        output.firstMs ??= now.ms
        quarantine.outputSeen()
      },
      ends() {
        runs.delete(run)
        quarantine.end(run)
      },
    }
  }
  const expects = quarantine.hasRoom
  const judge = (lastTokenMs = now.ms) => quarantine.judge(runs, lastTokenMs)
  return { now, looks, quarantine, add, expects, judge, blames: () => [...runs].map(({ blame }) => blame) }
}

test('a generation is alone in quarantine until the engine has given enough tokens, or until its end', () => {
  const { add, expects } = setUp()
  add().gives(1)
  expect(expects()).toBe(true)
  const once = add({ deaths: 1 })
  expect(expects()).toBe(false)
  once.gives(2)
  expect(expects()).toBe(false)
  once.gives(1)
  expect(expects()).toBe(true)
  const twice = add({ deaths: 2 })
  twice.gives(95)
  expect(expects()).toBe(false)
  twice.ends()
  expect(expects()).toBe(true)
})

test('the worker looks for those that it had to leave waiting, once it may take one', () => {
  const { quarantine, add, looks } = setUp()
  const first = add({ deaths: 1 })
  first.ends()
  expect(looks).toEqual([])
  const second = add({ deaths: 1 })
  quarantine.missed()
  quarantine.missed()
  expect(looks).toEqual([])
  second.gives(3)
  expect(looks).toEqual(['look'])
})

test('at a first death any of those that ran may be the cause', () => {
  const { add, judge, blames } = setUp()
  add().gives(50)
  add()
  // The engine has read it, so it is not in quarantine any more.
  add({ deaths: 1 }).gives(3)
  expect(judge()).toBe(null)
  expect(blames()).toEqual(['present', 'present', 'present'])
})

test('the one in quarantine is the suspect, and clears the others', () => {
  const { add, judge, blames } = setUp()
  add().gives(50)
  const { run } = add({ deaths: 1 })
  expect(judge()).toBe(run)
  expect(blames()).toEqual(['none', 'suspect'])
})

test('beside a new one without a token, the one in quarantine is the suspect only after two deaths', () => {
  for (const [deaths, expected] of [
    [1, ['present', 'present']],
    [2, ['suspect', 'none']],
  ] as const) {
    const { add, judge, blames } = setUp()
    add({ deaths })
    add()
    judge()
    expect(blames()).toEqual(expected)
  }
})

test('one whose prompt is still rendered is not in the engine', () => {
  const { add, judge, blames } = setUp()
  add().gives(50)
  add({ deaths: 1, begins: false })
  expect(judge()).toBe(null)
  expect(blames()).toEqual(['present', 'none'])
})

test('only one that the engine has got can be the cause', () => {
  const { add, judge, blames } = setUp()
  const { run } = add()
  add({ begins: false })
  expect(judge()).toBe(run)
  expect(blames()).toEqual(['suspect', 'none'])
})

test('a run that is alone is the suspect, at a first death too', () => {
  const { add, judge } = setUp()
  const alone = add()
  alone.gives(500)
  expect(judge()).toBe(alone.run)
})

test('one that was given to an engine that hung already is not the cause', () => {
  const { add, judge, now, blames } = setUp()
  add().gives(50)
  const lastTokenMs = now.ms
  now.ms += 2_001
  add({ deaths: 1 })
  expect(judge(lastTokenMs)).toBe(null)
  expect(blames()).toEqual(['present', 'present'])
})
