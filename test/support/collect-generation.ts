import type { EngineClient, EngineRequest } from '#apps/worker/engine/engine-client.ts'

/** Runs one generation: its ids, in the groups in which they came, and the engine's end. `groups` has them while it runs. */
export async function collectGeneration(
  client: Pick<EngineClient, 'generate'>,
  request: EngineRequest,
  { signal = NEVER, groups = [] }: { signal?: AbortSignal; groups?: number[][] } = {},
) {
  const end = await client.generate(request, {
    signal,
    onTokens({ ids }) {
      groups.push([...ids])
      return true
    },
  })
  return { ids: groups.flat(), end }
}

const NEVER = new AbortController().signal
