import type { Finish } from '../sampling/sampler.ts'
import { createProtobufWriter } from './protobuf-writer.ts'

/** The tokens since the last chunk. */
export type Delta = {
  readonly tokenIds: readonly number[]
  readonly promptTokens: number
  readonly cachedTokens: number
}

// One message is written at a time, so all share one writer.
const writer = createProtobufWriter()

/** Field numbers of vllm_engine.proto: GenerateResponse.chunk = 1, GenerateStreamChunk. */
export function encodeChunk({ tokenIds, promptTokens, cachedTokens }: Delta): Buffer {
  writer.message(1, () => {
    writer.packedVarints(1, tokenIds)
    writer.varint(2, promptTokens)
    writer.varint(3, tokenIds.length)
    writer.varint(4, cachedTokens)
  })
  return writer.finish()
}

/** GenerateResponse.complete = 2, GenerateComplete. */
export function encodeComplete({ tokenIds, promptTokens, cachedTokens }: Delta, finish: Finish): Buffer {
  writer.message(2, () => {
    writer.packedVarints(1, tokenIds)
    writer.presentText(2, finish.reason)
    writer.varint(3, promptTokens)
    writer.varint(4, tokenIds.length)
    writer.varint(5, cachedTokens)
    if (finish.matchedTokenId !== undefined) writer.presentVarint(10, finish.matchedTokenId)
    if (finish.matchedStopString !== undefined) writer.presentText(11, finish.matchedStopString)
  })
  return writer.finish()
}
