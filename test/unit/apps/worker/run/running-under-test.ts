import type { ClaimedGeneration } from '#apps/worker/run/running-generation.ts'
import { createRunningGenerations } from '#apps/worker/run/running-generations.ts'
import type { GenerationEvent } from '#libs/contracts/generation-event.ts'
import type { GenerationJob } from '#libs/contracts/generation-job.ts'
import type { FrameEntry, StreamState } from '#libs/event-bus/frame.ts'
import { generationJob } from '../../../../support/generation-job.ts'

/** The answer to the claim of a job: its first epoch, with a minute left. */
export function claimedGeneration(
  job: GenerationJob = generationJob(),
  fields: Partial<ClaimedGeneration> = {},
): ClaimedGeneration {
  return {
    status: 'claimed',
    id: job.id,
    epoch: 1,
    job,
    ids: new Uint32Array(0),
    promptTokens: null,
    engineDeaths: 0,
    waitedMs: 5,
    remainingMs: 60_000,
    waiting: 0,
    ...fields,
  }
}

/** Running generations whose bus, record and presence are lists. */
export function runningUnderTest() {
  const state = { nowMs: 1_000_000, buried: new Array<string>(), claiming: new Array<string>() }
  const groups: FrameEntry[][] = []
  const pulses: [string, readonly StreamState[]][] = []
  const watched: string[] = []
  const settled: [string, number][] = []
  const forgotten: string[] = []
  const running = createRunningGenerations({
    publisher: {
      send: (_gateway, group) => void groups.push([...group]),
      pulse: (gateway, streams) => pulses.push([gateway, streams]),
      forget: (gateway) => forgotten.push(gateway),
    },
    isClaiming: (nonce) => state.claiming.includes(nonce),
    isBuried: (gateway) => state.buried.includes(gateway),
    settleOrphan: ({ id, epoch }) => settled.push([id, epoch]),
    watchGateway: (gateway) => watched.push(gateway),
    unwatchGateway: (gateway) => watched.splice(watched.indexOf(gateway), 1),
    nowMs: () => state.nowMs,
  })
  const events = (): GenerationEvent[] => groups.flat().map(({ event }) => event)
  return { running, state, groups, events, pulses, watched, settled, forgotten }
}
