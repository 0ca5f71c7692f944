import { createClusterPicture } from '#apps/gateway/demand/cluster-picture.ts'
import { createDemand } from '#apps/gateway/demand/demand.ts'
import { createModelStates } from '#apps/gateway/demand/model-states.ts'
import { createAdmit } from '#apps/gateway/generation/admission/admit.ts'
import { createRefusals } from '#apps/gateway/generation/admission/refusals.ts'
import { createStartWaits } from '#apps/gateway/generation/admission/start-waits.ts'
import type { ModelSpec } from '#libs/contracts/model-spec.ts'
import type { ModelScale } from '#libs/event-bus/scaling-signals.ts'
import { generationCall } from '../../../../../support/generation-call.ts'

/** The tokens of a generation, where a test does not say more. */
export const COST = 100

type Engine = { slots: number; running: number; meanMs: number | null; tokensPerS?: number }

export function setUp(options: {
  engines?: Engine[]
  random?: number
  /** The expected tokens of each request. */
  cost?: number
  full?: boolean
  barred?: boolean
  /** True if the catalog still has the model. */
  sold?: boolean
  /** The state of the model that the scaler published. */
  state?: Pick<ModelScale, 'state' | 'etaMs'>
}) {
  const clock = { nowMs: 0 }
  const picture = createClusterPicture(() => 0)
  const beat = ({ slots, running, meanMs, tokensPerS }: Engine, at = 0) => {
    const measured = meanMs === null ? null : (tokensPerS ?? (1_000 * COST) / meanMs)
    const means = { meanGenerationMs: meanMs, slotTokensPerS: measured }
    picture.applyHeartbeat({
      id: `worker-${at}`,
      kind: 'worker',
      engines: [{ model: 'demo-chat', ready: true, slots, running, ...means, contextWindow: 4_096 }],
    })
  }
  options.engines?.forEach(beat)
  const modelStates = createModelStates(() => clock.nowMs)
  if (options.state !== undefined) {
    const model = { model: 'demo-chat', ready: 0, target: 1, ...options.state }
    modelStates.apply({ term: 1, models: [model] })
  }
  const demand = createDemand({ onUnserved: () => {}, nowMs: () => clock.nowMs })
  const startEnds: string[] = []
  const startWaits = createStartWaits({
    picture,
    modelStates,
    demand,
    isSold: () => options.sold ?? true,
    most: 8,
    onEnd: (_model, how) => startEnds.push(how),
    nowMs: () => clock.nowMs,
  })
  const admit = createAdmit({
    picture,
    modelStates,
    demand,
    startWaits,
    isBarred: () => options.barred ?? false,
    settlementsFull: () => options.full ?? false,
    expectCost: () => ({ cost: options.cost ?? COST, fixedCost: 0 }),
    refusals: createRefusals({ drainBoundMs: 30_000, nowMs: () => clock.nowMs }),
    drainBoundMs: 30_000,
    assumedGenerationMs: 10_000,
    random: () => options.random ?? 0,
  })
  const refusal = (fields: Partial<ModelSpec> = {}): unknown => {
    try {
      return admit(generationCall({ model: { ...generationCall().model, ...fields } }))
    } catch (error) {
      return error
    }
  }
  return {
    admit,
    refusal,
    clock,
    picture,
    /** Sends a heartbeat of the first worker. */
    beat,
    modelStates,
    startEnds,
    demanded: () => demand.read()['demo-chat'],
  }
}

export const queue = (generations: number) =>
  ({ status: 'busy', reason: 'queue', ahead: generations * COST }) as const
export const BUSY_ENGINES = [{ slots: 4, running: 4, meanMs: 1_000 }]
