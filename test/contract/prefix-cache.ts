import { expect } from 'vitest'
import type { Transport } from '#apps/worker/engine/transport/transport.ts'
import { casesOf } from './cases.ts'
import { untilIdle } from './engine-state.ts'
import { callGenerate, collect, reply, service, toResponses } from './raw-calls.ts'
import { readRecording, type RecordedVersion } from './recordings.ts'
import { fromRecording, toStructure } from './structure.ts'

/** The cases build on each other, so each case first runs the earlier ones. */
export async function cachedAsRecorded(
  name: string,
  { client, servicerVersion }: { client: Transport; servicerVersion: RecordedVersion },
): Promise<void> {
  const cases = casesOf(servicerVersion, 'scenarios').map(([other]) => other)
  const before = cases.filter((other) => other.startsWith('cache-') && other <= name)
  for (const each of before) {
    if (each === 'cache-6-after-flush') {
      await untilIdle(client)
      const { response } = await reply(client, service.FlushCache, {})
      expect(response?.success).toBe(true)
    }
    const recording = readRecording(servicerVersion, each)
    const { responses } = toResponses(await collect(callGenerate(client, recording.request ?? {})))
    const recorded = toStructure(recording.responses.map(fromRecording))
    expect({ case: each, ...toStructure(responses) }).toEqual({ case: each, ...recorded })
  }
}
