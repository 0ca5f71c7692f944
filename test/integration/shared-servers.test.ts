import { createServer, type Server } from 'node:http'
import { join } from 'node:path'
import { Redis } from 'ioredis'
import { Client } from 'pg'
import { beforeAll, expect, onTestFinished, test, vi } from 'vitest'
import { scratchFolder } from '#test/support/run-folder.ts'
import { startSharedServers } from '#test/support/shared-servers.ts'
import { startTogether } from '#test/support/start-together.ts'

/** The images that the fake Docker engine was asked to pull. */
const pulled: string[] = []

// Testcontainers keeps the first engine that it finds until the process ends, so all tests share one engine.
beforeAll(async () => {
  const socket = join(scratchFolder('engine'), 'docker.sock')
  const engine = createEngineWithoutImages()
  engine.listen(socket)
  vi.stubEnv('DOCKER_HOST', `unix://${socket}`)
  // The address of the containers. Without this variable, Testcontainers asks the engine for its networks.
  vi.stubEnv('TESTCONTAINERS_HOST_OVERRIDE', '127.0.0.1')
  // The variable is not set outside of `npm run test:containers`.
  vi.stubEnv('MILLRACE_TEST_MUST_USE_CONTAINERS', undefined)
  return () => {
    vi.unstubAllEnvs()
    engine.close()
    engine.closeAllConnections()
  }
})

test('an engine that answers but has no images: the servers run as processes, and one line gives the reason', async () => {
  const lines: string[] = []
  const servers = await startSharedServers((line) => lines.push(line))
  onTestFinished(() => servers.stop())
  expect(pulled.toSorted()).toEqual(['postgres', 'redis'])
  expect(lines).toEqual([expect.stringMatching(/^Redis and PostgreSQL run as processes, .*no registry/)])
  const redis = new Redis(servers.redisUrl)
  onTestFinished(() => redis.disconnect())
  expect(await redis.ping()).toBe('PONG')
  const client = new Client({ connectionString: servers.postgresUrl })
  await client.connect()
  expect((await client.query('select 1 as x')).rows).toEqual([{ x: 1 }])
  await client.end()
})

test('a run that must use containers fails where they do not start', async () => {
  vi.stubEnv('MILLRACE_TEST_MUST_USE_CONTAINERS', 'yes')
  onTestFinished(() => void vi.stubEnv('MILLRACE_TEST_MUST_USE_CONTAINERS', undefined))
  const lines: string[] = []
  await expect(startSharedServers((line) => lines.push(line))).rejects.toThrow('no registry')
  expect(lines).toEqual([])
})

test('when one server does not start, the other is stopped, also when it starts later', async () => {
  const stopped: string[] = []
  const slow = Promise.withResolvers<{ stop(): Promise<void> }>()
  const servers = startTogether([
    Promise.resolve(server('first')),
    Promise.reject(new Error('no such image')),
    slow.promise,
  ])
  slow.resolve(server('slow'))
  await expect(servers).rejects.toThrow('no such image')
  expect(stopped).toEqual(['first', 'slow'])

  function server(name: string) {
    return { stop: async () => void stopped.push(name) }
  }
})

test('a server that does not stop is reported together with the one that did not start', async () => {
  const stuck = { stop: () => Promise.reject(new Error('still running')) }
  const servers = startTogether([Promise.reject(new Error('no such image')), Promise.resolve(stuck)])
  await expect(servers).rejects.toMatchObject({
    errors: [new Error('no such image'), new Error('still running')],
  })
})

/** Creates the part of Docker's API that is used until an image turns out to be missing. */
function createEngineWithoutImages(): Server {
  return createServer((request, response) => {
    const url = new URL(request.url ?? '/', 'http://engine')
    const answer = (status: number, body: unknown) =>
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
    if (request.method === 'GET' && url.pathname.endsWith('/info')) {
      return answer(200, { ServerVersion: '25.0.0', OperatingSystem: 'Debian', OSType: 'linux', Labels: [] })
    }
    if (request.method === 'POST' && url.pathname.endsWith('/images/create')) {
      pulled.push(url.searchParams.get('fromImage') ?? '')
      return answer(500, { message: 'no registry can be reached' })
    }
    return answer(404, { message: `no such thing: ${url.pathname}` })
  })
}
