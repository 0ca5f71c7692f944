import { createHash, randomBytes } from 'node:crypto'
import { crc32 } from 'node:zlib'

/** Every key begins with the prefix of its kind, so that secret scanners find keys in public code. */
const PREFIXES = { api: 'mr_live_', management: 'mr_manage_' } as const

type Kind = keyof typeof PREFIXES

const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
const BASE = ALPHABET.length

/** 33 base62 characters carry 196 bits. */
const RANDOM_LENGTH = 33

/** 62⁶ > 2³²: six characters are enough for every CRC32. */
const CHECKSUM_LENGTH = 6

const BODY = `[0-9A-Za-z]{${RANDOM_LENGTH + CHECKSUM_LENGTH}}`
const SHAPES = {
  api: new RegExp(`^${PREFIXES.api}${BODY}$`),
  management: new RegExp(`^${PREFIXES.management}${BODY}$`),
} as const

/**
 * Returns a new API key: `mr_live_`, 196 random bits and a checksum. It is shown to its owner once, and only its hash
 * is stored.
 */
export function createApiKey(): string {
  return create('api')
}

/**
 * Returns a new management key, which begins with `mr_manage_`. It manages the API keys of an account, and can never
 * spend.
 */
export function createManagementKey(): string {
  return create('management')
}

/** Returns whether `text` has the form and the checksum of an API key, so that a typo is refused without a look-up. */
export function isWellFormedApiKey(text: string): boolean {
  return isWellFormed('api', text)
}

export function isWellFormedManagementKey(text: string): boolean {
  return isWellFormed('management', text)
}

/**
 * Returns the SHA-256 of the whole text, under which the key is stored and looked up. A slow hash would not protect 196
 * random bits any better, and would let callers exhaust the CPU.
 */
export function hashApiKey(text: string): Buffer {
  return createHash('sha256').update(text).digest()
}

function create(kind: Kind): string {
  const body = PREFIXES[kind] + randomText(RANDOM_LENGTH)
  return body + checksum(body)
}

function isWellFormed(kind: Kind, text: string): boolean {
  return SHAPES[kind].test(text) && text.endsWith(checksum(text.slice(0, -CHECKSUM_LENGTH)))
}

function randomText(length: number): string {
  const characters: string[] = []
  while (characters.length < length) {
    for (const byte of randomBytes(length)) {
      // The byte values from the largest multiple of BASE up to 255 are skipped. If they were used, the first
      // characters of the alphabet would come more often than the others.
      if (byte < 256 - (256 % BASE) && characters.length < length)
        characters.push(ALPHABET.charAt(byte % BASE))
    }
  }
  return characters.join('')
}

function checksum(text: string): string {
  let rest = crc32(text)
  let digits = ''
  for (let digit = 0; digit < CHECKSUM_LENGTH; digit += 1) {
    digits = ALPHABET.charAt(rest % BASE) + digits
    rest = Math.floor(rest / BASE)
  }
  return digits
}
