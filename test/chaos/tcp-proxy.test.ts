import { once } from 'node:events'
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net'
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises'
import { afterEach, beforeEach, expect, onTestFinished, test, vi } from 'vitest'
import { freePort } from '../support/free-port.ts'
import { startTcpProxy, type TcpProxy } from '../support/faulty-cluster/tcp-proxy.ts'

let server: Server
let accepted: Socket[]
let proxy: TcpProxy

/** The server behind the proxy echoes everything. */
beforeEach(async () => {
  accepted = []
  server = createServer((socket) => {
    accepted.push(socket)
    socket.on('error', () => {})
    socket.pipe(socket)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  proxy = await startTcpProxy([
    { host: '127.0.0.1', port: await freePort() },
    { host: '127.0.0.1', port: portOf(server) },
  ])
})

afterEach(async () => {
  await proxy.close()
  for (const socket of accepted) socket.destroy()
  server.close()
})

test('an open link passes everything in order, to the first target that accepts, also its end', async () => {
  const socket = await open()
  const text = 'x'.repeat(3_000_000)
  socket.end(text)
  expect(await readAll(socket)).toBe(text)
})

test('a cut resets connections, and new ones pass', async () => {
  const socket = await open()
  const broken = once(socket, 'error')
  proxy.cut()
  expect(String(await broken)).toContain('ECONNRESET')
  const next = await open()
  next.end('again')
  expect(await readAll(next)).toBe('again')
})

test('a delayed link keeps the order, also when the delay ends', async () => {
  const socket = await open()
  await echo(socket, 'a')
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] })
  onTestFinished(() => void vi.useRealTimers())
  const pieces: unknown[] = []
  socket.on('data', (piece) => pieces.push(piece))
  proxy.setState({ kind: 'delayed', ms: 100 })
  socket.write('b')
  // When the proxy's timer exists, the data is in the proxy. `expect.poll` would move the fake clock.
  while (vi.getTimerCount() < 1) await nextTurn()
  proxy.setState({ kind: 'open' })
  socket.end('c')
  vi.advanceTimersByTime(99)
  // Without the rest of the delay, the data would have arrived in this time.
  await sleep(100)
  expect(pieces).toEqual([])
  vi.advanceTimersByTime(1)
  await once(socket, 'end')
  expect(pieces.join('')).toBe('bc')
})

test('a stalled link loses nothing', async () => {
  const socket = await open()
  proxy.setState({ kind: 'stalled' })
  socket.end('waits')
  const read = readAll(socket)
  const early = await Promise.race([read, sleep(100, 'nothing yet')])
  expect(early).toBe('nothing yet')
  proxy.setState({ kind: 'open' })
  expect(await read).toBe('waits')
})

test('a half-open link swallows what is sent and hides the end of the other side; then it is reset', async () => {
  const socket = await open()
  await echo(socket, 'before')
  proxy.setState({ kind: 'half-open' })
  socket.write('lost')
  const broken = once(socket, 'error')
  for (const each of accepted) each.destroy()
  const early = await Promise.race([broken, sleep(100, 'silence')])
  expect(early).toBe('silence')
  proxy.setState({ kind: 'open' })
  expect(String(await broken)).toContain('ECONNRESET')
})

test('a refusing link resets every connection', async () => {
  const before = await open()
  const broken = once(before, 'error')
  proxy.setState({ kind: 'refused' })
  await broken
  const socket = connect(proxy.port, '127.0.0.1')
  expect(String(await once(socket, 'error'))).toContain('ECONNRESET')
})

async function open(): Promise<Socket> {
  const socket = connect(proxy.port, '127.0.0.1')
  socket.on('error', () => {})
  await once(socket, 'connect')
  return socket
}

async function echo(socket: Socket, text: string): Promise<void> {
  socket.write(text)
  expect(String(await once(socket, 'data'))).toBe(text)
}

async function readAll(socket: Socket): Promise<string> {
  let text = ''
  for await (const piece of socket) text += String(piece)
  return text
}

function portOf(listening: Server): number {
  const address: AddressInfo | string | null = listening.address()
  if (address === null || typeof address === 'string') throw new Error('no port')
  return address.port
}
