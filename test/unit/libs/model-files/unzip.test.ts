import { deflateRawSync } from 'node:zlib'
import { describe, expect, it } from 'vitest'
import { bundleTokenizer } from '#apps/simulator/tokenizer-bundle.ts'
import { isModelFile, readModelFolder } from '#libs/model-files/model-files.ts'
import { unzip, ZipError } from '#libs/model-files/unzip.ts'
import { IS_LONG } from '#test/support/long.ts'

const LIMITS = { entries: 50, unpackedBytes: 1_000_000 }
const bundle = await bundleTokenizer('models/tiny')

/** Returns the bundle with every `from` replaced by another text of the same length. */
function forge(from: string | Buffer, to: string | Buffer): Buffer {
  const [old, next] = [Buffer.from(from), Buffer.from(to)]
  const forged = Buffer.from(bundle)
  let found = 0
  for (let at = forged.indexOf(old); at !== -1; at = forged.indexOf(old, at + old.length)) {
    next.copy(forged, at)
    found += 1
  }
  expect([next.length, found > 0]).toEqual([old.length, true])
  return forged
}

const open = async (archive: Buffer, limits = LIMITS) => await unzip(archive, limits, () => true)

describe('an archive', () => {
  it('returns the wanted files, byte for byte', async () => {
    expect(await unzip(bundle, LIMITS, isModelFile)).toEqual(await readModelFolder('models/tiny'))
    expect([...(await unzip(bundle, LIMITS, (name) => name === 'config.json')).keys()]).toEqual([
      'config.json',
    ])
  })

  it('may end with a comment', async () => {
    const commented = Buffer.concat([bundle, Buffer.from('hello')])
    commented.writeUInt16LE(5, bundle.length - 2)
    expect((await open(commented)).size).toBe(4)
  })
})

describe('refused is', () => {
  it.for(['../fig.json', '..\\fig.json', '/config.jso', 'C:onfig.jso', 'confi\0.json', 'sub/fi.json'])(
    'the name %j, which may lead elsewhere',
    async (name) => {
      await expect(open(forge('config.json', name.padEnd(11, 'x').slice(0, 11)))).rejects.toThrow(
        /not a plain file name/,
      )
    },
  )

  it('an archive with too many files', async () => {
    await expect(open(bundle, { ...LIMITS, entries: 3 })).rejects.toThrow(/has 4 files, more than 3/)
  })

  it('one whose files are too large, wanted or not', async () => {
    const limits = { ...LIMITS, unpackedBytes: 10_000 }
    await expect(unzip(bundle, limits, () => false)).rejects.toThrow(/more than 10000 bytes/)
  })

  it('a file that is larger than the directory says', async () => {
    const size = Buffer.alloc(4)
    size.writeUInt32LE((await readModelFolder('models/tiny')).get('config.json')?.length ?? 0)
    const small = Buffer.alloc(4)
    small.writeUInt32LE(10)
    await expect(open(forge(size, small))).rejects.toThrow(ZipError)
  })

  it('one with a changed byte in a file', async () => {
    const from = deflateRawSync((await readModelFolder('models/tiny')).get('config.json') ?? '').subarray(
      0,
      40,
    )
    const changed = Buffer.from(from)
    changed[20] = (changed[20] ?? 0) ^ 1
    await expect(open(forge(from, changed))).rejects.toThrow(ZipError)
  })

  it('a name that occurs twice', async () => {
    // No two files have names of the same length, so the directory entry of one is repeated instead.
    const twice = forge('generation_config.json', 'tokenizer_config.json2')
    expect((await open(twice)).has('tokenizer_config.json2')).toBe(true)
    await expect(open(doubled())).rejects.toThrow(/config\.json twice/)
  })

  it.for([0, 1, 21, 100, 1_000, bundle.length - 1])(
    'an archive of which there are %d bytes',
    async (bytes) => {
      await expect(open(bundle.subarray(0, bytes))).rejects.toThrow(ZipError)
    },
  )

  it('an archive with any byte changed, unless the byte does not affect the files', async () => {
    const whole = await open(bundle)
    const problems: unknown[] = []
    let refused = 0
    const step = IS_LONG ? 7 : 35
    for (let at = 0; at < bundle.length; at += step) {
      const changed = Buffer.from(bundle)
      changed[at] = (changed[at] ?? 0) ^ 0x55
      try {
        for (const [name, data] of await open(changed)) {
          if (whole.get(name)?.equals(data) === false) problems.push({ at, name })
        }
      } catch (error) {
        refused += 1
        if (!(error instanceof ZipError)) problems.push({ at, error })
      }
    }
    expect(problems).toEqual([])
    expect(refused).toBeGreaterThan(7_000 / step)
  })
})

/** Returns a bundle whose directory lists its first file twice. */
function doubled(): Buffer {
  const end = bundle.length - 22
  const start = bundle.readUInt32LE(end + 16)
  const first = bundle.indexOf(Buffer.from([0x50, 0x4b, 0x01, 0x02]), start)
  const second = bundle.indexOf(Buffer.from([0x50, 0x4b, 0x01, 0x02]), first + 4)
  const config = bundle.subarray(second, bundle.indexOf(Buffer.from([0x50, 0x4b, 0x01, 0x02]), second + 4))
  const tail = Buffer.from(bundle.subarray(end))
  tail.writeUInt16LE(tail.readUInt16LE(10) + 1, 10)
  return Buffer.concat([bundle.subarray(0, end), config, tail])
}
