import { pino } from 'pino'
import { expect, test } from 'vitest'
import { createClaimTicket } from '#apps/worker/claim-ticket.ts'
import { GenerationJob } from '#libs/contracts/generation-job.ts'
import type { Claim } from '#libs/generation-record/generation-record.ts'
import { generationJob } from '../../../support/generation-job.ts'

const TICKET = { id: 'g1', epoch: 2 }

function setUp(answers: (Claim | Error)[], clock: () => number = Date.now) {
  const log: string[] = []
  const claim = createClaimTicket({
    record: {
      async claim(_model, { id, epoch }, worker) {
        log.push(`claim ${id} ${epoch} ${worker}`)
        const answer = answers.shift()
        if (answer === undefined || answer instanceof Error) throw answer ?? new Error('no more answers')
        return answer
      },
      async settle(_model, { id, epoch, outcome }) {
        log.push(`settle ${id} ${epoch} ${outcome}`)
        return 'recorded'
      },
    },
    worker: 'worker-1',
    nowMs: clock,
    log: pino({ level: 'silent' }),
  })
  return { claim, log }
}

test('a claim whose answer came too late is asked for again', async () => {
  const job = generationJob()
  const { claim, log } = setUp([new Error('Command timed out'), { status: 'claimed', job }])
  expect(await claim('demo-chat', TICKET)).toEqual({ status: 'claimed', job })
  expect(log).toEqual(['claim g1 2 worker-1', 'claim g1 2 worker-1'])
})

test('a job that this version cannot parse is settled without a charge', async () => {
  const { error } = GenerationJob.safeParse({ id: 7 })
  const { claim, log } = setUp([error ?? new Error('the job could be read')])
  expect(await claim('demo-chat', TICKET)).toEqual({ status: 'settled' })
  expect(log).toEqual(['claim g1 2 worker-1', 'settle g1 2 fault'])
})

test('a claim that is never answered is given up after 30 s', async () => {
  let now = 0
  const { claim } = setUp([new Error('Connection is closed.')], () => (now += 40_000))
  await expect(claim('demo-chat', TICKET)).rejects.toThrow('Connection is closed.')
})
