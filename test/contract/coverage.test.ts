import { describe, expect, test } from 'vitest'
import { casesOf, OTHER_RPC_CASES, OUT_OF_REACH, placeOf, SCENARIO_CASES } from './cases.ts'
import { caseNames, RECORDED_VERSIONS, readRecordings } from './recordings.ts'

/** For each first word of the recordings' names, the file of this folder that tests these recordings. */
const FAMILIES = {
  abort: ['scenarios'],
  alt: ['rpcs', 'wire'],
  backpressure: ['scenarios'],
  cache: ['scenarios'],
  cancel: ['scenarios'],
  concurrency: ['scenarios'],
  constraint: ['wire'],
  duplicate: ['scenarios'],
  error: ['rpcs', 'wire'],
  finish: ['wire'],
  forced: ['wire'],
  generate: ['wire'],
  hang: ['scenarios'],
  health: ['rpcs'],
  pooling: ['rpcs', 'wire'],
  sigkill: ['scenarios'],
  sigterm: ['scenarios'],
  stream: ['rpcs'],
  subscribe: ['rpcs'],
  unary: ['rpcs', 'scenarios'],
} as const

const COUNTS = { '0.32.0+0.14.1': 180, '0.26.0+0.8.0': 159 }

describe.each(RECORDED_VERSIONS)('the recordings of %s', (servicerVersion) => {
  const recordings = readRecordings(servicerVersion)

  test('are all there', () => {
    expect(recordings).toHaveLength(COUNTS[servicerVersion])
  })

  test('each have a test or a reason', () => {
    const without = recordings.filter((recording) => placeOf(recording) === null)
    expect(without.map((recording) => recording.case)).toEqual(
      Object.keys(OUT_OF_REACH).filter((name) => caseNames(servicerVersion).includes(name)),
    )
  })
})

test('the places of the tests are those that are written down', () => {
  const places: Record<string, Set<string>> = {}
  for (const servicerVersion of RECORDED_VERSIONS) {
    for (const place of ['wire', 'rpcs', 'scenarios'] as const) {
      for (const [name] of casesOf(servicerVersion, place))
        (places[name.split('-')[0] ?? ''] ??= new Set()).add(place)
    }
  }
  expect(
    Object.fromEntries(
      Object.entries(places).map(([family, found]) => [family, Array.from(found).toSorted()]),
    ),
  ).toEqual(FAMILIES)
})

test('no list names what was never recorded, and every reason is a sentence', () => {
  const recorded = new Set(RECORDED_VERSIONS.flatMap(caseNames))
  const named = [...SCENARIO_CASES, ...OTHER_RPC_CASES, ...Object.keys(OUT_OF_REACH)]
  expect(named.filter((name) => !recorded.has(name))).toEqual([])
  for (const reason of Object.values(OUT_OF_REACH)) expect(reason.split(' ').length).toBeGreaterThan(5)
})
