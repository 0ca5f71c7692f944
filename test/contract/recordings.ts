import { z } from 'zod'
import { engineRecordings } from '../support/engine-recordings.ts'

/** The recorded pairs of vLLM and servicer. A recording is one call: request, responses (`frames`), status. */
const RELEASES = { '0.32.0+0.14.1': '0.32.0', '0.26.0+0.8.0': '0.26.0' } as const
export type RecordedVersion = keyof typeof RELEASES
export const RECORDED_VERSIONS = ['0.32.0+0.14.1', '0.26.0+0.8.0'] as const satisfies RecordedVersion[]

const Body = z.record(z.string(), z.unknown())

const Recording = z
  .object({
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
  .transform(({ frames: responses, ...recording }) => ({ ...recording, responses }))
export type Recording = z.infer<typeof Recording>

export function caseNames(servicerVersion: RecordedVersion): readonly string[] {
  return [...engineRecordings(RELEASES[servicerVersion]).keys()].sort()
}

const read = new Map<string, Recording>()

/** Returns the same object each time, because nine files read hundreds of recordings. */
export function readRecording(servicerVersion: RecordedVersion, name: string): Recording {
  const key = `${servicerVersion} ${name}`
  const recording = read.get(key) ?? Recording.parse(engineRecordings(RELEASES[servicerVersion]).get(name))
  read.set(key, recording)
  return recording
}

export function readRecordings(servicerVersion: RecordedVersion): Recording[] {
  return caseNames(servicerVersion).map((name) => readRecording(servicerVersion, name))
}
