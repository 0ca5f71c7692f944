import { caseNames, readRecording, type RecordedVersion, type Recording } from './recordings.ts'

/** The test file of this folder that tests a recording. */
export type Place = 'wire' | 'rpcs' | 'scenarios'

/** Cases with more events than one call. Each has its own test in engine-scenarios.test.ts. */
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
export type ScenarioCase = (typeof SCENARIO_CASES)[number]

/** Cases that stop or kill the engine itself, which the tests do not do to a real engine. */
export const NEEDS_SIMULATOR: ReadonlySet<string> = new Set([
  'hang-engine-core-stopped-4s',
  'sigkill-engine-core-stream',
  'sigkill-engine-core-unary',
  'sigkill-worker',
  'sigterm-long0',
  'sigterm-short',
])

/** Calls other than Generate, which engine-rpcs.test.ts tests. */
export const UNARY_METHODS = [
  'Embed',
  'HealthCheck',
  'Abort',
  'GetModelInfo',
  'GetServerInfo',
  'GetLoads',
  'FlushCache',
  'StartProfile',
] as const
export type UnaryMethod = (typeof UNARY_METHODS)[number]

export const OTHER_RPC_CASES = [
  'alt-get-tokenizer-multi-chunk',
  'health-check-overall',
  'health-check-service',
  'health-check-unknown',
  'health-watch',
  'stream-get-tokenizer',
  'subscribe-kv-events-off',
  'unary-unknown-method',
] as const

/** Recordings without a test, each with the reason. */
export const OUT_OF_REACH: Readonly<Record<string, string>> = {
  'subscribe-kv-events':
    'neither the simulator nor any client of ours knows KV events; switched off they are held',
}

/** Returns the file that tests a recording; null if none does. */
export function placeOf(recording: Recording): Place | null {
  const { case: name, method } = recording
  if (isScenario(name)) return 'scenarios'
  if (isUnary(method) || OTHER_RPC_CASES.some((other) => other === name)) return 'rpcs'
  return method === 'Generate' ? 'wire' : null
}

/** Returns the recordings of a version that `place` tests. */
export function casesOf(servicerVersion: RecordedVersion, place: Place): (readonly [string, Recording])[] {
  return caseNames(servicerVersion)
    .map((name) => [name, readRecording(servicerVersion, name)] as const)
    .filter(([name, recording]) => !(name in OUT_OF_REACH) && placeOf(recording) === place)
}

export function isScenario(name: string): name is ScenarioCase {
  return SCENARIO_CASES.some((scenario) => scenario === name)
}

export function isUnary(method: string): method is UnaryMethod {
  return UNARY_METHODS.some((unary) => unary === method)
}
