import { z } from 'zod'
import { defineCommand } from '../command.ts'
import { flag } from '../fields.ts'

const top = defineCommand({
  name: 'top',
  summary: 'Shows what the cluster does at this moment, model by model, from the console.',
  fields: z.strictObject({ once: flag('print it once; so it is where the output is no terminal') }),
  examples: ['top', 'top --once'],
  run: async ({ once }, context) => await context.top(once),
})

export const TOP_COMMANDS = [top] as const
