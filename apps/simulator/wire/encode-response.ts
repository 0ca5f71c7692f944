import type { PositionLogprobs } from '../sampling/logprobs.ts'
import type { Finish } from '../sampling/sampler.ts'
import { createProtobufWriter } from './protobuf-writer.ts'

/** New tokens of one choice. */
export type Delta = {
  readonly index: number
  readonly tokenIds: readonly number[]
  /** One for each token; null when not asked for. */
  readonly logprobs: readonly PositionLogprobs[] | null
  /** One for each prompt token, the first without a value; null when not asked for or already sent. */
  readonly promptLogprobs: readonly (PositionLogprobs | { readonly tokenId: number })[] | null
  readonly promptTokens: number
  readonly cachedTokens: number
}

// One message is written at a time, so all share one writer.
const writer = createProtobufWriter()

/** Field numbers of vllm_engine.proto: GenerateResponse.chunk = 1, GenerateStreamChunk. */
export function encodeChunk(delta: Delta): Buffer {
  writer.message(1, () => {
    writer.packedVarints(1, delta.tokenIds)
    writer.varint(2, delta.promptTokens)
    writer.varint(3, delta.tokenIds.length)
    writer.varint(4, delta.cachedTokens)
    writeOutputLogprobs(5, delta.logprobs)
    writeInputLogprobs(6, delta.promptLogprobs)
    writer.varint(7, delta.index)
  })
  return writer.finish()
}

/** GenerateResponse.complete = 2, GenerateComplete. */
export function encodeComplete(delta: Delta, finish: Finish): Buffer {
  writer.message(2, () => {
    writer.packedVarints(1, delta.tokenIds)
    writer.presentText(2, finish.reason)
    writer.varint(3, delta.promptTokens)
    writer.varint(4, delta.tokenIds.length)
    writer.varint(5, delta.cachedTokens)
    writeOutputLogprobs(6, delta.logprobs)
    writeInputLogprobs(7, delta.promptLogprobs)
    writer.varint(8, delta.index)
    if (finish.matchedTokenId !== undefined) writer.presentVarint(10, finish.matchedTokenId)
    if (finish.matchedStopString !== undefined) writer.presentText(11, finish.matchedStopString)
  })
  return writer.finish()
}

function writeOutputLogprobs(field: number, logprobs: Delta['logprobs']): void {
  if (logprobs === null) return
  writer.message(field, () => {
    writer.packedFloats(
      1,
      logprobs.map((position) => position.logprob),
    )
    writer.packedVarints(
      2,
      logprobs.map((position) => position.tokenId),
    )
    writeTop(logprobs.map((position) => position.top))
  })
}

function writeInputLogprobs(field: number, logprobs: Delta['promptLogprobs']): void {
  if (logprobs === null) return
  writer.message(field, () => {
    for (const position of logprobs) {
      writer.message(1, () => {
        if ('logprob' in position) writer.float(1, position.logprob)
      })
    }
    writer.packedVarints(
      2,
      logprobs.map((position) => position.tokenId),
    )
    writeTop(logprobs.map((position) => ('top' in position ? position.top : [])))
  })
}

/** No list at all when only the chosen tokens were asked for; otherwise one for each position. */
function writeTop(lists: readonly PositionLogprobs['top'][]): void {
  if (lists.every((list) => list.length === 0)) return
  for (const list of lists) {
    writer.message(3, () => {
      writer.packedFloats(
        1,
        list.map((entry) => entry.logprob),
      )
      writer.packedVarints(
        2,
        list.map((entry) => entry.tokenId),
      )
    })
  }
}
