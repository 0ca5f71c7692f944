import { expect, test } from 'vitest'
import { createCapacityReader } from '#apps/scaler/signals/read-capacity.ts'
import type { ReportedEngine } from '#libs/event-bus/heartbeat.ts'
import { toBeat, toEngine } from '../../../../support/heartbeats.ts'

function startReader() {
  let now = 0
  const reader = createCapacityReader({ nowMs: () => now })
  return {
    reader,
    pass(ms: number) {
      now += ms
    },
    send(fields: Partial<ReportedEngine> = {}) {
      const { id = 'a', name = 'pod-a', podUid = 'uid-a', cordonTerm = null, ...engine } = fields
      reader.receive(toBeat({ id, name, podUid, cordonTerm }, { slots: 10, ...engine }))
    },
  }
}

test('what runs is summed over workers that report, of this model alone', () => {
  const { reader, send, pass } = startReader()
  send({ running: 3 })
  pass(6_000)
  send({ id: 'b', podUid: 'uid-b', running: 4, slots: 20 })
  send({ id: 'c', podUid: 'uid-c', model: 'other', running: 9 })
  expect(reader.load('chat')).toMatchObject({ running: 7, ready: 2, slotsPerReplica: 15 })
  pass(6_000)
  expect(reader.load('chat')).toMatchObject({ running: 4, ready: 1, slotsPerReplica: 20 })
})

test('the engines of one worker are kept apart', () => {
  const { reader, pass } = startReader()
  const engines = [toEngine({ running: 1, ended: 900 }), toEngine({ model: 'other', running: 2, ended: 5 })]
  for (let second = 0; second < 3; second += 1) {
    reader.receive({ ...toBeat(), engines })
    pass(1_000)
  }
  expect(reader.load('chat')).toMatchObject({ running: 1, ready: 1 })
  expect(reader.load('other')).toMatchObject({ running: 2, ready: 1 })
})

test('means are kept without workers, and unknown before the first', () => {
  const { reader, send, pass } = startReader()
  expect(reader.means('chat')).toEqual({
    meanServiceMs: null,
    meanOutputTokens: null,
    decodePerReplica: null,
    prefillPerReplica: null,
    slotsPerReplica: null,
  })
  send({ meanGenerationMs: 2_000 })
  expect(reader.load('chat').meanServiceMs).toBe(2_000)
  pass(600_000)
  expect(reader.load('chat')).toMatchObject({ meanServiceMs: 2_000, slotsPerReplica: 10, running: 0 })
})

test('the mean service time is weighted by what ended lately', () => {
  const { reader, send, pass } = startReader()
  send({ meanGenerationMs: 1_000 })
  send({ id: 'b', meanGenerationMs: 9_000 })
  pass(1_000)
  send({ meanGenerationMs: 1_000, ended: 90 })
  send({ id: 'b', meanGenerationMs: 9_000, ended: 10 })
  expect(reader.load('chat').meanServiceMs).toBeCloseTo(1_800)
})

test('reports of an idle cordon are counted in a row', () => {
  const { reader, send } = startReader()
  const reports = () => reader.ofPod({ name: 'pod-a', uid: 'uid-a' })?.idleReports
  send({ phase: 'cordoned', running: 1, cordonTerm: 7 })
  expect(reports()).toBe(0)
  send({ phase: 'cordoned', cordonTerm: 7 })
  send({ phase: 'cordoned', cordonTerm: 7 })
  expect(reports()).toBe(2)
  send({ phase: 'ready' })
  expect(reports()).toBe(0)
})

test('a pod has the worker of its uid, the newest one after a restart, and by name where there is no uid', () => {
  const { reader, send, pass } = startReader()
  send()
  pass(1_000)
  send({ id: 'restarted' })
  send({ id: 'outside', name: 'pod-b', podUid: null })
  expect(reader.ofPod({ name: 'pod-a', uid: 'uid-a' })?.engine.id).toBe('restarted')
  expect(reader.ofPod({ name: 'pod-a', uid: 'another' })).toBeNull()
  expect(reader.ofPod({ name: 'pod-b', uid: 'any' })?.engine.id).toBe('outside')
  pass(20_000)
  expect(reader.ofPod({ name: 'pod-a', uid: 'uid-a' })).toBeNull()
  expect(reader.knowsPod({ uid: 'uid-a' })).toBe(true)
})

test('adopted means fill what is not known here', () => {
  const { reader, send } = startReader()
  send({ meanGenerationMs: 2_000 })
  reader.load('chat')
  const kept = { meanServiceMs: 5_000, meanOutputTokens: 100, decodePerReplica: 900, prefillPerReplica: null }
  reader.adopt({ chat: { ...kept, slotsPerReplica: 4 } })
  expect(reader.means('chat')).toEqual({ ...kept, meanServiceMs: 2_000, slotsPerReplica: 10 })
})

test('speed is measured in windows of 10 s with busy slots, and known after 30 of them', () => {
  const { reader, send, pass } = startReader()
  let outputTokens = 0
  const seconds = (count: number, running: number, perSecond: number) => {
    for (let second = 0; second < count; second += 1) {
      send({ running, outputTokens, promptTokens: outputTokens * 2, cachedTokens: outputTokens })
      outputTokens += perSecond
      pass(1_000)
    }
  }
  seconds(290, 8, 500)
  expect(reader.load('chat').decodePerReplica).toBeNull()
  seconds(20, 8, 500)
  expect(reader.load('chat')).toMatchObject({ decodePerReplica: 500, prefillPerReplica: 500 })
  // A worker with few busy slots is fast in each of them. This does not show the speed of a full worker.
  seconds(600, 2, 4_000)
  expect(reader.load('chat').decodePerReplica).toBeLessThan(1_000)
})

test('a gap between messages ends a window', () => {
  const { reader, send, pass } = startReader()
  for (let turn = 0; turn < 400; turn += 1) {
    send({ running: 10, outputTokens: turn * 50_000 })
    pass(turn % 5 === 0 ? 60_000 : 1_000)
  }
  expect(reader.load('chat').decodePerReplica).toBeNull()
})
