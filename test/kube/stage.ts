import type { Values } from '../chart/chart-values.ts'
import { startFakeGateway, type FakeGateway } from '../integration/scaler/fake-gateway.ts'
import { createRedis, type TestRedis } from '../support/redis.ts'
import { startFakeWorkers, type FakeWorkers } from './fake-workers.ts'
import { openRelease, type Release } from './open-release.ts'

export type Stage = Release & {
  readonly queue: TestRedis
  readonly bus: TestRedis
  readonly workers: FakeWorkers
  readonly gateway: FakeGateway
}

/** Opens a release with two Redis servers of its own, fake workers and a fake gateway. */
export async function openStage(options: {
  models: Readonly<Record<string, Values>>
  values?: Values
  scalers?: number
  generationMs?: number
  loadMs?: (model: string) => number
}): Promise<Stage> {
  const { generationMs = 2_000, loadMs = () => 0, ...rest } = options
  const [queue, bus] = await Promise.all([createRedis(), createRedis()])
  const urls = { queueUrl: queue.url, busUrl: bus.url }
  const workers = await startFakeWorkers({ ...urls, generationMs, loadMs })
  const gateway = startFakeGateway(bus.url)
  const release = await openRelease({ ...rest, ...urls, follow: workers.follow })
  return {
    ...release,
    queue,
    bus,
    workers,
    gateway,
    async close() {
      await release.close()
      gateway.stop()
      await workers.stop()
      await Promise.all([queue.stop(), bus.stop()])
    },
  }
}
