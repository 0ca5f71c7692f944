import { readFileSync } from 'node:fs'
import { z } from 'zod'
import type { GenerateResponse } from '#proto/types/vllm/grpc/engine/GenerateResponse.ts'

const Ids = z.array(z.int()).default([])
const Count = z.int().default(0)

const LogProbs = z
  .object({
    token_logprobs: z.array(z.union([z.number(), z.object({ value: z.number().optional() })])),
    token_ids: z.array(z.int()),
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

const Recording = z.object({
  name: z.string(),
  frames: z.array(z.union([z.object({ chunk: Chunk }), z.object({ complete: Complete })])),
  status: z.object({ number: z.int(), details: z.string() }),
})

export type Recording = {
  name: string
  frames: GenerateResponse[]
  status: { number: number; details: string }
}

/** Generate calls of real engines (two versions of vLLM), frame by frame. */
export const recordings: Recording[] = z
  .array(Recording)
  .min(15)
  .parse(
    JSON.parse(
      readFileSync(new URL('../../../../fixtures/engine-client/recordings.json', import.meta.url), 'utf8'),
    ),
  )

export function recording(name: string): Recording {
  const found = recordings.find((candidate) => candidate.name === name)
  if (found === undefined) throw new Error(`no recording ${name}`)
  return found
}
