import { expect, test } from 'vitest'
import { generationJob } from '../../../../support/generation-job.ts'
import { claimedGeneration, runningUnderTest } from './running-under-test.ts'

const GATEWAY = 'gateway-1'

function setUp() {
  const under = runningUnderTest()
  const open = (stream: number, epoch = 1, gateway = GATEWAY) =>
    under.running.open(claimedGeneration(generationJob({ gateway, stream }), { epoch }), () => {})
  return { ...under, open }
}

const text = (value: string) => ({ type: 'text-delta', text: value }) as const

test('events are numbered from one; a group has the ids since the last one on its first event', () => {
  const { open, groups } = setUp()
  const run = open(5, 2)
  run.choices[0].noteOutput([1])
  run.send([])
  run.choices[0].noteOutput([2])
  run.send([text('a'), text('b')])
  run.send([text('c')])
  expect(
    groups.map((group) => group.map(({ stream, epoch, seq, ids }) => [stream, epoch, seq, ids])),
  ).toEqual([
    [
      [5, 2, 1, [1, 2]],
      [5, 2, 2, []],
    ],
    [[5, 2, 3, []]],
  ])
  run.close()
})

test('a claim is published with the first events, before them and once; else with the next pulse', () => {
  const { open, events, groups, pulses, running } = setUp()
  const claim = {
    type: 'generation-claimed',
    worker: 'worker-1',
    promptTokens: 3,
    after: 0,
    guided: false,
    waitedMs: 5,
  } as const
  const run = open(5)
  run.claimed(claim)
  run.choices[0].noteOutput([1])
  run.send([])
  expect(groups).toEqual([])
  run.send([text('a')])
  running.pulse()
  expect(groups.flat().map(({ seq, event, ids }) => [seq, event.type, ids])).toEqual([
    [1, 'generation-claimed', []],
    [2, 'text-delta', [1]],
  ])
  const silent = open(6)
  silent.claimed(claim)
  running.pulse()
  expect(events().slice(2)).toEqual([claim])
  // The stream has sent an event, so the next pulse lists the stream.
  const listed = { stream: 6, epoch: 1, lastSeq: 1, state: 'running' }
  expect(pulses.at(-1)?.[1]).not.toContainEqual(listed)
  running.pulse()
  expect(pulses.at(-1)?.[1]).toContainEqual(listed)
  expect(events()).toHaveLength(3)
  run.close()
  silent.close()
})

test('a stop ends its stream alone', () => {
  const { open, running } = setUp()
  const [run, other] = [open(5), open(6)]
  running.stopStreams(GATEWAY, [{ stream: 5, epoch: 1 }])
  expect([run.stopReason(), run.signal.aborted]).toEqual(['unwanted', true])
  expect(other.stopReason()).toBeNull()
  run.close()
  other.close()
})

test('a stop of an earlier epoch leaves the later one alone', () => {
  const { open, running } = setUp()
  const run = open(5, 2)
  running.stopStreams(GATEWAY, [{ stream: 5, epoch: 1 }])
  expect(run.stopReason()).toBeNull()
  run.close()
})

test('a stop that overtakes the claim is remembered, for that epoch alone', () => {
  const { open, running } = setUp()
  running.stopStreams(GATEWAY, [{ stream: 5, epoch: 1 }])
  const stopped = open(5)
  expect(stopped.stopReason()).toBe('unwanted')
  stopped.close()
  const next = open(5, 2)
  expect(next.stopReason()).toBeNull()
  next.close()
})

test('a generation that comes back in a later epoch ends the run of the earlier one, which is not heard any more', () => {
  const { open, groups, pulses, running } = setUp()
  const old = open(5)
  const next = open(5, 2)
  expect([old.stopReason(), next.stopReason()]).toEqual(['unwanted', null])
  old.send([text('late')])
  old.close()
  expect(groups).toEqual([])
  running.pulse()
  expect(pulses).toEqual([[GATEWAY, [{ stream: 5, epoch: 2, lastSeq: 0, state: 'running' }]]])
  next.close()
})

test('an epoch that runs or has ended is known, a later one and another gateway’s are not', () => {
  const { open, running, state } = setUp()
  const has = (epoch: number, gateway = GATEWAY) => running.hasHad({ gateway, stream: 5 }, epoch)
  expect(has(1)).toBe(false)
  const run = open(5, 2)
  expect([has(1), has(2), has(3), has(2, 'gateway-2')]).toEqual([true, true, false, false])
  running.stopStreams(GATEWAY, [{ stream: 5, epoch: 2 }])
  run.close()
  expect(has(2)).toBe(true)
  state.nowMs += 400_000
  running.pulse()
  expect(has(2)).toBe(false)
})

test('the deadline is what the claim said is left, whatever the clock says', async () => {
  const { running } = setUp()
  const late = running.open(claimedGeneration(generationJob(), { remainingMs: 0 }), () => {})
  expect(late.stopReason()).toBe('deadline')
  const job = generationJob({ stream: 2 })
  const soon = running.open(claimedGeneration(job, { remainingMs: 20 }), () => {})
  expect(soon.stopReason()).toBeNull()
  const { promise, resolve } = Promise.withResolvers<void>()
  soon.signal.addEventListener('abort', () => resolve())
  await promise
  expect(soon.stopReason()).toBe('deadline')
})

test('a dead gateway: its runs stop, and all that is not settled is settled once, what had ended as well', () => {
  const { open, running, settled, watched, forgotten, groups } = setUp()
  const [run, ended, acknowledged, other] = [open(5), open(6), open(7), open(5, 1, 'gateway-2')]
  ended.close()
  acknowledged.close()
  running.forgetSettled(GATEWAY, [7])
  running.buryGateway(GATEWAY)
  expect([run.stopReason(), other.stopReason()]).toEqual(['gateway-dead', null])
  expect(settled).toEqual([
    [run.job.id, 1],
    [ended.job.id, 1],
  ])
  expect([watched, forgotten]).toEqual([['gateway-2'], [GATEWAY]])
  run.send([text('nobody receives it')])
  expect(groups).toEqual([])
  for (const each of [run, other]) each.close()
  running.buryGateway(GATEWAY)
  expect(settled).toHaveLength(2)
})

test('what is claimed for a gateway that died meanwhile is settled, and does not run', () => {
  const { open, state, settled, watched } = setUp()
  state.buried.push(GATEWAY)
  const run = open(5, 3)
  expect(run.stopReason()).toBe('gateway-dead')
  expect([settled, watched]).toEqual([[[run.job.id, 3]], []])
  run.close()
})

test('a gateway that is cut off has its runs stopped, not settled, until it dies', () => {
  const { open, running, settled } = setUp()
  const run = open(5)
  running.stopGateway(GATEWAY)
  expect([run.stopReason(), settled]).toEqual(['unwanted', []])
  run.close()
  running.buryGateway(GATEWAY)
  expect(settled).toEqual([[run.job.id, 1]])
})

test('an answer about the hold reaches the run of exactly its epoch', () => {
  const { open, running } = setUp()
  const [old, run] = [open(5, 1), open(5, 2)]
  const answers: unknown[] = []
  old.onHold = () => answers.push('an earlier epoch')
  run.onHold = (answered) => answers.push(answered)
  const answered = { amountNano: '9', isFinal: false }
  for (const epoch of [1, 2, 3]) running.answerHold(GATEWAY, { ...answered, stream: 5, epoch })
  running.answerHold('another gateway', { ...answered, stream: 5, epoch: 2 })
  expect(answers).toEqual([answered])
  run.close()
  running.answerHold(GATEWAY, { ...answered, stream: 5, epoch: 2 })
  expect(answers).toHaveLength(1)
})

test('an ended stream is remembered until its gateway has settled it; a settled one stops', () => {
  const { open, running, pulses, watched } = setUp()
  const [run, other] = [open(5), open(6)]
  run.send([text('a')])
  run.close()
  running.pulse()
  expect(pulses.pop()).toEqual([
    GATEWAY,
    [
      { stream: 5, epoch: 1, lastSeq: 1, state: 'ended' },
      { stream: 6, epoch: 1, lastSeq: 0, state: 'running' },
    ],
  ])
  running.forgetSettled(GATEWAY, [5, 6])
  expect(other.stopReason()).toBe('unwanted')
  other.close()
  running.pulse()
  expect([pulses, watched]).toEqual([[], []])
})

test('a pulse lists quiet and ended streams; without any there is none', () => {
  const { open, running, pulses } = setUp()
  const [flowing, quiet] = [open(5), open(6)]
  const listed = () => {
    pulses.length = 0
    running.pulse()
    return pulses.map(([, streams]) => streams.map(({ stream, state }) => [stream, state]))
  }
  flowing.send([text('a')])
  expect(listed()).toEqual([[[6, 'running']]])
  flowing.send([text('b')])
  quiet.send([text('a')])
  expect(listed()).toEqual([])
  flowing.send([text('c')])
  flowing.close()
  expect(listed()).toEqual([
    [
      [5, 'ended'],
      [6, 'running'],
    ],
  ])
  quiet.send([text('b')])
  quiet.close()
  expect(listed()).toEqual([[[6, 'ended']]])
  // The list is repeated, as for a gateway whose acknowledgement was lost.
  const later = Array.from({ length: 20 }, listed)
    .flat(2)
    .map(([stream]) => stream)
  expect(later.toSorted((a, b) => Number(a) - Number(b))).toEqual([5, 5, 6, 6])
})

test('an ended stream that is never settled is forgotten after five minutes', () => {
  const { open, running, pulses, state, watched } = setUp()
  open(5).close()
  state.nowMs += 299_000
  running.pulse()
  expect(pulses).toHaveLength(1)
  state.nowMs += 2_000
  running.pulse()
  expect([pulses.length, watched]).toEqual([1, []])
})

test('a gateway that asks receives what runs, what has ended, what may be claimed, and what is unknown', () => {
  const { open, running, pulses, state } = setUp()
  const [run, ended] = [open(5, 2), open(6)]
  run.send([text('a')])
  ended.close()
  state.claiming.push('open-nonce')
  running.answer(GATEWAY, [
    { stream: 5, epoch: 2, nonce: 'a' },
    { stream: 6, epoch: 1, nonce: 'b' },
    { stream: 7, epoch: 1, nonce: 'open-nonce' },
    { stream: 8, epoch: 1, nonce: 'c' },
    // This epoch is not the epoch that the worker runs.
    { stream: 5, epoch: 3, nonce: 'd' },
  ])
  expect(pulses).toEqual([
    [
      GATEWAY,
      [
        { stream: 5, epoch: 2, lastSeq: 1, state: 'running' },
        { stream: 6, epoch: 1, lastSeq: 0, state: 'ended' },
        { stream: 7, epoch: 1, lastSeq: 0, state: 'claiming' },
        { stream: 8, epoch: 1, lastSeq: 0, state: 'unknown' },
        { stream: 5, epoch: 3, lastSeq: 0, state: 'unknown' },
      ],
    ],
  ])
  run.close()
})

test('what cannot be read is answered with one event, and remembered like a run', () => {
  const { running, groups, pulses } = setUp()
  const event = {
    type: 'generation-declined',
    reason: 'incomplete',
    promptTokens: 0,
    requirement: '',
    blame: 'none',
  } as const
  running.refuse({ model: 'm', id: 'g', epoch: 3, gateway: GATEWAY, stream: 9 }, event)
  expect(groups).toEqual([[{ stream: 9, epoch: 3, seq: 1, event, ids: [] }]])
  running.pulse()
  expect(pulses).toEqual([[GATEWAY, [{ stream: 9, epoch: 3, lastSeq: 1, state: 'ended' }]]])
})

test('what has ended cannot be stopped any more', () => {
  const { open, running } = setUp()
  const run = open(5)
  run.close()
  run.stop('deadline')
  expect([run.stopReason(), running.live()]).toEqual([null, []])
})
