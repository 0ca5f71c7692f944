// Measures the CPU time of encoding one text, with the plain encoder and with the native library, which uses a thread
// for each call.
//
//   npm run bench:encoding [-- --texts 2000]
import { parseArgs } from 'node:util'
import { readFile } from 'node:fs/promises'
import { openNativeEncoder } from '../libs/tokenizer/encoding/native-encoder.ts'
import { openPlainEncoder } from '../libs/tokenizer/encoding/plain-encoder.ts'
import { parseTokenizerFile } from '../libs/tokenizer/tokenizer-file.ts'

const { values } = parseArgs({ options: { texts: { type: 'string', default: '2000' } } })
const count = Number(values.texts)

const README = await readFile(new URL('../README.md', import.meta.url), 'utf8')
const WORDS = README.replaceAll(/[^\t\n -~]/gu, '').split(/(?=\s)/u)

const file = parseTokenizerFile(
  await readFile(new URL('../models/tiny/tokenizer.json', import.meta.url), 'utf8'),
)
const native = await openNativeEncoder(file)
const opened = await openPlainEncoder(file, native)
if (opened === null) throw new Error('the tokenizer is not one for the plain encoder')
const plain = opened

for (const characters of [40, 250, 1_000, 4_096]) {
  await compare(`${characters} characters of English`, () => toText(characters, pickWord))
}
await compare('4096 characters of unknown words', () => toText(4_096, inventWord))

async function compare(name: string, makeText: () => string): Promise<void> {
  const texts = Array.from({ length: count }, makeText)
  const [plainUs, nativeUs] = [
    await cpuUs(texts, async (text) => void plain([text])),
    await cpuUs(texts, async (text) => void (await native.encode([text], { whole: false }))),
  ]
  console.log(`${name.padEnd(34)} ${plainUs.toFixed(1)} µs, the library ${nativeUs.toFixed(1)} µs`)
}

/**
 * Returns the CPU time per text, over all threads. The first tenth of the texts is not counted, because cold code costs
 * several times as much.
 */
async function cpuUs(texts: readonly string[], encode: (text: string) => Promise<void>): Promise<number> {
  const warmUp = Math.ceil(texts.length / 10)
  for (const text of texts.slice(0, warmUp)) await encode(text)
  const before = process.cpuUsage()
  for (const text of texts.slice(warmUp)) await encode(text)
  const { user, system } = process.cpuUsage(before)
  return (user + system) / (texts.length - warmUp)
}

function toText(characters: number, word: () => string): string {
  let text = ''
  while (text.length < characters) text += word()
  return text.slice(0, characters)
}

function pickWord(): string {
  return WORDS[Math.floor(Math.random() * WORDS.length)] ?? ''
}

function inventWord(): string {
  const letters = Array.from({ length: 10 }, () => 97 + Math.floor(Math.random() * 26))
  return ` ${String.fromCharCode(...letters)}`
}
