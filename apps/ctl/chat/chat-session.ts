import { setTimeout as sleep } from 'node:timers/promises'
import { formatCredits } from '#libs/money/nano-credits.ts'
import { CommandError } from '../command-error.ts'
import { toPrintable } from '../table.ts'
import type { ChatMessage, ChatReceipt, GatewayClient } from './gateway-client.ts'

export type ChatSession = {
  /**
   * Sends a message to the model and prints the answer, or executes a command such as /reset. Throws a CommandError if
   * there is no answer.
   */
  turn(line: string, signal: AbortSignal): Promise<void>
}

/** The receipt is requested at most this many times. Billing reads a settlement within a second. */
const RECEIPT_TRIES = 4
const RECEIPT_PAUSE_MS = 1_100
/**
 * The timing of an answer is requested at most this many times. Billing writes the timing after the charge: on a busy
 * machine some time later, and sometimes not at all.
 */
const TIMES_TRIES = 5
const TIMES_PAUSE_MS = 300

const HELP = `/model MODEL    talks to another model
/effort LEVEL   off, low, high or max; without a level the model's own
/system TEXT    begins anew with these instructions
/reset          forgets what was said
/receipt        shows the receipt of the last answer
Ctrl-C stops an answer, Ctrl-D ends the chat.
`

/**
 * Creates one conversation. `isPlain` is true if a program reads the output: then only the text of the answer is
 * printed, without thinking and without the receipt line (`toReceiptLine`). `isStyled` is true for a terminal, on which
 * thinking is dimmed.
 */
export function createChatSession(options: {
  client: GatewayClient
  model: string
  isPlain: boolean
  isStyled: boolean
  write: (text: string) => Promise<void>
}): ChatSession {
  const { client, isPlain, isStyled, write } = options
  let { model } = options
  let effort: string | null = null
  let system: string | null = null
  let said: ChatMessage[] = []
  let lastId: string | null = null

  const dim = (text: string) => (isStyled ? `\u001B[2m${text}\u001B[22m` : text)
  const note = async (line: string) => await write(dim(`${line}\n`))

  async function showReceipt(id: string): Promise<void> {
    for (let tries = 1; ; tries += 1) {
      const receipt = await client.receipt(id)
      if (receipt === null) return await note('no receipt')
      if (receipt.status !== 'running') return await note(toReceiptLine(await withTimes(receipt)))
      if (tries === RECEIPT_TRIES) return await note(`not settled yet · ${receipt.id}`)
      await sleep(RECEIPT_PAUSE_MS)
    }
  }

  async function withTimes(receipt: ChatReceipt): Promise<ChatReceipt> {
    let latest = receipt
    for (let tries = 0; latest.waited_ms === null && tries < TIMES_TRIES; tries += 1) {
      await sleep(TIMES_PAUSE_MS)
      latest = (await client.receipt(receipt.id)) ?? latest
    }
    return latest
  }

  async function answer(line: string, signal: AbortSignal): Promise<void> {
    const asked: ChatMessage[] = [...said, { role: 'user', content: line }]
    const instructions: ChatMessage[] = system === null ? [] : [{ role: 'system', content: system }]
    const body = {
      model,
      messages: [...instructions, ...asked],
      ...(effort !== null && { reasoning_effort: effort }),
    }
    let written = ''
    let shown = ''
    lastId = null
    try {
      for await (const { kind, text } of client.chat(body, { signal, onId: (id) => (lastId = id) })) {
        if (kind === 'thinking') {
          if (!isPlain) await write(dim(toShown(text)))
        } else {
          written += text
          await write(isPlain ? text : `${shown === 'thinking' ? '\n\n' : ''}${toShown(text)}`)
        }
        if (!isPlain) shown = kind
      }
    } catch (error) {
      if (!signal.aborted) throw error
    }
    said = [...asked, { role: 'assistant', content: written }]
    if (!written.endsWith('\n')) await write('\n')
    if (isPlain) return
    if (signal.aborted) await note('stopped')
    if (lastId !== null) await showReceipt(lastId)
  }

  async function command(name: string, rest: string): Promise<void> {
    switch (name) {
      case 'model': {
        const models = await client.models()
        if (!models.includes(rest)) return await note(`models: ${models.map(toPrintable).join(', ')}`)
        model = rest
        return await note(`now with ${toPrintable(model)}`)
      }
      case 'effort':
        effort = rest === '' ? null : rest
        return await note(`effort: ${effort === null ? "the model's own" : toPrintable(effort)}`)
      case 'system':
        system = rest === '' ? null : rest
        said = []
        return await note(system === null ? 'no instructions' : 'begun anew with these instructions')
      case 'reset':
        said = []
        return await note('forgotten')
      case 'receipt':
        return lastId === null ? await note('nothing was asked yet') : await showReceipt(lastId)
      default:
        return await write(HELP)
    }
  }

  return {
    async turn(line, signal) {
      const [, name, rest = ''] = isPlain ? [] : (/^\/(\w+)\s*([^]*)$/.exec(line) ?? [])
      if (name === undefined) await answer(line, signal)
      else await command(name, rest.trim())
    },
  }
}

/**
 * Returns a line like `waited 0.2 s · first token 0.4 s · 51 tok/s · 259 + 301 tokens · 0.0002324 credits · 01a1…`,
 * without unknown parts.
 */
function toReceiptLine(receipt: ChatReceipt): string {
  const { waited_ms: waited, latency, generation_time: ran, tokens_completion: completion } = receipt
  const seconds = (ms: number) => `${(ms / 1_000).toFixed(1)} s`
  const cost = receipt.nano.total_cost
  const parts = [
    waited === null ? null : `waited ${seconds(waited)}`,
    waited === null || latency === null ? null : `first token ${seconds(latency - waited)}`,
    ran === null || ran === 0 || completion === null
      ? null
      : `${Math.round((completion * 1_000) / ran)} tok/s`,
    receipt.tokens_prompt === null ? null : `${receipt.tokens_prompt} + ${completion ?? 0} tokens`,
    cost === null ? receipt.status : `${formatCredits(BigInt(cost))} credits`,
    receipt.id,
  ]
  return parts.filter((part) => part !== null).join(' · ')
}

/**
 * Makes a model's text printable: it may contain control characters that would change the terminal. Line breaks and
 * tabs stay.
 */
function toShown(text: string): string {
  return text
    .split(/([\n\t])/)
    .map((part) => (part === '\n' || part === '\t' ? part : toPrintable(part)))
    .join('')
}

/** Returns the model to talk to: the given one, else the first model of the gateway. */
export async function chooseModel(client: GatewayClient, given: string | undefined): Promise<string> {
  if (given !== undefined) return given
  const [first] = await client.models()
  if (first === undefined) throw new CommandError('refused', 'The gateway serves no model.')
  return first
}
