import { expect, test } from 'vitest'
import type { Run } from '#apps/gateway/generation/generation-run.ts'
import { createReceiveVectors } from '#apps/gateway/generation/receive-vectors.ts'
import type { VectorsReady } from '#libs/contracts/generation-event.ts'
import { createStreamInbox } from '#libs/event-bus/stream-inbox.ts'
import { generationCall } from '../../../../support/generation-call.ts'
import { modelSpec } from '../../../../support/model-spec.ts'

const READY: VectorsReady = { type: 'vectors-ready', first: 2, count: 2, promptTokens: 7 }

function setUp(options: { received: number; gone?: boolean }) {
  const log: string[] = []
  const { inbox, feed } = createStreamInbox(7, () => undefined)
  const event = {
    type: 'generation-claimed',
    worker: 'w1',
    promptTokens: 9,
    after: 0,
    guided: false,
  } as const
  feed.accept({ stream: 7, epoch: 1, seq: 1, event, ids: [] }, 'w1')
  const model = modelSpec({ kind: 'embedding', embedding: { dimensions: 3, matryoshka: false } })
  const run: Pick<Run, 'inbox' | 'call' | 'vectors' | 'vectorsReceived'> = {
    inbox: Object.assign(inbox, { lose: (reason: string) => void log.push(`lose ${reason}`) }),
    call: generationCall({ model }),
    vectors: (vectors, promptTokens) => void log.push(`${vectors.length} vectors of ${promptTokens} tokens`),
    vectorsReceived: () => options.received,
  }
  const receive = createReceiveVectors({
    async readVectors(_key, { count, dimensions }) {
      if (options.gone === true) throw new Error('its vectors are gone')
      return Array.from({ length: count }, () => new Float32Array(dimensions))
    },
    gateway: 'g1',
    async sendTaken(worker) {
      log.push(`taken from ${worker}`)
      return true
    },
  })
  return { receive: async () => await receive(READY, run), log }
}

test('vectors are read, passed on and acknowledged', async () => {
  const { receive, log } = setUp({ received: 2 })
  await receive()
  expect(log).toEqual(['2 vectors of 7 tokens', 'taken from w1'])
})

test('vectors that an earlier worker had delivered are only acknowledged', async () => {
  const { receive, log } = setUp({ received: 4 })
  await receive()
  expect(log).toEqual(['taken from w1'])
})

test('vectors that cannot be read lose the run, which goes on elsewhere', async () => {
  const { receive, log } = setUp({ received: 2, gone: true })
  await receive()
  expect(log).toEqual(['lose frames-lost'])
})
