import { pino } from 'pino'
import { describe, expect, it, onTestFinished } from 'vitest'
import { createLongTextThreads, type LongTextThreads } from '#apps/worker/prompt/long-text-threads.ts'
import type { Encoder } from '#libs/tokenizer/encoding/encoder.ts'
import { openNativeEncoder } from '#libs/tokenizer/encoding/native-encoder.ts'
import { referenceTexts, referenceTokenizers } from '../../../libs/tokenizer/reference-tokenizers.ts'

const all = referenceTexts.join(' ')
const long = all.repeat(Math.ceil(40_000 / all.length))

function openThreads() {
  const threads = createLongTextThreads(pino({ level: 'silent' }))
  onTestFinished(async () => await threads.close())
  return threads
}

/** Wraps `encoder` and counts its calls. */
function counted(encoder: Encoder) {
  const calls = { count: 0 }
  return {
    calls,
    encoder: {
      async encode(...asked: Parameters<Encoder['encode']>) {
        calls.count += 1
        return await encoder.encode(...asked)
      },
    },
  }
}

/** Wraps `encoder`, and returns once a thread encodes long texts. `calls` counts what the given encoder encodes then. */
async function wrapStarted(threads: LongTextThreads, encoder: Encoder, json: string) {
  const here = counted(encoder)
  const wrapped = threads.wrapEncoder(here.encoder, json)
  const encodedHere = async () => {
    const before = here.calls.count
    await wrapped.encode([long], { whole: true })
    return here.calls.count - before
  }
  await expect.poll(encodedHere, { timeout: 60_000 }).toBe(0)
  here.calls.count = 0
  return { calls: here.calls, encoder: wrapped }
}

describe.for(referenceTokenizers)('$kind', async ({ file }) => {
  const native = await openNativeEncoder(file)

  it('a thread gives long texts the ids that the library gives them', async () => {
    const { encoder, calls } = await wrapStarted(openThreads(), native, file.json)
    for (const whole of [true, false]) {
      expect(await encoder.encode([long, 'short'], { whole })).toEqual(
        await native.encode([long, 'short'], { whole }),
      )
    }
    expect(calls.count).toBe(0)
  })
})

describe('the calling thread', async () => {
  const [{ file } = { file: null }] = referenceTokenizers
  if (file === null) throw new Error('there are reference tokenizers')
  const native = await openNativeEncoder(file)
  const longest = long.repeat(Math.ceil(530_000 / long.length))
  const idsOfLongest = native.encode([longest], { whole: true })

  it('encodes short texts', async () => {
    const here = counted(native)
    const encoder = openThreads().wrapEncoder(here.encoder, file.json)
    expect(await encoder.encode(['short'], { whole: false })).toEqual(
      await native.encode(['short'], { whole: false }),
    )
    expect(here.calls.count).toBe(1)
  })

  it('encodes the first long text, because its thread is still starting', async () => {
    const here = counted(native)
    const encoder = openThreads().wrapEncoder(here.encoder, file.json)
    expect(await encoder.encode([long], { whole: true })).toEqual(
      await native.encode([long], { whole: true }),
    )
    expect(here.calls.count).toBe(1)
  })

  it('waits for the thread if the first text would block for long', async () => {
    const here = counted(native)
    const encoder = openThreads().wrapEncoder(here.encoder, file.json)
    expect(await encoder.encode([longest], { whole: true })).toEqual(await idsOfLongest)
    expect(here.calls.count).toBe(0)
  })

  it('encodes what a thread has not ended when it is closed', async () => {
    const threads = openThreads()
    const { encoder } = await wrapStarted(threads, native, file.json)
    const expected = await native.encode([long], { whole: true })
    const cut = encoder.encode([long], { whole: true })
    await threads.close()
    expect(await cut).toEqual(expected)
  })

  it('encodes all texts after the threads are closed, and starts none', async () => {
    const threads = openThreads()
    const encoder = threads.wrapEncoder(native, file.json)
    await threads.close()
    const started: unknown[] = []
    const note = (thread: unknown) => started.push(thread)
    process.on('worker', note)
    onTestFinished(() => void process.off('worker', note))
    expect(await encoder.encode([long], { whole: true })).toEqual(
      await native.encode([long], { whole: true }),
    )
    expect(started).toEqual([])
  })

  // Each thread loads a tokenizer, and one of them encodes for seconds.
  it('leaves a thread to the others while one has a text of megabytes', { timeout: 120_000 }, async () => {
    const { encoder } = await wrapStarted(openThreads(), native, file.json)
    const ended: string[] = []
    const encode = async (name: string, text: string) => {
      await encoder.encode([text], { whole: false })
      ended.push(name)
    }
    const huge = encode('huge', all.repeat(Math.ceil(1_000_000 / all.length)))
    await Promise.all(['a', 'b', 'c', 'd'].map(async (name) => await encode(name, long)))
    await huge
    expect(ended).toEqual(['a', 'b', 'c', 'd', 'huge'])
  })

  it('encodes long texts where a thread does not start', async () => {
    const encoder = openThreads().wrapEncoder(native, '{}')
    expect(await encoder.encode([longest], { whole: true })).toEqual(await idsOfLongest)
  })
})
