import { z } from 'zod'
import { defineCommand } from '../command.ts'
import { optionalArgument } from '../fields.ts'

const chat = defineCommand({
  name: 'chat',
  summary:
    'Talks to a model with an API key (OPENAI_API_KEY, or that of a running npm start); a piped prompt prints the answer alone.',
  fields: z.strictObject({ model: optionalArgument('MODEL', 'its id; default: the first of the catalog') }),
  examples: ['chat', 'chat demo-chat'],
  async run({ model }, context) {
    await context.chat(model)
    return undefined
  },
})

export const CHAT_COMMANDS = [chat]
