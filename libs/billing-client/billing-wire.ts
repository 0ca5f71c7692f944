import { ACCOUNT_WEIGHT } from '#libs/contracts/account-weight.ts'
import { MAX_CHOICES } from '#libs/contracts/choices.ts'
import { ModelSpec } from '#libs/contracts/model-spec.ts'
import { toNanoCredits } from '#libs/money/nano-credits.ts'
import type { Catalog, Catalog__Output } from '#proto/types/millrace/billing/Catalog.ts'
import type {
  HoldAnswer as HoldMessage,
  HoldAnswer__Output,
} from '#proto/types/millrace/billing/HoldAnswer.ts'
import type { _millrace_billing_Key_Shortage__Output as Shortage__Output } from '#proto/types/millrace/billing/Key.ts'
import type { Key, Key__Output } from '#proto/types/millrace/billing/Key.ts'
import type {
  KeyChanges as KeyChangesMessage,
  KeyChanges__Output,
} from '#proto/types/millrace/billing/KeyChanges.ts'
import type { Reserve, Reserve__Output } from '#proto/types/millrace/billing/Reserve.ts'
import type { Resize, Resize__Output } from '#proto/types/millrace/billing/Resize.ts'
import type {
  BillingKey,
  HoldAnswer,
  KeyChanges,
  KeyShortage,
  ReserveCall,
  ResizeCall,
} from './billing-calls.ts'

/**
 * Conversion between `proto/billing.proto` and our types in both directions. The gateway's and billing's side are in
 * one file, so that they stay consistent. Functions that read a message throw a RangeError or a ZodError for values
 * outside the protocol.
 */

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i

/** The most tokens in one field, as in `Settlement`. A larger number is a bug of the sender. */
const MAX_TOKENS = 1_000_000_000

export function toReserveMessage({ rolling, ...call }: ReserveCall): Reserve {
  return { ...call, deadlineMs: String(call.deadlineMs), ...rolling }
}

export function fromReserveMessage(message: Reserve__Output): ReserveCall {
  return {
    reservationId: readUuid('reservation_id', message.reservationId),
    keyId: readUuid('key_id', message.keyId),
    model: message.model,
    inputTokens: readTokens('input_tokens', message.inputTokens),
    outputTokens: readTokens('output_tokens', message.outputTokens),
    deadlineMs: readTime('deadline_ms', message.deadlineMs),
    ...(message.expectedTokens > 0 && {
      rolling: {
        expectedTokens: readTokens('expected_tokens', message.expectedTokens),
        leastTokens: readTokens('least_tokens', message.leastTokens),
      },
    }),
    ...readChoices(message.choices),
  }
}

export function toResizeMessage({ deadlineMs, ...call }: ResizeCall): Resize {
  return { ...call, deadlineMs: String(deadlineMs ?? 0) }
}

export function fromResizeMessage(message: Resize__Output): ResizeCall {
  const { inputTokens, deadlineMs } = message
  return {
    reservationId: readUuid('reservation_id', message.reservationId),
    ...(inputTokens !== undefined && { inputTokens: readTokens('input_tokens', inputTokens) }),
    outputTokens: readTokens('output_tokens', message.outputTokens),
    ...(deadlineMs !== '0' && { deadlineMs: readTime('deadline_ms', deadlineMs) }),
    ...readChoices(message.choices),
  }
}

export function fromReleaseMessage(message: { reservationId: string }): string {
  return readUuid('reservation_id', message.reservationId)
}

export function toHoldMessage(answer: HoldAnswer): HoldMessage {
  if (answer.status === 'granted') {
    return {
      status: 'GRANTED',
      amountNano: answer.amountNano.toString(),
      outputTokens: answer.outputTokens,
      clamped: answer.clamped,
      inputPriceNano: answer.prices.inputPriceNano.toString(),
      cachedInputPriceNano: answer.prices.cachedInputPriceNano.toString(),
      outputPriceNano: answer.prices.outputPriceNano.toString(),
      receipt: answer.receipt,
    }
  }
  if (answer.status === 'key-rate') return { status: 'KEY_RATE', retryAfterS: answer.retryAfterS }
  if (answer.status === 'insufficient-credits' || answer.status === 'key-limit') {
    return {
      status: answer.status === 'key-limit' ? 'KEY_LIMIT' : 'INSUFFICIENT_CREDITS',
      availableNano: answer.availableNano.toString(),
      heldNano: answer.heldNano.toString(),
    }
  }
  return { status: REFUSALS[answer.status] }
}

const REFUSALS = {
  'key-invalid': 'KEY_INVALID',
  'model-unknown': 'MODEL_UNKNOWN',
  conflict: 'CONFLICT',
} as const

export function fromHoldMessage(message: HoldAnswer__Output): HoldAnswer {
  if (message.status === 'GRANTED') {
    return {
      status: 'granted',
      amountNano: toNanoCredits(message.amountNano),
      outputTokens: message.outputTokens,
      clamped: message.clamped,
      prices: {
        inputPriceNano: BigInt(message.inputPriceNano),
        cachedInputPriceNano: BigInt(message.cachedInputPriceNano),
        outputPriceNano: BigInt(message.outputPriceNano),
      },
      receipt: message.receipt,
    }
  }
  if (message.status === 'KEY_RATE') return { status: 'key-rate', retryAfterS: message.retryAfterS }
  if (message.status === 'INSUFFICIENT_CREDITS' || message.status === 'KEY_LIMIT') {
    return {
      status: message.status === 'KEY_LIMIT' ? 'key-limit' : 'insufficient-credits',
      availableNano: toNanoCredits(message.availableNano),
      heldNano: toNanoCredits(message.heldNano),
    }
  }
  if (message.status === 'KEY_INVALID') return { status: 'key-invalid' }
  if (message.status === 'MODEL_UNKNOWN') return { status: 'model-unknown' }
  if (message.status === 'CONFLICT') return { status: 'conflict' }
  throw new RangeError(`billing answered with the status ${message.status}`)
}

export function toKeyMessage(key: BillingKey): Key {
  return {
    keyId: key.keyId,
    accountId: key.accountId,
    weight: key.weight,
    keySha256: key.sha256,
    active: key.active,
    expiresAtMs: String(key.expiresAtMs ?? 0),
    ...(key.models !== null && { models: { ids: [...key.models] } }),
    ...(key.shortage !== null && {
      shortage: {
        ofLimit: key.shortage.of === 'key-limit',
        availableNano: key.shortage.availableNano.toString(),
        heldNano: key.shortage.heldNano.toString(),
      },
    }),
  }
}

export function fromKeyMessage(message: Key__Output): BillingKey {
  if (message.keySha256.length !== 32) throw new RangeError('key_sha256 is not 32 bytes')
  return {
    keyId: readUuid('key_id', message.keyId),
    accountId: readUuid('account_id', message.accountId),
    weight: readWeight(message.weight),
    sha256: message.keySha256,
    active: message.active,
    expiresAtMs: message.expiresAtMs === '0' ? null : readTime('expires_at_ms', message.expiresAtMs),
    models: message.models?.ids ?? null,
    shortage: message.shortage === null ? null : fromShortageMessage(message.shortage),
  }
}

function readWeight(weight: number): number {
  if (weight >= ACCOUNT_WEIGHT.min && weight <= ACCOUNT_WEIGHT.max) return weight
  throw new RangeError(`weight is ${weight}`)
}

function fromShortageMessage({ ofLimit, availableNano, heldNano }: Shortage__Output): KeyShortage {
  return {
    of: ofLimit ? 'key-limit' : 'account',
    availableNano: toNanoCredits(availableNano),
    heldNano: toNanoCredits(heldNano),
  }
}

export function toKeyChangesMessage(changes: KeyChanges, version: bigint): KeyChangesMessage {
  return { version: version.toString(), resync: changes.resync, keys: changes.keys.map(toKeyMessage) }
}

export function fromKeyChangesMessage(message: KeyChanges__Output): KeyChanges {
  return { resync: message.resync, keys: message.keys.map(fromKeyMessage) }
}

export function toCatalogMessage(models: readonly ModelSpec[], version: bigint): Catalog {
  return {
    version: version.toString(),
    models: models.map(({ created, maxOutputTokens, fixedState, ...model }) => ({
      ...model,
      createdS: String(created),
      maxOutput: maxOutputTokens,
      fixedState: fixedState ?? '',
    })),
  }
}

export function fromCatalogMessage(message: Catalog__Output): ModelSpec[] {
  return message.models.map(({ createdS, maxOutput, fixedState, ...model }) =>
    ModelSpec.parse({
      ...model,
      created: Number(createdS),
      maxOutputTokens: maxOutput,
      fixedState: fixedState === '' ? null : fixedState,
    }),
  )
}

function readUuid(field: string, value: string): string {
  if (!UUID.test(value)) throw new RangeError(`${field} is not a UUID`)
  return value.toLowerCase()
}

function readTokens(field: string, value: number): number {
  if (value > MAX_TOKENS) throw new RangeError(`${field} is above ${MAX_TOKENS}`)
  return value
}

/** Returns no field for one choice, as which an absent field counts. */
function readChoices(choices: number): { choices?: number } {
  if (choices > MAX_CHOICES) throw new RangeError(`choices is above ${MAX_CHOICES}`)
  return choices > 1 ? { choices } : {}
}

function readTime(field: string, value: string): number {
  const timeMs = Number(value)
  if (!Number.isSafeInteger(timeMs) || timeMs <= 0) throw new RangeError(`${field} is not a time`)
  return timeMs
}
