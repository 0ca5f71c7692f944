import { expect, test } from 'vitest'
import { createClusterPicture } from '#apps/gateway/demand/cluster-picture.ts'

function heartbeat(callFormat: string | undefined, kind: 'worker' | 'gateway' = 'worker') {
  const engine = {
    model: 'm',
    ready: false,
    slots: 1,
    running: 0,
    meanGenerationMs: null,
    slotTokensPerS: null,
    contextWindow: 1,
  }
  const engines = [callFormat === undefined ? engine : { ...engine, callFormat }]
  return { id: kind, kind, engines } as const
}

test('the call format of a model is what its last worker reported, and unknown before', () => {
  const picture = createClusterPicture(() => 0)
  picture.applyHeartbeat(heartbeat('harmony', 'gateway'))
  picture.applyHeartbeat(heartbeat(undefined))
  expect(picture.callFormatOf('m')).toBeNull()
  picture.applyHeartbeat(heartbeat('hermes'))
  picture.applyHeartbeat(heartbeat(undefined))
  expect([picture.callFormatOf('m'), picture.callFormatOf('other')]).toEqual(['hermes', null])
  picture.applyHeartbeat(heartbeat('json'))
  expect(picture.callFormatOf('m')).toBe('json')
})

type Fields = { running: number; slots?: number; ready?: boolean; model?: string }

/** Returns the heartbeat of a worker with these engines. */
function worker(id: string, ...all: Fields[]) {
  const { engines, ...rest } = heartbeat('harmony')
  const [engine] = engines
  if (engine === undefined) throw new Error('the heartbeat has no engine')
  const ready = { ...engine, ready: true, slots: 8, meanGenerationMs: 500 }
  return { ...rest, id, engines: all.map((fields) => ({ ...ready, ...fields })) }
}

test('a worker is described with its share of what the ready workers of its model run, and not if it is the only one', () => {
  let now = 0
  const picture = createClusterPicture(() => now)
  picture.applyHeartbeat(worker('one', { running: 6 }))
  expect(picture.findWorker('m', 'one')).toBeNull()
  picture.applyHeartbeat(worker('two', { running: 2 }))
  picture.applyHeartbeat(worker('stopping', { running: 9, ready: false }))
  picture.applyHeartbeat(worker('other', { running: 9, model: 'other' }))
  const found = { running: 6, share: 4 }
  expect(picture.findWorker('m', 'one')).toEqual(found)
  expect([picture.findWorker('m', 'stopping'), picture.findWorker('m', 'unknown')]).toEqual([null, null])
  now = 5_000
  picture.applyHeartbeat(worker('two', { running: 2 }))
  expect([picture.findWorker('m', 'one'), picture.findWorker('m', 'two')]).toEqual([null, null])
})

test('a worker counts as busy when it is so in two heartbeats', () => {
  const picture = createClusterPicture(() => 0)
  for (const id of ['one', 'two']) picture.applyHeartbeat(worker(id, { running: 2 }))
  const runs = () => picture.findWorker('m', 'one')?.running
  picture.applyHeartbeat(worker('one', { running: 6 }))
  expect(runs()).toBe(2)
  picture.applyHeartbeat(worker('one', { running: 5 }))
  expect(runs()).toBe(5)
})

test('the share of a worker follows its slots', () => {
  const picture = createClusterPicture(() => 0)
  picture.applyHeartbeat(worker('small', { running: 2 }))
  picture.applyHeartbeat(worker('large', { running: 10, slots: 24 }))
  expect([picture.findWorker('m', 'small')?.share, picture.findWorker('m', 'large')?.share]).toEqual([3, 9])
})

test('placed generations count at their worker until its next heartbeat', () => {
  const picture = createClusterPicture(() => 0)
  for (const id of ['one', 'two']) picture.applyHeartbeat(worker(id, { running: 6 }))
  picture.notePlaced('m', 'two')
  expect(picture.findWorker('m', 'one')).toMatchObject({ running: 6, share: 6.5 })
  expect(picture.findWorker('m', 'two')).toMatchObject({ running: 7 })
  picture.notePlaced('m', 'two')
  expect(picture.findWorker('m', 'one')).toMatchObject({ running: 6, share: 7 })
  picture.applyHeartbeat(worker('two', { running: 6 }))
  expect(picture.findWorker('m', 'two')).toMatchObject({ running: 6, share: 6 })
})

test('the least loaded worker is the ready one that runs the smallest part of its slots', () => {
  const picture = createClusterPicture(() => 0)
  picture.applyHeartbeat(worker('stopping', { running: 0, ready: false }))
  picture.applyHeartbeat(worker('one', { running: 2 }))
  expect(picture.findLeastLoaded('m')).toBeNull()
  picture.applyHeartbeat(worker('two', { running: 5, slots: 24 }))
  expect(picture.findLeastLoaded('m')).toBe('two')
  for (let count = 0; count < 2; count += 1) picture.notePlaced('m', 'two')
  expect(picture.findLeastLoaded('m')).toBe('one')
})

test('equally calm workers get generations in turn, also after heartbeats', () => {
  const picture = createClusterPicture(() => 0)
  const chosen: (string | null)[] = []
  for (let turn = 0; turn < 6; turn += 1) {
    for (const id of ['one', 'two', 'three']) picture.applyHeartbeat(worker(id, { running: 0 }))
    const leastLoaded = picture.findLeastLoaded('m')
    chosen.push(leastLoaded)
    picture.notePlaced('m', leastLoaded ?? 'none')
  }
  expect(chosen).toEqual(['one', 'two', 'three', 'one', 'two', 'three'])
})

test('a worker that comes back to a model with one worker does not get all generations', () => {
  const picture = createClusterPicture(() => 0)
  const place = () => {
    for (const id of ['one', 'two']) picture.applyHeartbeat(worker(id, { running: 0 }))
    const leastLoaded = picture.findLeastLoaded('m') ?? 'none'
    picture.notePlaced('m', leastLoaded)
    return leastLoaded
  }
  for (let turn = 0; turn < 100; turn += 1) place()
  picture.forgetWorker('two')
  picture.applyHeartbeat(worker('one', { running: 0 }))
  const chosen = Array.from({ length: 10 }, place)
  expect(chosen.filter((id) => id === 'one').length).toBeGreaterThanOrEqual(4)
})

test('idle workers get generations in proportion to their slots, also after heartbeats', () => {
  const picture = createClusterPicture(() => 0)
  const counts = new Map<string, number>()
  for (let turn = 0; turn < 100; turn += 1) {
    picture.applyHeartbeat(worker('small', { running: 0, slots: 4 }))
    picture.applyHeartbeat(worker('large', { running: 0, slots: 16 }))
    const leastLoaded = picture.findLeastLoaded('m') ?? 'none'
    counts.set(leastLoaded, (counts.get(leastLoaded) ?? 0) + 1)
    picture.notePlaced('m', leastLoaded)
  }
  expect(Object.fromEntries(counts)).toEqual({ small: 20, large: 80 })
})

test('a small worker gets no generation while a large one would run a smaller part of its slots with it', () => {
  const picture = createClusterPicture(() => 0)
  const findLeastLoaded = (small: number, large: number) => {
    picture.applyHeartbeat(worker('small', { running: small, slots: 4 }))
    picture.applyHeartbeat(worker('large', { running: large, slots: 16 }))
    return picture.findLeastLoaded('m')
  }
  expect(findLeastLoaded(1, 3)).toBe('large')
  expect(findLeastLoaded(0, 4)).toBe('small')
})

test('a worker that was busy for long is not given all generations at once', () => {
  const picture = createClusterPicture(() => 0)
  const place = () => {
    const leastLoaded = picture.findLeastLoaded('m') ?? 'none'
    picture.notePlaced('m', leastLoaded)
    return leastLoaded
  }
  const beat = (late: number) => {
    for (const id of ['one', 'two']) picture.applyHeartbeat(worker(id, { running: 0 }))
    picture.applyHeartbeat(worker('late', { running: late }))
  }
  for (let turn = 0; turn < 100; turn += 1) {
    beat(5)
    place()
  }
  const chosen = Array.from({ length: 6 }, () => {
    beat(0)
    return place()
  })
  expect(chosen.toSorted()).toEqual(['late', 'late', 'one', 'one', 'two', 'two'])
})

test('no worker is the least loaded while each runs three quarters of its slots, by heartbeats or by placed generations', () => {
  const picture = createClusterPicture(() => 0)
  picture.applyHeartbeat(worker('one', { running: 6 }))
  picture.applyHeartbeat(worker('two', { running: 5 }))
  expect(picture.findLeastLoaded('m')).toBe('two')
  picture.notePlaced('m', 'two')
  expect(picture.findLeastLoaded('m')).toBeNull()
})

test('the ready workers are counted until they are gone', () => {
  let now = 0
  const picture = createClusterPicture(() => now)
  picture.applyHeartbeat(worker('one', { running: 1 }))
  expect([picture.countWorkers('m'), picture.countWorkers('unknown')]).toEqual([1, 0])
  picture.applyHeartbeat(worker('two', { running: 1 }))
  expect([picture.countWorkers('m'), picture.workersOf('m')]).toEqual([2, ['one', 'two']])
  now = 4_000
  picture.applyHeartbeat(worker('one', { running: 1 }))
  expect(picture.countWorkers('m')).toBe(2)
  now = 4_001
  expect([picture.countWorkers('m'), picture.workersOf('m')]).toEqual([1, ['one']])
  picture.applyHeartbeat(worker('two', { running: 1 }))
  picture.forgetWorker('one')
  expect(picture.find('m')).toMatchObject({ slots: 8, running: 1 })
  picture.forgetWorker('two')
  expect(picture.find('m')).toBeNull()
})

test('several ready engines of one model in a worker count together, and an engine that is lost does not count', () => {
  const picture = createClusterPicture(() => 0)
  picture.applyHeartbeat(worker('one', { running: 1 }, { running: 2 }, { running: 4, ready: false }))
  picture.applyHeartbeat(worker('two', { running: 5 }))
  expect(picture.findWorker('m', 'one')).toMatchObject({ running: 3, share: 16 / 3 })
  expect(picture.find('m')).toMatchObject({ slots: 24, running: 8, meanGenerationMs: 500 })
})
