import { createInterface } from 'node:readline/promises'
import { text as readAll } from 'node:stream/consumers'
import { CommandError } from '../command-error.ts'
import type { CtlConfig } from '../config.ts'
import { toPrintable } from '../table.ts'
import { chooseModel, createChatSession } from './chat-session.ts'
import { findClientAccess } from './find-client-access.ts'
import { createGatewayClient } from './gateway-client.ts'

/**
 * Runs `millrace chat [MODEL]`. At a terminal it reads lines, each of them a message, until Ctrl-D. A prompt from a
 * pipe is one message, and only its answer is printed. Ctrl-C stops an answer; while no answer is running it ends the
 * chat.
 */
export async function runChat(
  given: { readonly model: string | undefined },
  config: CtlConfig,
  terminal: { write(text: string): Promise<void>; note(line: string): void },
): Promise<void> {
  const client = createGatewayClient(findClientAccess(config))
  const isPlain = !process.stdin.isTTY
  const isStyled = process.stdout.isTTY && config.NO_COLOR === undefined
  const model = await chooseModel(client, given.model)
  const session = createChatSession({ client, model, isPlain, isStyled, write: terminal.write })
  if (isPlain) {
    const prompt = (await readAll(process.stdin)).trimEnd()
    if (prompt === '') throw new CommandError('usage', 'The prompt is empty.')
    await session.turn(prompt, new AbortController().signal)
    return
  }

  const lines = createInterface({ input: process.stdin, output: process.stdout })
  let stop = new AbortController()
  let isAnswering = false
  lines.on('SIGINT', () => (isAnswering ? stop.abort() : lines.close()))
  await terminal.write(`${toPrintable(model)} · /help lists the commands\n`)
  lines.setPrompt('› ')
  lines.prompt()
  try {
    for await (const line of lines) {
      if (line.trim() !== '') {
        stop = new AbortController()
        isAnswering = true
        await session.turn(line, stop.signal).catch((error: unknown) => {
          if (!(error instanceof CommandError)) throw error
          terminal.note(toPrintable(error.message))
        })
        isAnswering = false
      }
      lines.prompt()
    }
  } finally {
    lines.close()
  }
}
