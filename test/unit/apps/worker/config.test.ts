import { expect, test } from 'vitest'
import { WorkerConfig } from '#apps/worker/config.ts'
import { loadConfig } from '#libs/config/load-config.ts'

const ENGINE = { model: 'demo-chat', files: 'demo', engine: '127.0.0.1:50051' }

const load = (environment: Record<string, string>, engines: object[] = [ENGINE]) =>
  loadConfig(WorkerConfig, {
    QUEUE_REDIS_URL: 'redis://127.0.0.1:6379',
    BUS_REDIS_URL: 'redis://127.0.0.1:6379',
    WORKERS: JSON.stringify(engines),
    ...environment,
  })

test('outside Kubernetes a worker has no pod, and asks for no restart', () => {
  expect(load({})).toMatchObject({ ENGINE_SILENCE_MS: 60_000, ENGINE_START_LIMIT_MS: 1_800_000 })
  for (const name of ['POD_UID', 'NODE_NAME', 'POOL', 'ENGINE_RESTART_FILE']) {
    expect(load({})).not.toHaveProperty(name)
  }
})

test('a restart file is for one engine', () => {
  const environment = { ENGINE_RESTART_FILE: '/run/millrace/restart-engine' }
  expect(load(environment)).toMatchObject(environment)
  expect(() => load(environment, [ENGINE, ENGINE])).toThrow(
    /ENGINE_RESTART_FILE .*: it is for one engine, and WORKERS has several/,
  )
})
