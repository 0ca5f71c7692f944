import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { expect, it, onTestFinished } from 'vitest'
import { always, AUTHORIZED, CHAT, createFedCore, END, serveApp, text } from './gateway-app.ts'

const core = always([text('Hi'), END])

/** Opens a connection that sends half a header and then waits. */
function open(port: number, localAddress = '127.0.0.1'): Socket {
  const socket = connect({ port, host: '127.0.0.1', localAddress })
  onTestFinished(() => void socket.destroy())
  socket.on('error', () => {})
  socket.write('GET /v1/models HTTP/1.1\r\n')
  return socket
}

it('half of all connections may come from one address; one beyond is closed, and the others stay', async () => {
  const { port, registry, app, chat } = await serveApp(core, { connections: 6 })
  const first = Array.from({ length: 3 }, () => open(port))
  await expect.poll(async () => await connectionsOf(app)).toBe(3)
  await once(open(port), 'close')
  expect(await registry.getSingleMetric('millrace_http_connections_refused_total')?.get()).toMatchObject({
    values: [{ labels: { bound: 'address' }, value: 1 }],
  })
  expect(first.every(({ destroyed }) => !destroyed)).toBe(true)
  for (const socket of first) socket.destroy()
  await expect.poll(async () => await connectionsOf(app)).toBe(0)
  expect((await chat(CHAT)).status).toBe(200)
})

it('beyond three quarters, the address with the most loses idle connections, never a request in progress', async () => {
  const fed = createFedCore()
  const { port, registry, app, chat, seconds } = await serveApp(fed.generate, { connections: 8 })
  const called = fed.nextCall()
  const answered = chat(CHAT)
  await called
  const first = open(port)
  const others = [open(port), open(port), ...[1, 2].map(() => open(port, '127.0.0.2'))]
  await expect.poll(async () => await connectionsOf(app)).toBe(6)
  seconds(1)
  others.push(open(port, '127.0.0.2'))
  await expect.poll(async () => await connectionsOf(app)).toBe(7)
  seconds(1)
  await once(first, 'close')
  await expect.poll(async () => await connectionsOf(app)).toBe(6)
  seconds(1)
  expect(others.every(({ destroyed }) => !destroyed)).toBe(true)
  expect(await registry.getSingleMetric('millrace_http_connections_refused_total')?.get()).toMatchObject({
    values: [{ labels: { bound: 'idle' }, value: 1 }],
  })
  fed.feed([text('Hi'), END])
  expect((await answered).status).toBe(200)
})

it('a client that does not read its answer loses the connection', async () => {
  const fed = createFedCore()
  const { port, app, seconds } = await serveApp(fed.generate, { lastReadS: 1 })
  const closed = once(app.server, 'connection').then(async ([socket]) => await once(socket, 'close'))
  const socket = connect(port, '127.0.0.1')
  onTestFinished(() => void socket.destroy())
  const body = JSON.stringify(CHAT)
  const called = fed.nextCall()
  socket.pause()
  socket.write(
    `POST /v1/chat/completions HTTP/1.1\r\nhost: a\r\nauthorization: ${AUTHORIZED.authorization}\r\n` +
      `content-length: ${body.length}\r\n\r\n${body}`,
  )
  const { signal } = await called
  // More than the buffers of both ends of the connection.
  fed.feed([text('x'.repeat(16_000_000)), END])
  await expect
    .poll(() => {
      seconds(1)
      return signal.aborted
    })
    .toBe(true)
  await closed
})

it('a trusted proxy may have all connections, and no more', async () => {
  const { port, registry, app } = await serveApp(core, { connections: 4, trustedProxies: ['127.0.0.0/8'] })
  Array.from({ length: 4 }, () => open(port))
  await expect.poll(async () => await connectionsOf(app)).toBe(4)
  await once(open(port), 'close')
  expect(await registry.getSingleMetric('millrace_http_connections_refused_total')?.get()).toMatchObject({
    values: [{ labels: { bound: 'all' }, value: 1 }],
  })
})

it('a connection stays open for the configured time after an answer, whatever time a request has', async () => {
  const { port } = await serveApp(core, { keepAliveTimeoutMs: 1_000, uploadMs: 200 })
  const socket = connect(port, '127.0.0.1')
  onTestFinished(() => void socket.destroy())
  socket.write('GET /health HTTP/1.1\r\nhost: a\r\n\r\n')
  const [answer] = await once(socket, 'data')
  const answeredMs = performance.now()
  expect(String(answer)).toMatch(/^HTTP\/1\.1 200 [^]*\r\nkeep-alive: timeout=1\r\n/i)
  socket.resume()
  await once(socket, 'close')
  expect(performance.now() - answeredMs).toBeGreaterThan(990)
})

async function connectionsOf({ server }: Awaited<ReturnType<typeof serveApp>>['app']): Promise<number> {
  const { promise, resolve, reject } = Promise.withResolvers<number>()
  server.getConnections((error, count) => (error === null ? resolve(count) : reject(error)))
  return await promise
}
