import { readdirSync, readFileSync } from 'node:fs'
import { z } from 'zod'

/** Frames recorded from a real vLLM 0.32.0; each file is one call: its request, its frames, its status. */
const FOLDER = new URL('../fixtures/engine/vllm-0.32.0/', import.meta.url)

const Body = z.record(z.string(), z.unknown())

const Recording = z.object({
  case: z.string(),
  server_args: z.array(z.string()),
  method: z.string(),
  request: Body.nullable(),
  expected_text: z.string().optional(),
  text: z.union([z.string(), z.record(z.string(), z.string())]).optional(),
  token_counts: z.record(z.string(), z.number()).optional(),
  frames: z.array(z.looseObject({ type: z.string().optional(), body: Body.optional() })),
  status: z.object({ code: z.string(), number: z.number(), details: z.string() }),
  loads: z.array(Body).optional(),
  probes: z.array(Body).optional(),
  entries: z.array(z.object({ name: z.string(), size: z.number(), sha256: z.string() })).optional(),
})
export type Recording = z.infer<typeof Recording>

export const ALL_CASES: readonly string[] = readdirSync(FOLDER)
  .filter((name) => name.endsWith('.json'))
  .map((name) => name.replace(/\.json$/u, ''))
  .sort()

export function readRecording(name: string): Recording {
  return Recording.parse(JSON.parse(readFileSync(new URL(`${name}.json`, FOLDER), 'utf8')))
}

/** Cases in which something happens beside the one call; each has its own test. All others are one call. */
export const SCENARIO_CASES = [
  'abort-explicit-n2',
  'abort-explicit-stream',
  'abort-explicit-unary',
  'abort-explicit-while-queued',
  'abort-explicit-while-queued-unary',
  'backpressure-slow-reader',
  'cache-0-first',
  'cache-1-second',
  'cache-2-longer',
  'cache-3-exact-5-blocks',
  'cache-4-exact-5-blocks-again',
  'cache-5-shorter-than-block',
  'cache-6-after-flush',
  'cancel-client',
  'cancel-client-unary',
  'cancel-client-while-queued',
  'cancel-deadline',
  'concurrency-max-seqs-plus-3',
  'duplicate-request-id',
  'duplicate-request-id-abort',
  'hang-engine-core-stopped-4s',
  'sigkill-engine-core-stream',
  'sigkill-engine-core-unary',
  'sigkill-worker',
  'sigterm-long0',
  'sigterm-short',
  'unary-flush-cache-busy',
  'unary-get-loads-after-cache',
] as const
