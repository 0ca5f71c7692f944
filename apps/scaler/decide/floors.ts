import { Cron } from 'croner'
import type { PoolSpec } from './types.ts'

type Floor = PoolSpec['floors'][number]

/**
 * Returns the least number of replicas at this time: `min`, or the floor in force if it is higher. A floor begins at
 * each time that its cron expression matches in its time zone. It is in force until the next floor begins, however long
 * that takes. So a floor `0 8 * * 1-5` beside a floor `0 20 * * 1-5` applies from 08:00 to 19:59 on working days. The
 * second floor applies at night and on the weekend. If several floors begin at the same time, the highest is in force.
 *
 * `checkFloor` must have accepted each floor.
 */
export function floorNow(spec: Pick<PoolSpec, 'min' | 'floors'>, nowMs: number): number {
  const begun = spec.floors.map((floor) => ({ min: floor.min, sinceMs: begunMs(floor, nowMs) }))
  const [inForce] = begun.toSorted((a, b) => b.sinceMs - a.sinceMs || b.min - a.min)
  return Math.max(spec.min, inForce?.min ?? 0)
}

/**
 * Checks the configuration of a floor.
 *
 * @throws an error for an expression or a time zone that does not exist, for an expression that no date matches, and
 * for an expression with `*` in its minute: `* 8-19 * * *` means a span of time, but a floor has only a beginning.
 */
export function checkFloor(floor: Omit<Floor, 'min'>): void {
  const [minute = ''] = floor.cron.trim().split(/\s+/)
  if (minute.includes('*')) {
    throw new Error(
      `'${floor.cron}': expected a minute in place of ${minute}, as in '0 8 * * 1-5'; a floor is in force until the next one begins`,
    )
  }
  const beginsAt = parse(floor)
  if (beginsAt.nextRun(new Date(0)) === null) throw new Error(`no date matches '${floor.cron}'`)
}

/** When a floor began the last time, and when it begins again. */
type Turn = { readonly sinceMs: number; readonly untilMs: number }

/**
 * For each floor, the time at which it began last and the time at which it begins again. These times are cached because
 * floors are read each second, and a search in the calendar takes much longer than a look-up in this map.
 */
const turns = new WeakMap<Floor, Turn>()

function begunMs(floor: Floor, nowMs: number): number {
  const known = turns.get(floor)
  if (known !== undefined && known.sinceMs <= nowMs && nowMs < known.untilMs) return known.sinceMs
  const turn = findTurn(floor, nowMs)
  turns.set(floor, turn)
  return turn.sinceMs
}

/** croner finds the matching times strictly before and strictly after a time. It looks back over at most 400 years. */
function findTurn(floor: Floor, nowMs: number): Turn {
  const beginsAt = parse(floor)
  const [since] = beginsAt.previousRuns(1, new Date(nowMs + 1))
  const until = beginsAt.nextRun(new Date(nowMs))
  return { sinceMs: since?.getTime() ?? 0, untilMs: until?.getTime() ?? Infinity }
}

const parse = ({ cron, timezone }: Omit<Floor, 'min'>) =>
  new Cron(cron, { timezone, paused: true, mode: '5-part' })
