import { pino } from 'pino'
import { expect, test } from 'vitest'
import { createAbandon, type AbandonReason } from '#apps/gateway/generation/abandon.ts'
import type { Cancellation, SettleResult } from '#libs/generation-record/generation-record.ts'

const GENERATION = { id: 'g1', model: 'demo-chat', stream: 7 }
const RUN = { epoch: 2, worker: 'worker-1' }

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
  const { abandon, releaseHold, drain } = createAbandon({
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
    stopWorker: async (worker, { stream, epoch }) => void log.push(`stop ${worker} ${stream} ${epoch}`),
    giveUpAfterMs: 60_000,
    nowMs: () => Date.now(),
    log: pino({ level: 'silent' }),
  })
  return {
    abandon: (reason: AbandonReason, run: { epoch: number; worker: string | null } = RUN) =>
      abandon(GENERATION, { ...run, reason }),
    releaseHold,
    drain,
    log,
  }
}

test('a waiting generation whose caller left is cancelled, and no worker is asked', async () => {
  const { abandon, drain, log } = setUp({ cancel: [{ status: 'released' }] })
  abandon('caller-left')
  await drain()
  expect(log).toEqual(['cancel demo-chat g1'])
})

test('a running one is stopped at the worker that the record names, and its settlement is awaited', async () => {
  const { abandon, drain, log } = setUp({
    cancel: [{ status: 'claimed', worker: 'worker-2' }, { status: 'settled' }],
  })
  abandon('caller-left')
  await drain()
  expect(log).toEqual(['cancel demo-chat g1', 'stop worker-2 7 2', 'cancel demo-chat g1'])
})

test('a worker that does not settle after it was asked to stop has lost the generation: it is settled at 0', async () => {
  const claimed = { status: 'claimed', worker: 'worker-2' } as const
  const { abandon, drain, log } = setUp({
    cancel: [claimed, claimed, claimed, claimed],
    settle: ['recorded'],
  })
  abandon('caller-left')
  await drain()
  expect(log.at(-1)).toBe('settle 2 fault 0')
  expect(log.filter((step) => step.startsWith('cancel'))).toHaveLength(4)
})

test('a refused generation is settled at 0, also when a worker has claimed it in the meantime', async () => {
  const { abandon, drain, log } = setUp({
    cancel: [{ status: 'claimed', worker: 'worker-2' }],
    settle: ['recorded'],
  })
  abandon('refused')
  await drain()
  expect(log).toEqual(['cancel demo-chat g1', 'settle 2 fault 0', 'stop worker-2 7 2'])
})

test('a cancellation is repeated until it is answered', async () => {
  const { abandon, drain, log } = setUp({
    cancel: [new Error('Command timed out'), new Error('Connection is closed.'), { status: 'released' }],
  })
  abandon('caller-left')
  await drain()
  expect(log).toHaveLength(3)
})

test('a lost generation is settled at 0, and its worker is asked to stop', async () => {
  const { abandon, drain, log } = setUp({ settle: ['recorded'] })
  abandon('lost')
  await drain()
  expect(log).toEqual(['settle 2 fault 0', 'stop worker-1 7 2'])
})

test('a lost one is settled in the previous epoch where a requeueing failed half-way', async () => {
  const { abandon, drain, log } = setUp({ settle: ['stale', 'recorded'] })
  abandon('lost', { epoch: 2, worker: null })
  await drain()
  expect(log).toEqual(['settle 2 fault 0', 'settle 1 fault 0'])
})

test('a release is repeated until billing answers', async () => {
  const { releaseHold, drain, log } = setUp({ release: [new Error('no answer'), false] })
  releaseHold('g1')
  await drain()
  expect(log).toEqual(['release g1', 'release g1'])
})
