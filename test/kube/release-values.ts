import { mergeValues, type Values } from '../chart/chart-values.ts'

export const RELEASE = 'mr'

const SMALL = { requests: { cpu: '1m', memory: '1Mi' }, limits: { memory: '4Mi' } }

/** Values with small pods, so that a fake node has room for many, and with one gateway that is not scaled. */
export const BASE: Values = {
  engineDefaults: {
    image: { repository: 'registry.example/engine', tag: '1' },
    resources: SMALL,
    sharedMemory: '1Mi',
  },
  gateway: { replicas: { min: 1, max: 1 } },
  billing: { replicas: 1 },
  worker: { resources: SMALL },
  scaleDefaults: {
    min: 0,
    max: 10,
    utilization: 1,
    idleSeconds: 600,
    downWindowSeconds: 10,
    startSeconds: 5,
  },
}

/** A model's values; `pool` names its Deployment. */
export const modelValues = (fields: Values = {}): Values =>
  mergeValues(
    {
      family: 'qwen3',
      weights: { path: 'weights', volume: { emptyDir: {} } },
      contextWindow: 8192,
      maxOutputTokens: 4096,
      slots: 10,
      gpu: { count: 0 },
      pod: { podAnnotations: { 'kube-lab/ready-after': '1s' } },
    },
    fields,
  )

export const poolName = (model: string): string => `${RELEASE}-${model}`
