import { createOurRule } from './our-rule.ts'
import { createLlmdRule, createQueueRule } from './peer-rules.ts'
import { simulate, type Outcome, type Scaling } from './simulate.ts'
import { TRACES } from './traces.ts'

const RULES: readonly { readonly rule: string; readonly create: () => Scaling }[] = [
  { rule: 'queue ÷ 5', create: createQueueRule },
  { rule: 'llm-d', create: createLlmdRule },
  { rule: 'millrace', create: () => createOurRule() },
]

export type Comparison = {
  readonly trace: string
  readonly rule: string
  /** The mean outcome over the seeds. */
  readonly mean: Outcome
  readonly worstPeak: number
}

/** Compares every rule on every trace, with the seeds from 1 on. */
export function compare(seeds: number): readonly Comparison[] {
  return TRACES.flatMap((trace) =>
    RULES.map(({ rule, create }) => {
      const outcomes = Array.from({ length: seeds }, (_, index) => simulate(trace, create, index + 1))
      const worstPeak = Math.max(...outcomes.map(({ peak }) => peak))
      return { trace: trace.name, rule, mean: meanOf(outcomes), worstPeak }
    }),
  )
}

function meanOf(outcomes: readonly Outcome[]): Outcome {
  const mean = (read: (outcome: Outcome) => number) =>
    outcomes.reduce((sum, outcome) => sum + read(outcome), 0) / outcomes.length
  return {
    gaveUp: mean(({ gaveUp }) => gaveUp),
    gpuHours: mean(({ gpuHours }) => gpuHours),
    starts: mean(({ starts }) => starts),
    removed: mean(({ removed }) => removed),
    removedBusy: mean(({ removedBusy }) => removedBusy),
    peak: mean(({ peak }) => peak),
    waitP95S: mean(({ waitP95S }) => waitP95S),
  }
}
