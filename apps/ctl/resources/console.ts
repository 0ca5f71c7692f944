import { z } from 'zod'
import { ADMIN } from '#libs/admin-contract/admin-contract.ts'
import { parseAnswer } from '../admin.ts'
import { CommandError } from '../command-error.ts'
import { defineCommand } from '../command.ts'

const openConsole = defineCommand({
  name: 'console',
  summary: 'Prints a link that signs a browser in to the console, once and within 60 seconds.',
  fields: z.strictObject({}),
  examples: ['console'],
  async run(_given, { admin, consoleUrl }) {
    const url = consoleUrl()
    const answer = await admin.ask(ADMIN.openSession, { ticket: true })
    const opened = parseAnswer(ADMIN.openSession.answer, answer)
    if (opened.kind !== 'ticket') throw new CommandError('unreachable', 'Billing handed out no ticket.')
    // The ticket stands after the hash, so that no server and no log sees it.
    const link = `${url}/#ticket=${opened.ticket}`
    return { answer: { link, expiresAt: opened.expiresAt }, text: `${link}\n` }
  },
})

export const CONSOLE_COMMANDS = [openConsole] as const
