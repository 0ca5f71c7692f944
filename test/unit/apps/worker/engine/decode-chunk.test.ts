import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { decodeChunk } from '#apps/worker/engine/decode-chunk.ts'
import { loadProto } from '#libs/grpc/load-proto.ts'
import type { GenerateResponse } from '#proto/types/vllm/grpc/engine/GenerateResponse.ts'
import type { InputLogProbs__Output } from '#proto/types/vllm/grpc/engine/InputLogProbs.ts'
import type { OutputLogProbs__Output } from '#proto/types/vllm/grpc/engine/OutputLogProbs.ts'
import type { GenerateResponse__Output } from '#proto/types/vllm/grpc/engine/GenerateResponse.ts'
import type { ProtoGrpcType } from '#proto/types/vllm_engine.ts'
import { runs } from '#test/support/long.ts'
import { recordings } from './recordings.ts'

const { Generate } = loadProto<ProtoGrpcType>('vllm_engine.proto').vllm.grpc.engine.VllmEngine.service
const encode = (message: GenerateResponse) => Generate.responseSerialize(message)

/** Decodes the same bytes with the reflection decoder, and returns the result with our names. */
function byReflection(bytes: Buffer) {
  const { chunk, complete }: GenerateResponse__Output = Generate.responseDeserialize(bytes)
  if (chunk) {
    const { tokenIds: ids, promptTokens, completionTokens, cachedTokens } = chunk
    return {
      type: 'chunk',
      ids,
      promptTokens,
      completionTokens,
      cachedTokens,
      ...toLogprobs(chunk.outputLogprobs),
      ...toPromptLogprobs(chunk.inputLogprobs),
    }
  }
  if (!complete) throw new Error('neither chunk nor complete')
  const { finishReason, promptTokens, completionTokens, cachedTokens, matchedStop } = complete
  return {
    type: 'complete',
    finishReason,
    promptTokens,
    completionTokens,
    cachedTokens,
    matchedTokenId: matchedStop === 'matchedTokenId' ? complete.matchedTokenId : null,
    matchedStop: matchedStop === 'matchedStopStr' ? complete.matchedStopStr : null,
  }
}

function toLogprobs(message: OutputLogProbs__Output | null) {
  if (message === null) return {}
  const logprobs = message.tokenLogprobs.map((logprob, at) => ({
    logprob,
    topIds: message.topLogprobs[at]?.tokenIds ?? [],
    topLogprobs: message.topLogprobs[at]?.values ?? [],
  }))
  return { logprobs }
}

function toPromptLogprobs(message: InputLogProbs__Output | null) {
  if (message === null) return {}
  const promptLogprobs = message.tokenLogprobs.map(({ value }, at) => ({
    logprob: value ?? null,
    topIds: message.topLogprobs[at]?.tokenIds ?? [],
    topLogprobs: message.topLogprobs[at]?.values ?? [],
  }))
  return { promptLogprobs }
}

const uint32 = fc.oneof(fc.nat({ max: 300 }), fc.integer({ min: 0, max: 2 ** 32 - 1 }))
const float = fc.float({ noNaN: true })
const top = fc
  .array(fc.record({ id: uint32, value: float }))
  .map((entries) => ({ tokenIds: entries.map(({ id }) => id), values: entries.map(({ value }) => value) }))
const logprobs = fc.option(
  fc
    .tuple(fc.array(fc.record({ logprob: float, id: uint32, top })), fc.boolean())
    .map(([entries, hasTop]) => ({
      tokenLogprobs: entries.map(({ logprob }) => logprob),
      tokenIds: entries.map(({ id }) => id),
      topLogprobs: hasTop ? entries.map((entry) => entry.top) : [],
    })),
)
const promptLogprobs = fc.option(
  fc
    .tuple(fc.array(fc.record({ value: fc.option(float), id: uint32, top })), fc.boolean())
    .map(([entries, hasTop]) => ({
      tokenLogprobs: entries.map(({ value }) => (value === null ? {} : { value })),
      tokenIds: entries.map(({ id }) => id),
      topLogprobs: hasTop ? entries.map((entry) => entry.top) : [],
    })),
)
const chunk = fc.record({
  tokenIds: fc.array(uint32),
  promptTokens: uint32,
  completionTokens: uint32,
  cachedTokens: uint32,
  outputLogprobs: logprobs,
  inputLogprobs: promptLogprobs,
  index: uint32,
})
const matched = fc.oneof(
  fc.constant({}),
  fc.record({ matchedTokenId: uint32 }),
  fc.record({ matchedStopStr: fc.string({ unit: 'grapheme' }) }),
)
const complete = fc
  .record({
    outputIds: fc.array(uint32),
    finishReason: fc.oneof(fc.constantFrom('stop', 'length', 'abort'), fc.string({ unit: 'grapheme' })),
    promptTokens: uint32,
    completionTokens: uint32,
    cachedTokens: uint32,
    outputLogprobs: logprobs,
    specDraftTokens: uint32,
  })
  .chain((message) => matched.map((stop) => ({ ...message, ...stop })))
const message: fc.Arbitrary<GenerateResponse> = fc.oneof(
  chunk.map((body) => ({ chunk: body })),
  complete.map((body) => ({ complete: body })),
)

function varint(value: number): number[] {
  const bytes = []
  for (; value >= 128; value = Math.floor(value / 128)) bytes.push((value % 128) + 128)
  return [...bytes, value]
}

const delimited = (field: number, body: Iterable<number>) => {
  const bytes = [...body]
  return [...varint(field * 8 + 2), ...varint(bytes.length), ...bytes]
}

/** Fields that no version of the proto has, of every wire type that proto3 knows. */
const unknownField = fc.integer({ min: 200, max: 100_000 }).chain((field) =>
  fc.oneof(
    uint32.map((value) => [...varint(field * 8), ...varint(value)]),
    fc.constant(varint(field * 8).concat(Array<number>(9).fill(0xff), 1)),
    fc.uint8Array({ minLength: 8, maxLength: 8 }).map((bytes) => [...varint(field * 8 + 1), ...bytes]),
    fc.uint8Array().map((bytes) => delimited(field, bytes)),
    fc.uint8Array({ minLength: 4, maxLength: 4 }).map((bytes) => [...varint(field * 8 + 5), ...bytes]),
  ),
)

describe('decodeChunk', () => {
  it.for(recordings)('reads the frames of $name as reflection does', ({ frames }) => {
    for (const frame of frames) {
      const bytes = encode(frame)
      expect(decodeChunk(bytes)).toEqual(byReflection(bytes))
    }
  })

  it('reads any message as reflection does', () => {
    fc.assert(
      fc.property(message, (value) => {
        const bytes = encode(value)
        expect(decodeChunk(bytes)).toEqual(byReflection(bytes))
      }),
      { numRuns: runs(400, 2000) },
    )
  })

  it('reads fields in any order, packed or not, among fields that it does not know', () => {
    const fields = fc.tuple(fc.array(uint32, { minLength: 1 }), uint32, uint32, fc.array(unknownField))
    fc.assert(
      fc.property(fields, fc.boolean(), fc.infiniteStream(fc.nat()), (values, packed, order) => {
        const [ids, promptTokens, cachedTokens, unknown] = values
        // Unpacked ids must keep their order, so they are moved together.
        const idField = packed
          ? delimited(1, ids.flatMap(varint))
          : ids.flatMap((id) => [...varint(8), ...varint(id)])
        const parts = [idField, [...varint(16), ...varint(promptTokens)]]
        parts.push([...varint(32), ...varint(cachedTokens)], ...unknown)
        const shuffled = parts
          .map((part) => ({ part, key: order.next().value }))
          .sort((a, b) => a.key - b.key)
          .flatMap(({ part }) => part)
        const bytes = Buffer.from([...unknown.flat(), ...delimited(1, shuffled), ...unknown.flat()])
        expect(decodeChunk(bytes)).toEqual({
          type: 'chunk',
          ids,
          promptTokens,
          completionTokens: 0,
          cachedTokens,
        })
        expect(decodeChunk(bytes)).toEqual(byReflection(bytes))
      }),
      { numRuns: runs(200, 1000) },
    )
  })

  it('refuses log probabilities whose lists differ in their length', () => {
    const chunkOf = (outputLogprobs: object) => encode({ chunk: { tokenIds: [7], outputLogprobs } })
    for (const topLogprobs of [[{ values: [-1], tokenIds: [] }], [{}, {}]]) {
      const bytes = chunkOf({ tokenLogprobs: [-1], tokenIds: [7], topLogprobs })
      expect(() => decodeChunk(bytes)).toThrow('the log probabilities of a chunk are incomplete')
    }
  })

  it('refuses bytes that end in the middle of a message', () => {
    fc.assert(
      fc.property(message, fc.nat(), (value, at) => {
        const bytes = encode(value)
        const cut = bytes.subarray(0, 1 + (at % (bytes.length - 1)))
        expect(() => decodeChunk(cut)).toThrow(/cut short/)
      }),
    )
    expect(() => decodeChunk(Buffer.from([0x0b]))).toThrow(/wire type 3/)
    expect(() => decodeChunk(Buffer.alloc(12, 0xff))).toThrow(/too long/)
  })
})
