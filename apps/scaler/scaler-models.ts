import { z } from 'zod'
import { checkFloor } from './decide/floors.ts'
import type { PoolSpec } from './decide/types.ts'

const count = z.int().min(0)

const Floor = z
  .strictObject({ cron: z.string(), timezone: z.string(), min: count })
  .superRefine((floor, context) => {
    try {
      checkFloor(floor)
    } catch (error) {
      context.addIssue({ code: 'custom', message: error instanceof Error ? error.message : String(error) })
    }
  })

/** One pool as the file describes it; times in seconds. */
const Pool = z
  .strictObject({
    /** Name of the Deployment and of its ScaledObject; also the value of the pods' label `millrace/pool`. */
    pool: z.string().min(1),
    model: z.string().min(1),
    gpuClass: z.string().min(1).nullable(),
    gpus: count,
    min: count,
    max: count,
    floors: z.array(Floor),
    priority: z.int(),
    order: z.int(),
    slots: z.int().min(1),
    targetWaitSeconds: z.number().positive(),
    utilization: z.number().positive().max(1),
    idleSeconds: z.number().min(0),
    downWindowSeconds: z.number().min(0),
    startSeconds: z.number().positive(),
    spot: z.boolean(),
  })
  .refine(({ min, max }) => min <= max, { error: 'min is above max', path: ['min'] })

/** The pool of gateways, which is scaled by open streams. */
const Gateway = z
  .strictObject({
    /** Name of the Deployment and of its ScaledObject. */
    deployment: z.string().min(1),
    min: z.int().min(1),
    max: z.int().min(1),
    streamsPerPod: z.int().min(1),
  })
  .refine(({ min, max }) => min <= max, { error: 'min is above max', path: ['min'] })

/** The file that SCALER_MODELS_FILE names. */
const ModelsFile = z
  .strictObject({
    pools: z.array(Pool).max(1_000),
    /** GPUs by class. A class without a budget is limited only by its pools' maxima. */
    budget: z.record(z.string(), count),
    gateway: Gateway.nullable(),
    /** The relative change that the HPA ignores: 0 if the cluster knows the HPA's field `tolerance`, else 0.1. */
    hpaTolerance: z.number().min(0).max(0.5),
  })
  .superRefine(({ pools, gateway }, context) => {
    const names = [...pools.map(({ pool }) => pool), ...(gateway === null ? [] : [gateway.deployment])]
    const twice = names.find((name, index) => names.indexOf(name) !== index)
    if (twice === undefined) return
    context.addIssue({ code: 'custom', path: ['pools'], message: `${twice} is there twice` })
  })

export type GatewayPool = z.infer<typeof Gateway>

export type ScaledModel = { readonly model: string; readonly pools: readonly PoolSpec[] }

/** The models, the budget and the gateways that this scaler manages. */
export type ScalerModels = {
  readonly models: readonly ScaledModel[]
  readonly budget: Readonly<Record<string, number>>
  readonly gateway: GatewayPool | null
  readonly hpaTolerance: number
}

/** Parses the text of the models file. Throws an error that names each wrong field. */
export function parseScalerModels(text: string): ScalerModels {
  const result = ModelsFile.safeParse(parseJson(text))
  if (!result.success) {
    const issues = result.error.issues.map(({ path, message }) => `${path.map(String).join('.')}: ${message}`)
    throw new Error(issues.join('; '))
  }
  const { pools, budget, gateway, hpaTolerance } = result.data
  const byModel = Map.groupBy(pools.map(toSpec), ({ model }) => model)
  const models = [...byModel].map(([model, specs]) => ({ model, pools: specs }))
  return { models, budget, gateway, hpaTolerance }
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch (cause) {
    throw new Error('expected JSON', { cause })
  }
}

function toSpec(pool: z.infer<typeof Pool>): PoolSpec {
  const { targetWaitSeconds, idleSeconds, downWindowSeconds, startSeconds, ...same } = pool
  return {
    ...same,
    targetWaitMs: targetWaitSeconds * 1_000,
    idleMs: idleSeconds * 1_000,
    downWindowMs: downWindowSeconds * 1_000,
    startMs: startSeconds * 1_000,
  }
}
