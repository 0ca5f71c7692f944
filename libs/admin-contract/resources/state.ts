import { z } from 'zod'
import { Nano, Time } from '../fields.ts'
import { defineRead } from '../operation.ts'
import { ALL } from '../roles.ts'
import { ReconciliationRun } from './reconciliation.ts'

const State = z
  .object({
    at: Time,
    replica: z.string().meta({ description: 'Id of the replica that answered.' }),
    watermarks: z
      .array(
        z.object({
          model: z.string(),
          ageMs: z
            .int()
            .meta({ description: 'How far the reading of its settlements lags behind the queue Redis.' }),
        }),
      )
      .meta({ description: 'As the replica that answered observes them.' }),
    moneyCallsWaiting: z.int().meta({ description: 'For their batch, at the replica that answered.' }),
    reconciliation: ReconciliationRun.nullable().meta({
      description: 'The newest scheduled comparison of the books; null: there is none.',
    }),
    overdueHolds: z.int().meta({
      description: 'Open holds that should have expired: their settlements were read 5 minutes ago.',
    }),
    alarms: z
      .array(z.object({ kind: z.enum(['unknown', 'released', 'different']), settlements: z.int() }))
      .meta({ description: 'Settlements of the last 24 hours that should not exist, by kind.' }),
    deadLetters: z
      .array(z.object({ model: z.string(), settlements: z.int() }))
      .default([])
      .meta({
        description:
          'Settlements that could not be read or settled and wait in the queue Redis for an operator, by model; as the ' +
          'replica that answered observes them.',
      }),
    writeOffs: z
      .object({ requests: z.int(), writtenOffNano: Nano })
      .meta({ description: 'Of the last 24 hours.' }),
  })
  .meta({ id: 'State' })

export const STATE = {
  readState: defineRead({
    path: '/state',
    summary: 'Shows whether the books are up to date: settlements, comparisons, holds, alarms, write-offs.',
    roles: ALL,
    answer: State,
  }),
}
