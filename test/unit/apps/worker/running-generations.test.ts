import { expect, test } from 'vitest'
import { createRunningGenerations } from '#apps/worker/running-generations.ts'
import type { FrameEntry, StreamState } from '#libs/event-bus/frame.ts'
import { generationJob } from '../../../support/generation-job.ts'

function setUp() {
  let now = 1_000_000
  const sent: FrameEntry[] = []
  const pulses: [string, readonly StreamState[]][] = []
  const watched: string[] = []
  const running = createRunningGenerations({
    publisher: {
      send: (_gateway, entry) => sent.push(entry),
      pulse: (gateway, streams) => pulses.push([gateway, streams]),
      flush: async () => {},
    },
    watchGateway: (gateway) => watched.push(gateway),
    unwatchGateway: (gateway) => watched.splice(watched.indexOf(gateway), 1),
    nowMs: () => now,
  })
  const pass = (ms: number) => (now += ms)
  const job = (stream: number) => generationJob({ gateway: 'gateway-1', stream, deadlineMs: now + 60_000 })
  return { running, sent, pulses, watched, pass, job }
}

test('events of a stream are numbered from one', () => {
  const { running, sent, job } = setUp()
  const run = running.open(job(5), 2)
  run.send({ type: 'text-delta', text: 'a' }, [1])
  run.send({ type: 'text-delta', text: 'b' }, [])
  expect(sent.map(({ stream, epoch, seq }) => [stream, epoch, seq])).toEqual([
    [5, 2, 1],
    [5, 2, 2],
  ])
  run.close()
})

test('a cancel stops its stream, and says why', () => {
  const { running, job } = setUp()
  const run = running.open(job(5), 1)
  const other = running.open(job(6), 1)
  running.stopStream('gateway-1', { stream: 5, epoch: 1 })
  expect([run.stopReason(), run.signal.aborted]).toEqual(['cancelled', true])
  expect(other.stopReason()).toBeNull()
  run.close()
  other.close()
})

test('a cancel of an earlier epoch leaves the later one alone', () => {
  const { running, job } = setUp()
  const run = running.open(job(5), 2)
  running.stopStream('gateway-1', { stream: 5, epoch: 1 })
  expect(run.stopReason()).toBeNull()
  run.close()
})

test('a cancel that overtakes the claim is remembered, for that epoch alone', () => {
  const { running, job } = setUp()
  running.stopStream('gateway-1', { stream: 5, epoch: 1 })
  const cancelled = running.open(job(5), 1)
  expect(cancelled.stopReason()).toBe('cancelled')
  cancelled.close()
  const next = running.open(job(5), 2)
  expect(next.stopReason()).toBeNull()
  next.close()
})

test('the death of a gateway stops what it waits for and nothing else', () => {
  const { running, job } = setUp()
  const run = running.open(job(5), 1)
  const other = running.open({ ...job(5), gateway: 'gateway-2' }, 1)
  running.stopGateway('gateway-1')
  expect(run.stopReason()).toBe('gateway-dead')
  expect(other.stopReason()).toBeNull()
  run.close()
  other.close()
})

test('an ended stream is in the pulses for ten seconds, then its gateway is no longer watched', () => {
  const { running, pulses, watched, pass, job } = setUp()
  const run = running.open(job(5), 1)
  run.send({ type: 'text-delta', text: 'a' }, [])
  expect(watched).toEqual(['gateway-1'])
  running.pulse()
  expect(pulses.pop()).toEqual(['gateway-1', [{ stream: 5, epoch: 1, lastSeq: 1, running: true }]])
  run.close()
  pass(9_000)
  running.pulse()
  expect(pulses.pop()).toEqual(['gateway-1', [{ stream: 5, epoch: 1, lastSeq: 1, running: false }]])
  pass(2_000)
  running.pulse()
  expect(pulses).toEqual([])
  expect(watched).toEqual([])
})

test('what has ended cannot be stopped any more', () => {
  const { running, job } = setUp()
  const run = running.open(job(5), 1)
  run.close()
  run.stop('deadline')
  expect(run.stopReason()).toBeNull()
})
