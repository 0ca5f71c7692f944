import { z } from 'zod'
import type { GenerateResponse } from '#proto/types/vllm/grpc/engine/GenerateResponse.ts'
import { engineRecordings } from '#test/support/engine-recordings.ts'

const Ids = z.array(z.int()).default([])
const Count = z.int().default(0)

const LogProbs = z
  .object({
    token_logprobs: z.array(z.union([z.number(), z.object({ value: z.number().optional() })])),
    token_ids: z.array(z.int()),
    top_logprobs: z.array(z.object({ values: z.array(z.number()), token_ids: z.array(z.int()) })),
  })
  .optional()

const Chunk = z
  .object({
    token_ids: Ids,
    prompt_tokens: Count,
    completion_tokens: Count,
    cached_tokens: Count,
    output_logprobs: LogProbs,
  })
  .transform((body) => ({
    tokenIds: body.token_ids,
    promptTokens: body.prompt_tokens,
    completionTokens: body.completion_tokens,
    cachedTokens: body.cached_tokens,
    ...(body.output_logprobs !== undefined && {
      outputLogprobs: {
        tokenLogprobs: body.output_logprobs.token_logprobs.filter((value) => typeof value === 'number'),
        tokenIds: body.output_logprobs.token_ids,
        topLogprobs: body.output_logprobs.top_logprobs.map((top) => ({
          values: top.values,
          tokenIds: top.token_ids,
        })),
      },
    }),
  }))

const Complete = z
  .object({
    output_ids: Ids,
    finish_reason: z.string(),
    prompt_tokens: Count,
    completion_tokens: Count,
    cached_tokens: Count,
    matched_token_id: z.int().optional(),
    matched_stop_str: z.string().optional(),
  })
  .transform((body) => ({
    outputIds: body.output_ids,
    finishReason: body.finish_reason,
    promptTokens: body.prompt_tokens,
    completionTokens: body.completion_tokens,
    cachedTokens: body.cached_tokens,
    ...(body.matched_token_id !== undefined && { matchedTokenId: body.matched_token_id }),
    ...(body.matched_stop_str !== undefined && { matchedStopStr: body.matched_stop_str }),
  }))

/** The type `omitted` stands for frames of a long stream that the recording leaves out. */
const Frame = z.discriminatedUnion('type', [
  z.object({ type: z.literal('chunk'), body: Chunk }),
  z.object({ type: z.literal('complete'), body: Complete }),
  z.object({ type: z.literal('omitted') }),
])

const Recorded = z.object({
  frames: z.array(Frame),
  status: z.object({ number: z.int(), details: z.string() }),
})

export type Recording = {
  name: string
  frames: GenerateResponse[]
  status: { number: number; details: string }
}

const NAMES = {
  '0.32.0': [
    'generate-stream-length',
    'generate-stream-max-tokens-1',
    'generate-stream-logprobs-3',
    'generate-stream-prompt-logprobs-2',
    'finish-stop-string',
    'finish-stop-token-id',
    'finish-eos-after-text',
    'finish-eos-from-generation-config',
    'abort-explicit-stream',
    'abort-explicit-while-queued',
    'alt-stream-interval-4',
    'error-max-tokens-0',
    'error-id-equals-vocab',
    'sigkill-engine-core-stream',
    'error-bad-structural-tag',
  ],
  '0.26.0': ['generate-stream-length', 'error-bad-structural-tag', 'sigterm-long0'],
} as const

/** Generate calls of real engines (two versions of vLLM), frame by frame. */
export const recordings: Recording[] = (['0.32.0', '0.26.0'] as const).flatMap((release) =>
  NAMES[release].map((name) => readRecording(release, name)),
)

export function recording(name: string): Recording {
  const found = recordings.find((candidate) => candidate.name === name)
  if (found === undefined) throw new Error(`no recording ${name}`)
  return found
}

function readRecording(release: keyof typeof NAMES, name: string): Recording {
  const { frames, status } = Recorded.parse(engineRecordings(release).get(name))
  return { name: `${name} (${release})`, frames: frames.flatMap(toResponse), status }
}

function toResponse(frame: z.infer<typeof Frame>): GenerateResponse[] {
  if (frame.type === 'omitted') return []
  return [frame.type === 'chunk' ? { chunk: frame.body } : { complete: frame.body }]
}
