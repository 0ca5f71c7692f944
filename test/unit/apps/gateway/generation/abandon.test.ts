import { pino } from 'pino'
import { expect, test } from 'vitest'
import { createAbandon } from '#apps/gateway/generation/abandon.ts'
import type { Cancellation, SettleResult } from '#libs/generation-record/generation-record.ts'

const GENERATION = { id: 'g1', model: 'demo-chat', stream: 7, epoch: 2, worker: 'worker-1' }

function setUp(answers: {
  cancel?: (Cancellation | Error)[]
  settle?: SettleResult[]
  release?: (boolean | Error)[]
}) {
  const log: string[] = []
  const next = <Answer>(list: (Answer | Error)[] | undefined): Answer => {
    const answer = list?.shift()
    if (answer === undefined) throw new Error('no more answers')
    if (answer instanceof Error) throw answer
    return answer
  }
  const abandon = createAbandon({
    record: {
      async cancel(model, id) {
        log.push(`cancel ${model} ${id}`)
        return next(answers.cancel)
      },
      async settle(_model, { epoch, outcome, completionTokens }) {
        log.push(`settle ${epoch} ${outcome} ${completionTokens}`)
        return next(answers.settle)
      },
    },
    billing: {
      async release(id) {
        log.push(`release ${id}`)
        return next(answers.release)
      },
    },
    tellWorker: async (worker, { stream, epoch }) => void log.push(`tell ${worker} ${stream} ${epoch}`),
    giveUpAfterMs: 60_000,
    nowMs: () => Date.now(),
    log: pino({ level: 'silent' }),
  })
  return { abandon, log }
}

test('cancelling what waits tells nobody', async () => {
  const { abandon, log } = setUp({ cancel: [{ status: 'released' }] })
  abandon.cancel(GENERATION)
  await abandon.drain()
  expect(log).toEqual(['cancel demo-chat g1'])
})

test('cancelling what runs tells the worker that the record names, and looks whether it settled', async () => {
  const { abandon, log } = setUp({
    cancel: [{ status: 'claimed', worker: 'worker-2' }, { status: 'settled' }],
  })
  abandon.cancel(GENERATION)
  await abandon.drain()
  expect(log).toEqual(['cancel demo-chat g1', 'tell worker-2 7 2', 'cancel demo-chat g1'])
})

test('a worker that does not settle what it was told to stop has lost it: then it is free', async () => {
  const claimed = { status: 'claimed', worker: 'worker-2' } as const
  const { abandon, log } = setUp({ cancel: [claimed, claimed, claimed, claimed], settle: ['recorded'] })
  abandon.cancel(GENERATION)
  await abandon.drain()
  expect(log.at(-1)).toBe('settle 2 fault 0')
  expect(log.filter((step) => step.startsWith('cancel'))).toHaveLength(4)
})

test('what we refused after all is free, also when somebody claimed it meanwhile', async () => {
  const { abandon, log } = setUp({
    cancel: [{ status: 'claimed', worker: 'worker-2' }],
    settle: ['recorded'],
  })
  abandon.withdraw(GENERATION)
  await abandon.drain()
  expect(log).toEqual(['cancel demo-chat g1', 'settle 2 fault 0', 'tell worker-2 7 2'])
})

test('a cancel is repeated until it is answered', async () => {
  const { abandon, log } = setUp({
    cancel: [new Error('Command timed out'), new Error('Connection is closed.'), { status: 'released' }],
  })
  abandon.cancel(GENERATION)
  await abandon.drain()
  expect(log).toHaveLength(3)
})

test('a write-off settles at nothing and stops the worker, if it lives', async () => {
  const { abandon, log } = setUp({ settle: ['recorded'] })
  abandon.writeOff(GENERATION)
  await abandon.drain()
  expect(log).toEqual(['settle 2 fault 0', 'tell worker-1 7 2'])
})

test('a write-off reaches the epoch before, where a re-dispatch failed half-way', async () => {
  const { abandon, log } = setUp({ settle: ['stale', 'recorded'] })
  abandon.writeOff({ ...GENERATION, worker: null })
  await abandon.drain()
  expect(log).toEqual(['settle 2 fault 0', 'settle 1 fault 0'])
})

test('a release is repeated until billing answers', async () => {
  const { abandon, log } = setUp({ release: [new Error('no answer'), false] })
  abandon.release('g1')
  await abandon.drain()
  expect(log).toEqual(['release g1', 'release g1'])
})
