import { Redis } from 'ioredis'
import { expect, onTestFinished } from 'vitest'
import { expectBalancedBooks } from '../support/books.ts'
import { chat, chatOk } from '../support/chat.ts'
import { test } from '../support/cluster-test.ts'
import { startOwnGateway } from '../support/own-parts.ts'

const MODEL = 'demo-chat'

test('a gateway of another cell on the same Redis sees no worker of this one, and disturbs nothing', async ({
  cluster,
  account,
}) => {
  const other = await startOwnGateway(cluster, { CELL: 'north', LOG_LEVEL: 'debug' })
  onTestFinished(other.stop)
  const call = { apiKey: account.apiKey, model: MODEL, content: 'Hello' }
  expect(await chat({ ...call, baseUrl: other.baseUrl })).toMatchObject({
    status: 503,
    error: { code: 'model_unavailable' },
  })
  expect((await chatOk({ ...call, baseUrl: cluster.baseUrl })).text).toContain('You said: Hello')

  const redis = new Redis(cluster.redisUrl)
  onTestFinished(() => redis.disconnect())
  const names = [...(await redis.keys('*')), ...(await redis.pubsub('CHANNELS', '*')).map(String)]
  const cells = names.map((name) => name.split(':').slice(0, 2).join(':'))
  expect(new Set(cells)).toEqual(new Set(['mr2:main', 'mr2:north']))
  await expectBalancedBooks(cluster, [account])
})
