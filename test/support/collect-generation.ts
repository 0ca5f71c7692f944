import type { EngineClient, EngineRequest } from '#apps/worker/engine/engine-client.ts'

/** Collects a generation's ids and its end. Pass `ids` to read the ids even if the call rejects. */
export async function collectGeneration(
  client: Pick<EngineClient, 'generate'>,
  request: EngineRequest,
  { signal = NEVER, ids = [] }: { signal?: AbortSignal; ids?: number[] } = {},
) {
  const end = await client.generate(request, {
    signal,
    onTokens(tokens) {
      for (const id of tokens.ids) ids.push(id)
      return true
    },
  })
  return { ids, end }
}

const NEVER = new AbortController().signal
