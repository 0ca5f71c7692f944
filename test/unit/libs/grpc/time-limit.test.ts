import { credentials, Server, ServerCredentials, status, type ServerUnaryCall } from '@grpc/grpc-js'
import { afterEach, expect, onTestFinished, test, vi } from 'vitest'
import { callUnary } from '#libs/grpc/call-unary.ts'
import { loadProto } from '#libs/grpc/load-proto.ts'
import type { ProtoGrpcType } from '#proto/types/vllm_engine.ts'

const { VllmEngine } = loadProto<ProtoGrpcType>('vllm_engine.proto').vllm.grpc.engine

const HOUR_MS = 3_600_000

afterEach(() => {
  vi.useRealTimers()
})

/** Moves only the dates. Timers are not affected, as on a machine whose clock is set. */
function stepClock(byMs: number): void {
  vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + byMs })
}

const isWithin = (limitMs: number) => (ms: number | undefined) => ms !== undefined && ms > 0 && ms <= limitMs

/**
 * Starts a server. If `answers`, it answers health checks. `limits` has the time limit that the client sent with each
 * call.
 */
async function startServer({ answers }: { answers: boolean }) {
  const limits: number[] = []
  const server = new Server()
  server.addService(VllmEngine.service, {
    HealthCheck(call: ServerUnaryCall<object, object>, callback: (error: null, answer: object) => void) {
      limits.push(Number(call.getDeadline()) - Date.now())
      if (answers) callback(null, { healthy: true })
    },
  })
  const port = await new Promise<number>((resolve, reject) => {
    server.bindAsync('127.0.0.1:0', ServerCredentials.createInsecure(), (error, bound) =>
      error === null ? resolve(bound) : reject(error),
    )
  })
  const client = new VllmEngine(`127.0.0.1:${port}`, credentials.createInsecure())
  onTestFinished(() => {
    client.close()
    server.forceShutdown()
  })
  return { limits, checkHealth: client.HealthCheck.bind(client) }
}

test.each([-HOUR_MS, -60_000, HOUR_MS])(
  'a call whose connection is not open yet is answered although the clock steps by %d ms',
  async (byMs) => {
    const { checkHealth, limits } = await startServer({ answers: true })
    const answer = callUnary(checkHealth, {}, { timeoutMs: 30_000 })
    stepClock(byMs)
    expect(await answer).toMatchObject({ healthy: true })
    expect(limits[0]).toSatisfy(isWithin(30_000))
  },
)

test('a call that is not answered ends at its limit by whatever the clock has stepped', async () => {
  const { checkHealth, limits } = await startServer({ answers: false })
  const answer = callUnary(checkHealth, {}, { timeoutMs: 2_000 })
  stepClock(-HOUR_MS)
  await expect(answer).rejects.toMatchObject({ code: status.DEADLINE_EXCEEDED })
  // The server must get the limit too, or it would keep working after the client has given up.
  expect(limits[0]).toSatisfy(isWithin(2_000))
})

test('a call that its caller cancels ends as cancelled', async () => {
  const { checkHealth, limits } = await startServer({ answers: false })
  const leaving = new AbortController()
  const answer = callUnary(checkHealth, {}, { timeoutMs: 60_000, signal: leaving.signal })
  await expect.poll(() => limits.length).toBe(1)
  leaving.abort()
  await expect(answer).rejects.toMatchObject({ code: status.CANCELLED })
})
