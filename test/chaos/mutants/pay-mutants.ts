import type { Mutant } from './mutants.ts'

const END_RUN = 'apps/worker/run/end-run.ts'
const RUN = 'apps/gateway/generation/generation-run.ts'

/**
 * Mistakes by which a caller's own failures or hang-ups become free. `test/attacks/unpaid-work.test.ts` must notice each
 * of them, without any fault of the cluster.
 */
export const PAY_MUTANTS: readonly Omit<Mutant, 'planned'>[] = [
  {
    name: 'a dead end after output is a failure of the engine',
    edits: [
      {
        file: 'apps/worker/run/run-choices.ts',
        from: 'if (run.stopReason() === null && isDeadEnd(error, request)) {',
        to: 'if (isDeadEnd(error, request) && !hasOutput) {',
      },
    ],
  },
  {
    name: 'a dead end without output is free',
    edits: [{ file: END_RUN, from: 'message: DEAD_END, isCharged: true }', to: 'message: DEAD_END }' }],
  },
  {
    name: 'a worker reports nothing when its caller has left',
    edits: [{ file: END_RUN, from: 'run.report()', to: '' }],
  },
  {
    name: 'a gateway asks for no report when its caller has left',
    edits: [
      {
        file: RUN,
        from: 'else this.#deps.askForReport(this.#dispatched.job(), inbox)',
        to: 'else inbox.close()',
      },
    ],
  },
  {
    name: 'embeddings count when their vectors arrive',
    edits: [
      {
        file: 'apps/worker/run/embedding/embed-inputs.ts',
        from: 'onInput(promptIds.length)\n',
        to: '\n',
      },
    ],
  },
  {
    name: 'a failure of the caller is a fault',
    edits: [
      {
        file: 'apps/gateway/generation/request/failure.ts',
        from: "case 'of-caller':\n      return { outcome: 'cancelled', isUsed: true }",
        to: "case 'of-caller':\n      return { outcome: 'fault', isUsed: true }",
      },
    ],
  },
]
