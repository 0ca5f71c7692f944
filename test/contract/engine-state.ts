import { expect, onTestFinished } from 'vitest'
import type { SchedulerLoad__Output } from '#proto/types/vllm/grpc/engine/SchedulerLoad.ts'
import type { Transport } from '#apps/worker/engine/transport/transport.ts'
import { callGenerate, collect, reply, service } from './raw-calls.ts'

type Filler = { readonly call: ReturnType<typeof callGenerate>; readonly ended: Promise<unknown> }

/**
 * Fills all eight slots, until the end of the test at the latest. The calls do not stream, so that neither an engine nor
 * a test on a small machine is busy with their messages.
 */
export function fillEngine(client: Transport): Filler[] {
  const calls = Array.from({ length: 8 }, (_, i) =>
    callGenerate(client, {
      request_id: `filler-${i}`,
      tokenized: { input_ids: [5 + i, 6, 7] },
      sampling_params: { max_tokens: 2_000, ignore_eos: true },
      stream: false,
    }),
  )
  onTestFinished(() => {
    for (const call of calls) call.cancel()
  })
  return calls.map((call) => ({ call, ended: collect(call) }))
}

export async function stopFilling(client: Transport, fillers: readonly Filler[]): Promise<void> {
  for (const { call, ended } of fillers) {
    call.cancel()
    await ended
  }
  await untilIdle(client)
}

export async function abort(client: Transport, requestIds: string[]): Promise<void> {
  const { ending } = await reply(client, service.Abort, { requestIds })
  expect(ending.code).toBe('OK')
}

export async function health(client: Transport): Promise<unknown> {
  return (await reply(client, service.HealthCheck, {})).response
}

export async function loadOf(client: Transport): Promise<SchedulerLoad__Output> {
  const { response } = await reply(client, service.GetLoads, {})
  const load = response?.loads[0]
  if (load === undefined) throw new Error('GetLoads has no entry')
  return load
}

/** Polls the engine's load until the condition holds. */
export async function untilLoad(
  client: Transport,
  condition: (load: SchedulerLoad__Output) => boolean,
): Promise<void> {
  await expect.poll(async () => condition(await loadOf(client)), { timeout: 10_000, interval: 5 }).toBe(true)
}

export async function untilIdle(client: Transport): Promise<void> {
  await untilLoad(client, (load) => load.numTotalReqs === 0 && load.numUsedTokens === 0)
}
