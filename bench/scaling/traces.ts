/** An offered load over time, in seconds. */
export type Trace = {
  readonly name: string
  readonly seconds: number
  /** Pods that serve at the start. */
  readonly startPods: number
  /** New generations per second. */
  readonly perS: (second: number) => number
  /** Mean time of one generation, in seconds. */
  readonly serviceS: (second: number) => number
}

const constant = (value: number) => () => value

export const TRACES: readonly Trace[] = [
  {
    name: 'step 3→24→48',
    seconds: 7200,
    startPods: 6,
    perS: (t) => (t < 600 ? 3 : t >= 3600 && t < 3900 ? 48 : 24),
    serviceS: constant(20),
  },
  {
    name: 'sine 4–36',
    seconds: 7200,
    startPods: 8,
    perS: (t) => 20 - 16 * Math.cos((2 * Math.PI * t) / 3600),
    serviceS: constant(20),
  },
  {
    name: 'bursts 4→40, 45 s',
    seconds: 7200,
    startPods: 6,
    perS: (t) => (t % 600 >= 300 && t % 600 < 345 ? 40 : 4),
    serviceS: constant(20),
  },
  {
    name: 'nights at zero',
    seconds: 14_400,
    startPods: 0,
    perS: (t) =>
      t % 7200 < 1800 || t % 7200 >= 5400 ? 0 : 8 * Math.sin((Math.PI * ((t % 7200) - 1800)) / 3600),
    serviceS: constant(20),
  },
  {
    name: 'S 20→60 s',
    seconds: 7200,
    startPods: 8,
    perS: constant(8),
    serviceS: (t) => (t < 1800 ? 20 : 60),
  },
]
