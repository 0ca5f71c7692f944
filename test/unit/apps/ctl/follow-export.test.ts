import { expect, test } from 'vitest'
import { CommandError } from '#apps/ctl/command-error.ts'
import { followExport } from '#apps/ctl/follow-export.ts'

type Asked = { limit: number; cursor: string | undefined }

/**
 * Creates a ledger of this many entries. Their cursors are their numbers. Answers come in pieces of this many letters.
 */
function ledgerOf(
  entries: number,
  { format, pieces = 7 }: { format: 'csv' | 'jsonl'; pieces?: number },
): { asked: Asked[]; open: (asked: Asked) => Promise<AsyncIterable<string>> } {
  const asked: Asked[] = []
  return {
    asked,
    async open(portion) {
      asked.push(portion)
      const first = Number(portion.cursor ?? 0) + 1
      const last = Math.min(entries, first + portion.limit - 1)
      const numbers = Array.from({ length: Math.max(0, last - first + 1) }, (_, place) => first + place)
      return cut(toText(numbers, format), pieces)
    },
  }
}

function toText(numbers: readonly number[], format: 'csv' | 'jsonl'): string {
  const titles = format === 'csv' ? 'seq,cursor\r\n' : ''
  return (
    titles +
    numbers
      .map((number) =>
        format === 'csv' ? `${number},${number}\r\n` : `${JSON.stringify({ cursor: String(number) })}\n`,
      )
      .join('')
  )
}

async function* cut(text: string, pieces: number): AsyncGenerator<string> {
  for (let place = 0; place < text.length; place += pieces) yield text.slice(place, place + pieces)
}

async function exported(
  { open }: { open: (asked: Asked) => Promise<AsyncIterable<string>> },
  options: { format: 'csv' | 'jsonl'; limit?: number; cursor?: string; portion: number },
): Promise<string> {
  let text = ''
  const write = async (part: string) => void (text += part)
  await followExport({ open, write }, { limit: undefined, cursor: undefined, ...options })
  return text
}

const upTo = (count: number) => Array.from({ length: count }, (_, place) => place + 1)

test.each(['csv', 'jsonl'] as const)(
  'all entries are written once, in order, portion after portion: %s',
  async (format) => {
    for (const entries of [0, 1, 9, 10, 11, 30]) {
      for (const pieces of [1, 7, 1_000]) {
        const ledger = ledgerOf(entries, { format, pieces })
        expect(await exported(ledger, { format, portion: 10 })).toBe(toText(upTo(entries), format))
        expect(ledger.asked.length).toBe(Math.floor(entries / 10) + 1)
      }
    }
  },
)

test('at most the limit is requested, from the cursor on', async () => {
  const ledger = ledgerOf(100, { format: 'jsonl' })
  const text = await exported(ledger, { format: 'jsonl', portion: 10, limit: 25, cursor: '3' })
  expect(text).toBe(toText(upTo(28).slice(3), 'jsonl'))
  expect(ledger.asked).toEqual([
    { limit: 10, cursor: '3' },
    { limit: 10, cursor: '13' },
    { limit: 5, cursor: '23' },
  ])
})

test('an export that is cut off ends with whole lines and reports the cursor to continue with', async () => {
  let text = ''
  async function* broken() {
    yield toText([1, 2], 'csv')
    yield '3,'
    throw new Error('aborted')
  }
  const failing = followExport(
    { open: async () => broken(), write: async (part) => void (text += part) },
    { format: 'csv', limit: undefined, cursor: undefined, portion: 10 },
  )
  await expect(failing).rejects.toThrow(
    new CommandError('unreachable', 'The export was cut off (aborted): continue with --cursor 2.'),
  )
  expect(text).toBe(toText([1, 2], 'csv'))
})

test('a last line without its end is an error', async () => {
  const open = async () => cut('{"cursor":"1"}', 3)
  await expect(exported({ open }, { format: 'jsonl', portion: 10 })).rejects.toThrow('start again')
})
