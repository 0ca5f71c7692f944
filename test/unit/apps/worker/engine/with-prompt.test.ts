import { expect, it } from 'vitest'
import { withPrompt } from '#apps/worker/engine/with-prompt.ts'
import { loadProto } from '#libs/grpc/load-proto.ts'
import type { ProtoGrpcType } from '#proto/types/vllm_engine.ts'

const { Generate, Embed } = loadProto<ProtoGrpcType>('vllm_engine.proto').vllm.grpc.engine.VllmEngine.service

it.each([
  ['one id', [7]],
  [
    'ids of one to five bytes',
    [0, 1, 127, 128, 16_383, 16_384, 2_097_151, 2_097_152, 268_435_455, 268_435_456],
  ],
  ['the highest id', [4_294_967_295]],
  ['a long prompt', Array.from({ length: 200_000 }, (_, i) => (i * 7_919) % 200_000)],
])('%s arrives beside the rest of a request', (_name, ids) => {
  const serialize = withPrompt(Generate.requestSerialize)
  const message = { requestId: 'g-1', samplingParams: { maxTokens: 3 }, stream: true }
  const arrived = Generate.requestDeserialize(serialize({ message, promptIds: Uint32Array.from(ids) }))
  expect(arrived).toMatchObject({
    requestId: 'g-1',
    input: 'tokenized',
    tokenized: { inputIds: ids },
    samplingParams: { maxTokens: 3 },
    stream: true,
  })
})

it('the input of an embedding arrives as well', () => {
  const serialize = withPrompt(Embed.requestSerialize)
  const sent = serialize({ message: { requestId: 'g-1' }, promptIds: Uint32Array.of(2_001, 7) })
  expect(Embed.requestDeserialize(sent)).toMatchObject({
    requestId: 'g-1',
    tokenized: { inputIds: [2_001, 7] },
  })
})
