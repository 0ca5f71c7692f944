import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { z } from 'zod'
import { ScaledObject, toSwitches } from '#apps/scaler/pods.ts'
import { until } from '../support/until.ts'
import { kubectl } from './lab/cluster.ts'
import { modelValues, poolName } from './release-values.ts'
import { openStage, type Stage } from './stage.ts'

// The scaler reads KEDA's annotations by itself. These tests show that KEDA gives the annotations the same meaning.

const POOL = poolName('alpha')
let stage: Stage

beforeAll(async () => {
  stage = await openStage({ models: { alpha: modelValues({ scale: { min: 1, max: 3 } }) } })
})

afterAll(async () => await stage.close())

const NAMES = ['paused', 'paused-replicas', 'paused-scale-in', 'paused-scale-out']

afterEach(async () => void (await annotate(...NAMES.map((name) => `autoscaling.keda.sh/${name}-`))))

const Rules = z.object({ selectPolicy: z.string().default('') }).prefault({})
const Hpas = z.object({
  items: z.array(z.object({ spec: z.object({ behavior: z.object({ scaleUp: Rules, scaleDown: Rules }) }) })),
})

const get = async (...args: string[]): Promise<unknown> =>
  JSON.parse(await kubectl(['get', ...args, '--namespace', stage.namespace, '-o', 'json']))

/** Returns the directions in which KEDA does not change the number. */
async function readHpa(): Promise<{ isOutPaused: boolean; isInPaused: boolean }> {
  const [hpa] = Hpas.parse(await get('horizontalpodautoscalers')).items
  if (hpa === undefined) return { isOutPaused: true, isInPaused: true }
  const { scaleUp, scaleDown } = hpa.spec.behavior
  return {
    isOutPaused: scaleUp.selectPolicy === 'Disabled',
    isInPaused: scaleDown.selectPolicy === 'Disabled',
  }
}

const annotate = async (...annotations: string[]) =>
  await kubectl([
    'annotate',
    'scaledobject',
    POOL,
    ...annotations,
    '--overwrite',
    '--namespace',
    stage.namespace,
  ])

const NONE = { isOutPaused: false, isInPaused: false }
const BOTH = { isOutPaused: true, isInPaused: true }

test.each([
  ['paused=true', BOTH],
  ['paused=1', BOTH],
  ['paused=no', BOTH],
  ['paused-replicas=2', BOTH],
  ['paused-replicas=0', BOTH],
  ['paused-scale-in=true', { isOutPaused: false, isInPaused: true }],
  ['paused-scale-in=yes', { isOutPaused: false, isInPaused: true }],
  ['paused-scale-out=T', { isOutPaused: true, isInPaused: false }],
])('KEDA and the scaler read the annotation %s alike', async (annotation, expected) => {
  await until(async () => JSON.stringify(await readHpa()) === JSON.stringify(NONE), 120_000, 500)
  await annotate(`autoscaling.keda.sh/${annotation}`)
  await until(async () => JSON.stringify(await readHpa()) === JSON.stringify(expected), 60_000, 500)
  expect(toSwitches(ScaledObject.parse(await get('scaledobject', POOL)))).toMatchObject(expected)
})

test.each(['paused=F', 'paused=false', 'paused-scale-in=0', 'paused-scale-out=FALSE'])(
  'KEDA and the scaler take the annotation %s as none',
  async (annotation) => {
    await until(async () => JSON.stringify(await readHpa()) === JSON.stringify(NONE), 120_000, 500)
    // When KEDA has acted on the other annotation, it has also seen this annotation.
    await annotate(`autoscaling.keda.sh/${annotation}`)
    const other = annotation.startsWith('paused-scale-in') ? 'paused-scale-out' : 'paused-scale-in'
    await annotate(`autoscaling.keda.sh/${other}=true`)
    const expected = { isOutPaused: other === 'paused-scale-out', isInPaused: other === 'paused-scale-in' }
    await until(async () => JSON.stringify(await readHpa()) === JSON.stringify(expected), 60_000, 500)
    expect(toSwitches(ScaledObject.parse(await get('scaledobject', POOL)))).toMatchObject(expected)
  },
)
