import { expect, test } from 'vitest'
import { checkFloor } from '#apps/scaler/decide/floors.ts'
import { mergeValues, readValues, valuesPath } from './chart-values.ts'
import { renderValues } from './helm.ts'

const CRONS = [
  '0 8 * * 1-5',
  '0,30 8,20 1 1,7 0',
  '59 23 31 12 7',
  '07 08 * * *',
  '0 8-18/2 */2 */3 MON-FRI',
  '0 8 L * *',
  '0 8 LW * *',
  '0 8 15W jan,Dec *',
  '0 8 * * 5L',
  '0 8 * * mon#2',
  '0 8 * * fri-sun',
  '0 8 * * sun-tue',
  '60 8 * * *',
  '0 24 * * *',
  '0 8 0 * *',
  '0 8 32 * *',
  '0 8 * 13 *',
  '0 8 * * 8',
  '0 22-6 * * *',
  '0 8 * * fri-mon',
  '0 8 * dec-feb *',
  '0 8-20/0 * * *',
  '0 8/2 * * *',
  '0 */0 * * *',
  '0 8- * * *',
  '0 8,, * * *',
  '0 mon * * *',
  '0 8 * may-mai *',
  '0 8 * * 1#6',
]

test('the chart refuses the expressions that the scaler would refuse, and no others', async () => {
  const floors = CRONS.map((cron) => ({ cron, min: 1 }))
  const values = mergeValues(readValues(valuesPath('minimal')), {
    models: { 'llama-8b': { scale: { floors } } },
  })
  const message = await renderValues(values).then(
    () => '',
    (error: unknown) => String(Object(error).stderr ?? error),
  )
  const refused = new Set(
    Array.from(message.matchAll(/floors\[(\d+)\]\.cron/g), ([, index]) => Number(index)),
  )
  expect(CRONS.filter((_, index) => refused.has(index))).toEqual(CRONS.filter(isRefusedByScaler))
  expect(refused.size).toBe(17)
})

function isRefusedByScaler(cron: string): boolean {
  try {
    checkFloor({ cron, timezone: 'UTC' })
    return false
  } catch {
    return true
  }
}
