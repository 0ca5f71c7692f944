import { once } from 'node:events'
import { createServer } from 'node:net'
import { Server } from '@grpc/grpc-js'
import { expect, onTestFinished, test, vi } from 'vitest'
import { formatHostPort } from '#libs/config/host-port.ts'
import { callUnary } from '#libs/grpc/call-unary.ts'
import { loadProto } from '#libs/grpc/load-proto.ts'
import { openGrpcClient, toGrpcTarget } from '#libs/grpc/open-client.ts'
import { bindGrpc } from '#libs/grpc/serve-grpc.ts'
import type { ProtoGrpcType } from '#proto/types/vllm_engine.ts'

const { VllmEngine } = loadProto<ProtoGrpcType>('vllm_engine.proto').vllm.grpc.engine

test.each([
  ['billing:50090', 'dns:billing:50090'],
  // Here the host has the name of a scheme.
  ['dns:50090', 'dns:dns:50090'],
  ['10.0.0.1:1', 'ipv4:10.0.0.1:1'],
  ['10.0.0.1:1,10.0.0.2:2', 'ipv4:10.0.0.1:1,10.0.0.2:2'],
  ['[::1]:1,[::2]:2', 'ipv6:[::1]:1,[::2]:2'],
])('the target of %s is %s', (address, target) => {
  expect(toGrpcTarget(address)).toBe(target)
})

test.each(['billing:1,other:2', '10.0.0.1:1,[::1]:1', 'billing'])('%s is no target', (address) => {
  expect(() => toGrpcTarget(address)).toThrow('expected')
})

async function serveEngine(host: string): Promise<number> {
  const server = new Server()
  server.addService(VllmEngine.service, {
    HealthCheck: (_: unknown, answer: Answer) => answer(null, { healthy: true }),
  })
  onTestFinished(() => server.forceShutdown())
  return await bindGrpc(server, formatHostPort({ host, port: 0 }))
}

type Answer = (error: null, message: { healthy: boolean }) => void

async function isHealthy(address: string): Promise<boolean> {
  const client = openGrpcClient(VllmEngine, address)
  onTestFinished(() => client.close())
  const { healthy } = await callUnary<object, { healthy: boolean }>(
    (request, metadata, answer) => client.HealthCheck(request, metadata, answer),
    {},
    { timeoutMs: 20_000 },
  )
  return healthy
}

test.each([
  ['::1', '::1'],
  ['::', '127.0.0.1'],
  ['::', '::1'],
  ['127.0.0.1', '127.0.0.1'],
])('a server on %s is reached at %s', async (host, at) => {
  const port = await serveEngine(host)
  expect(await isHealthy(formatHostPort({ host: at, port }))).toBe(true)
})

test('a proxy of the environment is not used', async () => {
  let connections = 0
  const proxy = createServer((socket) => {
    connections += 1
    socket.destroy()
  }).listen(0, '127.0.0.1')
  await once(proxy, 'listening')
  onTestFinished(() => void proxy.close())
  const address = proxy.address()
  const port = typeof address === 'object' ? address?.port : 0
  for (const name of ['grpc_proxy', 'http_proxy', 'https_proxy', 'all_proxy']) {
    vi.stubEnv(name, `http://127.0.0.1:${port}`)
  }
  onTestFinished(() => void vi.unstubAllEnvs())
  expect(await isHealthy(`127.0.0.1:${await serveEngine('127.0.0.1')}`)).toBe(true)
  expect(connections).toBe(0)
})
