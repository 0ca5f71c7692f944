import { expect } from 'vitest'
import type { GetLoadsResponse__Output } from '#proto/types/vllm/grpc/engine/GetLoadsResponse.ts'
import type { SchedulerLoad__Output } from '#proto/types/vllm/grpc/engine/SchedulerLoad.ts'
import type { VllmEngineClient } from '#proto/types/vllm/grpc/engine/VllmEngine.ts'
import { callGenerate, collect, reply } from './engine-under-test.ts'

type Filler = { readonly call: ReturnType<typeof callGenerate>; readonly ended: Promise<unknown> }

/** Takes all eight places. */
export function fillEngine(client: VllmEngineClient): Filler[] {
  const calls = Array.from({ length: 8 }, (_, i) =>
    callGenerate(client, {
      request_id: `filler-${i}`,
      tokenized: { input_ids: [5 + i, 6, 7] },
      sampling_params: { max_tokens: 2_000, ignore_eos: true },
      stream: true,
    }),
  )
  return calls.map((call) => ({ call, ended: collect(call) }))
}

export async function stopFilling(client: VllmEngineClient, fillers: readonly Filler[]): Promise<void> {
  for (const { call, ended } of fillers) {
    call.cancel()
    await ended
  }
  await untilIdle(client)
}

export async function abort(client: VllmEngineClient, requestIds: string[]): Promise<void> {
  const { ending } = await reply(client.abort.bind(client), { requestIds })
  expect(ending.code).toBe('OK')
}

export async function health(client: VllmEngineClient): Promise<unknown> {
  return (await reply(client.healthCheck.bind(client), {})).response
}

export async function loadOf(client: VllmEngineClient): Promise<SchedulerLoad__Output> {
  const { response } = await reply<object, GetLoadsResponse__Output>(client.getLoads.bind(client), {})
  const load = response?.loads[0]
  if (load === undefined) throw new Error('GetLoads has no entry')
  return load
}

/** Polls the engine's counts, as its clients do. */
export async function untilLoad(
  client: VllmEngineClient,
  condition: (load: SchedulerLoad__Output) => boolean,
): Promise<void> {
  await expect.poll(async () => condition(await loadOf(client)), { timeout: 10_000, interval: 5 }).toBe(true)
}

export async function untilIdle(client: VllmEngineClient): Promise<void> {
  await untilLoad(client, (load) => load.numTotalReqs === 0 && load.numUsedTokens === 0)
}
