import { Cron } from 'croner'
import type { PoolSpec } from './types.ts'

type Floor = PoolSpec['floors'][number]

/**
 * Returns the least number of replicas at this time: the highest of `min` and of the floors whose cron expression matches
 * the current minute in their time zone. So `* 8-19 * * 1-5` applies from 08:00 to 19:59 on working days.
 *
 * @throws an error for an expression or a time zone that does not exist.
 */
export function floorNow(spec: Pick<PoolSpec, 'min' | 'floors'>, nowMs: number): number {
  const minute = new Date(Math.floor(nowMs / 60_000) * 60_000)
  const matching = spec.floors.filter((floor) => parse(floor).match(minute))
  return Math.max(spec.min, ...matching.map(({ min }) => min))
}

/** Each expression is parsed once, because floors are read each second. */
const parsed = new WeakMap<Floor, Cron>()

function parse(floor: Floor): Cron {
  const known = parsed.get(floor)
  if (known !== undefined) return known
  const cron = new Cron(floor.cron, { timezone: floor.timezone, paused: true, mode: '5-part' })
  parsed.set(floor, cron)
  return cron
}
