import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { expect, it, onTestFinished } from 'vitest'
import { always, CHAT, END, serveApp, text } from './gateway-app.ts'

const core = always([text('Hi'), END])

/** Opens a connection that sends half a header and then waits. */
function open(port: number): Socket {
  const socket = connect(port, '127.0.0.1')
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
