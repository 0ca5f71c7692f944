import type { Bar } from '../harness/bars.ts'
import { figuresOf, type Figures } from './figures.ts'
import type { Measured } from './measure-load.ts'

/** Returns the limits on the cost of a request. */
export function toBars(figures: Figures): Bar[] {
  const unit = (name: string) => figures.units.get(name) ?? []
  const now = (load: string, read: (it: Measured) => number) => figuresOf(figures, [load, 'now'], read)
  /** Returns this checkout's figure divided by the other's, for each round. */
  const ratio = (load: string, read: (it: Measured, round: number) => number) => {
    const before = figures.loads.get(load)?.get('before') ?? []
    const after = figures.loads.get(load)?.get('now') ?? []
    return before.flatMap((it, round) => {
      const other = after[round]
      return other === undefined ? [] : [read(other, round) / read(it, round)]
    })
  }
  const engineMs = (pace: string, round: number) => unit(`engine ${pace}`)[round] ?? Number.NaN
  const addedMs = now('50/s', (it) => it.firstTokenMs.p50).map((ms, round) => ms - engineMs('50/s', round))
  return [
    {
      title: 'first token added at 50/s',
      unit: ' R',
      bar: 20,
      values: addedMs.map((ms, round) => ms / (unit('ping 50/s')[round] ?? Number.NaN)),
    },
    {
      title: 'first token added at 200/s, p50',
      unit: ' × before',
      bar: 1.2,
      values: ratio('200/s', (it, round) => it.firstTokenMs.p50 - engineMs('200/s', round)),
    },
    {
      title: 'first token added at 200/s, p90',
      unit: ' × before',
      bar: 1.2,
      values: ratio('200/s', (it, round) => it.firstTokenMs.p90 - engineMs('200/s', round)),
    },
    {
      title: 'chain CPU per request at 200/s',
      unit: ' × before',
      bar: 1.2,
      values: ratio('200/s', (it) => it.cpuMs.chain),
    },
    {
      title: 'closed-loop capacity',
      unit: ' × before',
      bar: 0.85,
      isFloor: true,
      values: ratio('closed loop of 32', (it) => it.perS),
    },
    {
      title: 'Redis commands per request at 200/s',
      unit: '',
      bar: 80,
      values: now('200/s', (it) => it.redis.commands / it.finished),
    },
  ]
}
