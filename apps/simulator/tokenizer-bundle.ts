import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { crc32, deflateRawSync } from 'node:zlib'

/**
 * Returns a zip of the top-level files that the servicer selects from the model's folder. A client that uses these
 * files tokenizes like the engine. The entries of the zip have no timestamps, so equal files give equal bytes.
 */
export async function bundleTokenizer(folder: string): Promise<Buffer> {
  const names = (await readdir(folder)).filter(isTokenizerFile).sort(byServicerOrder)
  const files = await Promise.all(
    names.map(async (name) => ({ name, data: await readFile(join(folder, name)) })),
  )
  return zip(files)
}

const NAMED = [
  'tokenizer.json',
  'tokenizer_config.json',
  'config.json',
  'generation_config.json',
  'special_tokens_map.json',
  'vocab.json',
  'merges.txt',
  'vocab.txt',
  'chat_template.json',
  'preprocessor_config.json',
  'video_preprocessor_config.json',
  'processor_config.json',
]

function isTokenizerFile(name: string): boolean {
  return NAMED.includes(name) || /\.(?:model|tiktoken|jinja)$/u.test(name)
}

function byServicerOrder(a: string, b: string): number {
  const rank = (name: string) => (NAMED.includes(name) ? NAMED.indexOf(name) : NAMED.length)
  return rank(a) - rank(b) || (a < b ? -1 : 1)
}

/** Writes a zip by PKZIP APPNOTE 4.3: local headers with the deflated files, then the central directory and its end. */
function zip(files: readonly { name: string; data: Buffer }[]): Buffer {
  const locals: Buffer[] = []
  const directory: Buffer[] = []
  let offset = 0
  for (const { name, data } of files) {
    const packed = deflateRawSync(data)
    const fields = commonFields({ name, data, packed })
    const encodedName = Buffer.from(name)
    const local = Buffer.concat([uint32(0x04034b50), fields, encodedName, packed])
    const trailer = Buffer.concat([Buffer.alloc(10), uint32(offset)])
    directory.push(Buffer.concat([uint32(0x02014b50), uint16(VERSION), fields, trailer, encodedName]))
    locals.push(local)
    offset += local.length
  }
  const central = Buffer.concat(directory)
  const counts = Buffer.concat([uint16(files.length), uint16(files.length)])
  const end = [uint32(0x06054b50), uint32(0), counts, uint32(central.length), uint32(offset), uint16(0)]
  return Buffer.concat([...locals, central, ...end])
}

const VERSION = 20
const DEFLATED = 8
/** 1 January 1980, the earliest date of the format. */
const NO_DATE = 0x0021

function commonFields({ name, data, packed }: { name: string; data: Buffer; packed: Buffer }): Buffer {
  return Buffer.concat([
    uint16(VERSION),
    uint16(0),
    uint16(DEFLATED),
    uint16(0),
    uint16(NO_DATE),
    uint32(crc32(data)),
    uint32(packed.length),
    uint32(data.length),
    uint16(Buffer.byteLength(name)),
    uint16(0),
  ])
}

function uint16(value: number): Buffer {
  const bytes = Buffer.alloc(2)
  bytes.writeUInt16LE(value)
  return bytes
}

function uint32(value: number): Buffer {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32LE(value)
  return bytes
}
