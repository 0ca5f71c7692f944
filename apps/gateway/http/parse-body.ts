import { isUtf8 } from 'node:buffer'
import { z } from 'zod'
import { ApiError } from '#libs/contracts/api-error.ts'
import { isJsonObject, type JsonObject } from '#libs/json-schema/json-schema.ts'
import { checkJsonSize } from './check-json-size.ts'
import { shorten } from './shorten.ts'

/**
 * Returns the body as a JSON object. Throws an `ApiError` `invalid_request` for a body that is absent, not JSON in
 * UTF-8, not an object, or of more levels or values than any request needs.
 */
export function readJsonObject(body: unknown): JsonObject {
  return readJsonText(body).object
}

/** Like `readJsonObject`, and also returns the text that was parsed. */
export function readJsonText(body: unknown): { object: JsonObject; text: string } {
  const { value, text } = readJson(body)
  if (!isJsonObject(value)) throw new ApiError('invalid_request', 'The body must be a JSON object.')
  return { object: value, text }
}

/** Throws an `ApiError` `invalid_request` that names the first of `fields` that is absent or null. */
export function requireFields(body: JsonObject, fields: readonly string[]): void {
  for (const field of fields) {
    if (body[field] === undefined || body[field] === null) {
      throw new ApiError('invalid_request', `'${field}' is required.`, { param: field })
    }
  }
}

/**
 * Returns `body` as parsed by `schema`. If the body does not fit, throws an `ApiError` `invalid_request`. Its `param`
 * is the first wrong field. Its message contains the schema's message about this field, which says what is allowed
 * there and begins with "expected".
 */
export function parseBody<Schema extends z.ZodType>(schema: Schema, body: JsonObject): z.output<Schema> {
  const result = schema.safeParse(body)
  if (result.success) return result.data
  const issue = result.error.issues[0]
  const unknown = issue?.code === 'unrecognized_keys' ? issue.keys.slice(0, 1) : []
  const param = issue === undefined ? '' : toFieldName([...issue.path, ...unknown])
  const expected =
    unknown.length > 0 ? 'expected no field of this name' : (issue?.message ?? 'expected another value')
  throw new ApiError('invalid_request', `'${param}': ${expected}.`, { param })
}

/** An optional field of a body; null means absent. `optional` is outermost, so that zod skips an absent field. */
export function optional<Schema extends z.ZodType>(schema: Schema) {
  return schema
    .nullable()
    .transform((value) => value ?? undefined)
    .optional()
}

function readJson(body: unknown): { value: unknown; text: string } {
  if (!Buffer.isBuffer(body) || body.length === 0) throw new ApiError('invalid_request', NOT_JSON)
  if (!isUtf8(body) || body.subarray(0, 2).includes(0)) throw new ApiError('invalid_request', NOT_UTF8)
  const json = withoutMark(body)
  const excess = checkJsonSize(json)
  if (excess !== null) throw new ApiError('invalid_request', `The body must not be ${excess}.`)
  try {
    const text = withoutLoneSurrogates(json.toString('utf8'))
    return { value: JSON.parse(text), text }
  } catch {
    // The parser's message is dropped: it quotes the body, which must not get into a log.
    throw new ApiError('invalid_request', NOT_JSON)
  }
}

const NOT_JSON = 'The body must be JSON.'
/** A JSON text in UTF-16 is valid UTF-8 as well, but one of its first two bytes is a NUL. */
const NOT_UTF8 =
  'The body must be JSON in UTF-8; other charsets, such as UTF-16 and latin-1, are not supported.'

/** RFC 8259, section 8.1: a reader may ignore a byte order mark. */
function withoutMark(body: Buffer): Buffer {
  return body[0] === 0xef && body[1] === 0xbb && body[2] === 0xbf ? body.subarray(3) : body
}

/**
 * Replaces lone surrogates by U+FFFD, as lenient decoders do. JSON can contain them as escapes in keys and strings, but
 * UTF-8 cannot encode them, so no later step could send the text.
 */
function withoutLoneSurrogates(json: string): string {
  if (!SURROGATE_ESCAPE.test(json)) return json
  return json.replaceAll(ANY_ESCAPE, (escape, lone: string | undefined) =>
    lone === undefined ? escape : '\\ufffd',
  )
}

const SURROGATE_ESCAPE = /\\u[dD][89a-fA-F]/u
/** Matches a surrogate pair, a lone surrogate (in a group of its own), or any other escape. */
const ANY_ESCAPE =
  /\\u[dD][89abAB][\da-fA-F]{2}\\u[dD][c-fC-F][\da-fA-F]{2}|(\\u[dD][89a-fA-F][\da-fA-F]{2})|\\[^]/gu

/**
 * Returns the name of a field, such as `messages[0].content` for the path `['messages', 0, 'content']`. The result is
 * shortened, because it may contain keys that the caller has chosen.
 */
function toFieldName(path: readonly PropertyKey[]): string {
  const name = path.reduce<string>((outer, step) => {
    if (typeof step === 'number') return `${outer}[${step}]`
    return outer === '' ? String(step) : `${outer}.${String(step)}`
  }, '')
  return shorten(name)
}
