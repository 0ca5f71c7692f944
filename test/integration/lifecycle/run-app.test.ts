import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createServer } from 'node:http'
import { createInterface } from 'node:readline'
import { expect, onTestFinished, test } from 'vitest'

/** The code of an app whose shutdown lasts until its standard input ends, as if it drained a stream. */
const APP = `
import { once } from 'node:events'
import { z } from 'zod'
import { runApp } from '#libs/lifecycle/run-app.ts'
const schema = z.object({ LOG_LEVEL: z.string().default('info') })
await runApp({ name: 'app', schema, environment: {} }, async ({ log, releasers }) => {
  const release = async () => {
    process.stdin.resume()
    await once(process.stdin, 'end')
  }
  releasers.add('stream', null, { run: release, limitMs: 60_000 })
  // As a server that listens.
  setInterval(() => {}, 60_000)
  process.on('SIGTERM', () => log.info('got SIGTERM'))
  process.on('SIGINT', () => log.info('got SIGINT'))
  process.on('SIGUSR2', () => Promise.reject(new Error('a bug')))
  log.info('started')
})
`

async function startApp() {
  const child = spawn(process.execPath, ['--input-type=module', '--eval', APP], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  onTestFinished(() => void child.kill('SIGKILL'))
  const exited = once(child, 'exit')
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
  /** Resolves when the app has logged this text. */
  async function untilLogged(text: string): Promise<void> {
    for (;;) {
      const { value, done } = await lines.next()
      if (done === true) throw new Error(`the app ended before it logged ${text}`)
      if (value.includes(`"${text}"`)) return
    }
  }
  await untilLogged('started')
  return {
    untilLogged,
    signal: (signal: NodeJS.Signals) => child.kill(signal),
    endWork: () => child.stdin.end(),
    /** Resolves with the app's exit code. */
    exited: async () => (await exited)[0],
  }
}

test('further SIGTERMs change nothing: the app ends when its work has', async () => {
  const app = await startApp()
  for (const _ of [1, 2, 3]) {
    app.signal('SIGTERM')
    await app.untilLogged('got SIGTERM')
  }
  app.endWork()
  await app.untilLogged('stopped')
  expect(await app.exited()).toBe(0)
})

test('a second SIGINT ends it at once, whatever SIGTERMs there were', async () => {
  const app = await startApp()
  app.signal('SIGTERM')
  await app.untilLogged('got SIGTERM')
  app.signal('SIGINT')
  await app.untilLogged('got SIGINT')
  app.signal('SIGINT')
  expect(await app.exited()).toBe(130)
})

test('a bug while it stops ends it at once', async () => {
  const app = await startApp()
  app.signal('SIGTERM')
  await app.untilLogged('got SIGTERM')
  app.signal('SIGUSR2')
  expect(await app.exited()).toBe(1)
})

test('a proxy of the environment gets no request of an app', async () => {
  const requests: string[] = []
  const server = createServer((request, response) => {
    requests.push(`${request.method} ${request.url}`)
    request.resume()
    response.end('{}')
  }).listen(0, '127.0.0.1')
  onTestFinished(() => void server.close())
  await once(server, 'listening')
  const address = server.address()
  const url = `http://127.0.0.1:${typeof address === 'object' ? address?.port : ''}`
  const code = `
import { z } from 'zod'
import { runApp } from '#libs/lifecycle/run-app.ts'
import { openTracing } from '#libs/lifecycle/open-tracing.ts'
const schema = z.object({ LOG_LEVEL: z.string().default('info') })
await runApp({ name: 'app', schema, environment: {} }, async ({ log, releasers }) => {
  const config = { OTLP_ENDPOINT: '${url}', TRACE_RATIO: 1 }
  const tracing = await openTracing('app', { instance: 'one', config, log, releasers })
  tracing.start('span').end()
  await fetch('${url}/fetched')
  // As a server that listens: the signal arrives later.
  setInterval(() => {}, 60_000)
  process.kill(process.pid, 'SIGTERM')
})`
  const nowhere = 'http://127.0.0.1:1'
  const child = spawn(process.execPath, ['--input-type=module', '--eval', code], {
    stdio: ['ignore', 'ignore', 'inherit'],
    env: {
      PATH: process.env['PATH'],
      NODE_USE_ENV_PROXY: '1',
      http_proxy: nowhere,
      https_proxy: nowhere,
      HTTP_PROXY: nowhere,
      no_proxy: 'example.org',
    },
  })
  onTestFinished(() => void child.kill('SIGKILL'))
  expect((await once(child, 'exit'))[0]).toBe(0)
  expect(requests.toSorted()).toEqual(['GET /fetched', 'POST /v1/traces'])
})
