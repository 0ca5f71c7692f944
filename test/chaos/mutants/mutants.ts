import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import type { Planned } from '../schedule.ts'
import {
  BROKEN_CONNECTIONS,
  ENDING_BILLINGS,
  ENDING_GATEWAYS,
  ENDING_WORKERS,
  FREEZING_WORKERS,
  LOST_WRITES,
} from './plans.ts'

/** A change of a source file of the repository. The file must contain `from` exactly once. */
export type Edit = { readonly file: string; readonly from: string; readonly to: string }

/** A plausible mistake. */
export type Mutant = {
  readonly name: string
  readonly edits: readonly Edit[]
  /** The faults that must reveal the mistake. */
  readonly planned: readonly Planned[]
  /** If given, only requests whose name matches are sent. */
  readonly asks?: RegExp
}

export const MUTANT_VARIABLE = 'MILLRACE_TEST_MUTANT'

const INBOX = 'libs/event-bus/stream-inbox.ts'
const RUN_CHAT = 'apps/worker/run/run-chat.ts'
const DISPATCH = 'apps/gateway/generation/dispatch/dispatch.ts'

export const MUTANTS: readonly Mutant[] = [
  {
    name: 'frames of any epoch and any worker count',
    edits: [
      {
        file: INBOX,
        from: "if (entry.epoch !== this.#epoch || this.#closed) return 'stray'",
        to: "if (this.#closed) return 'stray'",
      },
      {
        file: INBOX,
        from: "if (this.#worker !== null && this.#worker !== sender) return 'stray'",
        to: '',
      },
      {
        file: INBOX,
        from: "if (entry.seq !== this.#lastSeq + 1) return 'gap'",
        to: "if (entry.epoch === this.#epoch && entry.seq !== this.#lastSeq + 1) return 'gap'",
      },
      {
        file: INBOX,
        from: "if (entry.seq <= this.#lastSeq) return 'repeated'",
        to: "if (entry.epoch === this.#epoch && entry.seq <= this.#lastSeq) return 'repeated'",
      },
    ],
    planned: FREEZING_WORKERS,
  },
  {
    name: 'the ids are read before the fence is raised, and the next worker is believed',
    edits: [
      {
        file: DISPATCH,
        from: 'this.#epoch = inbox.raise({ restart })\n    const before = { ids: inbox.ids(), choices: inbox.choices() }',
        to: 'const before = { ids: inbox.ids(), choices: inbox.choices() }\n    await new Promise((resolve) => setTimeout(resolve, 2_500))\n    this.#epoch = inbox.raise({ restart })',
      },
      { file: INBOX, from: 'event.after === this.#after', to: 'event.after >= 0' },
      // A loss ends the epoch as well.
      {
        file: INBOX,
        from: "if (this.#state !== 'open') return 'stray'",
        to: "if (this.#state === 'ended') return 'stray'",
      },
    ],
    planned: FREEZING_WORKERS,
  },
  {
    name: 'an event behind a gap counts',
    edits: [{ file: INBOX, from: "if (entry.seq !== this.#lastSeq + 1) return 'gap'", to: '' }],
    planned: BROKEN_CONNECTIONS,
  },
  {
    name: 'an event that comes again counts again',
    edits: [
      { file: INBOX, from: "if (entry.seq <= this.#lastSeq) return 'repeated'", to: '' },
      {
        file: INBOX,
        from: "if (entry.seq !== this.#lastSeq + 1) return 'gap'",
        to: "if (entry.seq > this.#lastSeq + 1) return 'gap'",
      },
      // A frame is taken once.
      { file: 'libs/event-bus/worker-link.ts', from: 'return !numbers.has(number)', to: 'return true' },
    ],
    planned: BROKEN_CONNECTIONS,
  },
  {
    name: 'nothing is sent again',
    edits: [{ file: 'libs/event-bus/worker-link.ts', from: 'void control.resend(worker, from)', to: '' }],
    planned: BROKEN_CONNECTIONS,
  },
  {
    name: 'the engine continues after one token less',
    edits: [
      {
        file: RUN_CHAT,
        from: 'ids.set(earlier, prompt.length)',
        to: 'ids.set(earlier.subarray(1), prompt.length)',
      },
    ],
    planned: ENDING_WORKERS,
  },
  {
    name: 'the next worker gets no ids',
    edits: [{ file: DISPATCH, from: 'ids: inbox.ids(), choices', to: 'ids: NO_OUTPUT.ids, choices' }],
    planned: ENDING_WORKERS,
  },
  {
    name: 'the parser does not read the ids of earlier epochs',
    edits: [
      {
        file: 'libs/dialect/replay-output.ts',
        from: 'const { stopped } = parser.push(ids)',
        to: 'const stopped = false',
      },
    ],
    planned: ENDING_WORKERS,
  },
  {
    name: 'tokens of earlier epochs are not counted',
    edits: [
      {
        file: 'apps/worker/run/running-generation.ts',
        from: 'let tokens = earlierIds.length',
        to: 'let tokens = 0',
      },
    ],
    planned: ENDING_WORKERS,
  },
  {
    name: 'tokens of earlier epochs do not count towards the limit',
    edits: [
      {
        file: 'apps/worker/run/paid/cap-output.ts',
        from: 'Math.min(most - written,',
        to: 'Math.min(most,',
      },
    ],
    planned: ENDING_WORKERS,
    asks: /limit/u,
  },
  {
    name: 'tokens that are not paid are passed on',
    edits: [
      {
        file: 'apps/worker/run/paid/paid-output.ts',
        from: 'if (unpaid.length === 0 && given + ids.length <= paid) {',
        to: 'if (unpaid.length === 0) {',
      },
    ],
    planned: ENDING_WORKERS,
  },
  {
    name: 'a generation that failed is charged',
    edits: [
      {
        file: 'apps/gateway/generation/generation-run.ts',
        from: 'this.#failure = toFailure(error)',
        to: '',
      },
    ],
    planned: ENDING_WORKERS,
  },
  {
    name: 'a worker charges what a dead gateway cannot settle',
    edits: [
      {
        file: 'apps/worker/run/settled/settle-orphans.ts',
        from: "outcome: 'fault', ...UNUSED, ",
        to: "outcome: 'completed', ...UNUSED, promptTokens: 20, completionTokens: 20, ",
      },
    ],
    planned: ENDING_GATEWAYS,
  },
  {
    name: 'a settlement that Redis lost is not sent again',
    edits: [
      {
        file: 'apps/gateway/generation/settle/settlements.ts',
        from: 'if (entry.runId === null || entry.runId !== runId) begin(settle(entry))',
        to: 'if (entry.runId !== runId) drop(model, entry)',
      },
    ],
    planned: LOST_WRITES,
  },
  {
    name: 'a settlement is acknowledged before the database has it',
    edits: [
      {
        file: 'apps/billing/settlements/consume-settlements.ts',
        from: 'const refused = await settle(',
        to: 'await acknowledge(batch.map(({ entry }) => entry))\n      const refused = await settle(',
      },
    ],
    planned: ENDING_BILLINGS,
  },
]

const ROOT = fileURLToPath(new URL('../../..', import.meta.url))

/** Returns the changed sources by path. Throws unless each `from` occurs exactly once. */
export function readMutated({ name, edits }: Pick<Mutant, 'name' | 'edits'>): Map<string, string> {
  const sources = new Map<string, string>()
  for (const { file, from, to } of edits) {
    const path = `${ROOT}${file}`
    const source = sources.get(path) ?? readFileSync(path, 'utf8')
    const count = source.split(from).length - 1
    if (count !== 1) throw new Error(`${name}: in ${file} there is ${count} times: ${from}`)
    sources.set(
      path,
      source.replace(from, () => to),
    )
  }
  return sources
}
