import { connect, startReplica, type SettlementReplica } from './settlement-replica.ts'
import { test as base } from './own-database-test.ts'
import { createRedis } from '#test/support/redis.ts'

type Options = Omit<Partial<Parameters<typeof startReplica>[0]>, 'database'>

/**
 * A `test` for the consumers of settlements. Each test has a database of its own, and the file's Redis, which is empty
 * at its start. `start` starts a replica, which stops before the books are reconciled.
 */
export const test = base
  .extend('server', { scope: 'file' }, async ({}, { onCleanup }) => {
    const server = await createRedis()
    onCleanup(() => server.stop())
    return server
  })
  .extend('connection', { scope: 'file' }, ({ server }, { onCleanup }) => {
    const connection = connect(server.url)
    onCleanup(() => connection.disconnect())
    return connection
  })
  .extend('redis', { auto: true }, async ({ connection }) => {
    await connection.flushall()
    return connection
  })
  .extend('start', ({ database, server }, { onCleanup }) => {
    const running = new Set<SettlementReplica>()
    onCleanup(async () => void (await Promise.all([...running].map((replica) => replica.stop()))))
    return (options: Options = {}): SettlementReplica => {
      const started = startReplica({ database, redis: { mode: 'single', url: server.url }, ...options })
      const replica = {
        ...started,
        async stop() {
          running.delete(replica)
          await started.stop()
        },
      }
      running.add(replica)
      return replica
    }
  })
