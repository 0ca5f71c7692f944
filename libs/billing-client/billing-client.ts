import type { ChannelCredentials } from '@grpc/grpc-js'
import type { ModelSpec } from '#libs/contracts/model-spec.ts'
import { callUnary } from '#libs/grpc/call-unary.ts'
import { loadProto } from '#libs/grpc/load-proto.ts'
import { openGrpcClient } from '#libs/grpc/open-client.ts'
import type { Logger } from '#libs/telemetry/logger.ts'
import type { ProtoGrpcType } from '#proto/types/billing.ts'
import type { LookUpKeyRequest } from '#proto/types/millrace/billing/LookUpKeyRequest.ts'
import type { LookUpKeyResponse__Output } from '#proto/types/millrace/billing/LookUpKeyResponse.ts'
import type { MoneyReply__Output } from '#proto/types/millrace/billing/MoneyReply.ts'
import { createAskAccount, type AskAccount } from './ask-account.ts'
import type { BillingKey, HoldAnswer, KeyChanges, ReserveCall, ResizeCall } from './billing-calls.ts'
import { BillingUnavailable } from './billing-unavailable.ts'
import {
  fromCatalogMessage,
  fromHoldMessage,
  fromKeyChangesMessage,
  fromKeyMessage,
  toReserveMessage,
  toResizeMessage,
} from './billing-wire.ts'
import { followStream } from './follow-stream.ts'
import { createMoneyStream } from './money-stream.ts'

/**
 * The gateway's client of billing. Every call rejects with BillingUnavailable when no answer arrives within its
 * timeout, and with a RangeError when billing refuses the call as malformed.
 */
export type BillingClient = {
  reserve(call: ReserveCall): Promise<HoldAnswer>
  /**
   * May be called only while the reservation is held. Of calls with `inputTokens`, a repeated call with the same numbers
   * of tokens gets the same answer; a call with other numbers gets `conflict`.
   */
  resize(call: ResizeCall): Promise<HoldAnswer>
  /**
   * Releases a whole hold. Billing records the release of an unknown id, and refuses a reserve with this id that
   * arrives later. Returns false if the hold had been settled or had expired.
   */
  release(reservationId: string): Promise<boolean>
  /** Returns null if the key is unknown, revoked or expired. */
  lookUpKey(sha256: Buffer): Promise<BillingKey | null>
  /**
   * `keyId` of the result names the management key. Returns null if the key is unknown, revoked or expired, or if its
   * account is closed.
   */
  lookUpManagementKey(sha256: Buffer): Promise<BillingKey | null>
  readonly askAccount: AskAccount
  /**
   * Reports every change of a key, also across restarts of billing, until the returned function is called. No change is
   * missed: changes made while the connection is lost are reported when the connection is open again.
   */
  watchKeys(listeners: {
    onChanges: (changes: KeyChanges) => void
    onState?: (connected: boolean) => void
  }): () => void
  /** Reports the whole catalog at once and after each change, until the returned function is called. */
  watchCatalog(listeners: {
    onCatalog: (models: ModelSpec[]) => void
    onState: (connected: boolean) => void
  }): () => void
  /** Ends all streams; outstanding calls reject. */
  close(): void
}

/**
 * The channel reconnects with pauses of 0.1 to 1 s. Keep-alive pings detect a peer that has stopped answering. Each
 * stream and each call goes to the next connected replica in turn. The names of the replicas are resolved again
 * whenever a connection ends, at most once a second, because after a roll-out no replica has its former address. The
 * size of messages is limited to 16 MiB. The largest one is a year's activity of an account: about 160 bytes for each
 * day and model.
 */
const CHANNEL_OPTIONS = {
  'grpc.service_config': JSON.stringify({ loadBalancingConfig: [{ round_robin: {} }] }),
  'grpc.dns_min_time_between_resolutions_ms': 1_000,
  'grpc.initial_reconnect_backoff_ms': 100,
  'grpc.min_reconnect_backoff_ms': 100,
  'grpc.max_reconnect_backoff_ms': 1_000,
  'grpc.keepalive_time_ms': 5_000,
  'grpc.keepalive_timeout_ms': 2_000,
  'grpc.max_receive_message_length': 16 * 1024 * 1024,
} as const

/**
 * The time after which a stream is replaced by a new one, which may go to another replica. Billing bounds the age of
 * its connections. The streams of a connection that has reached this age get more than `STREAM_AGE_MS` to end
 * (`apps/billing/service.ts`).
 */
export const STREAM_AGE_MS = 60_000

/**
 * Creates a client that connects to billing at `address` (`host:port`, or several IP addresses of one family, separated
 * by commas) as soon as billing can be reached. The replicas behind the address share the calls.
 */
export function createBillingClient(options: {
  address: string
  /** TLS for both sides; plaintext unless given. */
  credentials?: ChannelCredentials
  log?: Logger
  /** The timeout of each call; 2 s unless given. */
  timeoutMs?: number
  /** How many money calls may wait for an answer at once; 10,000 unless given. */
  maxOutstanding?: number
  /** The age at which a stream is replaced; `STREAM_AGE_MS` unless given. */
  streamAgeMs?: number
  /**
   * Returns the shortest time, in ms, from one message with money calls to the next; 0 unless given. Calls that are
   * made within this time are gathered into one message. The function is called for each message.
   */
  gatherMs?: () => number
}): BillingClient {
  const { address, log, timeoutMs = 2_000, maxOutstanding = 10_000, gatherMs = () => 0 } = options
  const { credentials, streamAgeMs = STREAM_AGE_MS } = options
  const { Billing } = loadProto<ProtoGrpcType>('billing.proto').millrace.billing
  const client = openGrpcClient(Billing, address, {
    options: CHANNEL_OPTIONS,
    ...(credentials === undefined ? {} : { credentials }),
  })
  // The age is random, so that gateways that were started together do not renew their streams together.
  const renewAfterMs = () => streamAgeMs * (0.8 + 0.2 * Math.random())
  const money = createMoneyStream({
    open: () => client.money(),
    timeoutMs,
    maxOutstanding,
    renewAfterMs,
    gatherMs,
  })
  const stops = new Set<() => void>()

  /** Registers a watch, so that `close` ends it. */
  function keep(stop: () => void): () => void {
    stops.add(stop)
    return () => {
      stops.delete(stop)
      stop()
    }
  }

  function report(watch: string, onState: ((connected: boolean) => void) | undefined) {
    return (connected: boolean, reason: string) => {
      if (connected) log?.info({ watch, address }, 'billing watch connected')
      else log?.warn({ watch, address, reason }, 'billing watch lost')
      onState?.(connected)
    }
  }

  type LookUp = Parameters<typeof callUnary<LookUpKeyRequest, LookUpKeyResponse__Output>>[0]

  async function lookUp(method: LookUp, keySha256: Buffer): Promise<BillingKey | null> {
    try {
      const { key } = await callUnary(method, { keySha256 }, { timeoutMs })
      return key ? fromKeyMessage(key) : null
    } catch (error) {
      throw new BillingUnavailable('a key could not be looked up', { cause: error })
    }
  }

  return {
    askAccount: createAskAccount(client, timeoutMs),
    async reserve(call) {
      return readHold(await money.ask({ reserve: toReserveMessage(call), call: 'reserve' }))
    },
    async resize(call) {
      return readHold(await money.ask({ resize: toResizeMessage(call), call: 'resize' }))
    },
    async release(reservationId) {
      const reply = readReply(await money.ask({ release: { reservationId }, call: 'release' }))
      if (!reply.release) throw new BillingUnavailable('the answer to a release is of another kind')
      return reply.release.released
    },
    lookUpKey: async (sha256) => await lookUp((...call) => client.lookUpKey(...call), sha256),
    lookUpManagementKey: async (sha256) =>
      await lookUp((...call) => client.lookUpManagementKey(...call), sha256),
    watchKeys({ onChanges, onState }) {
      let sinceVersion = '0'
      return keep(
        followStream({
          open: () => client.watchKeys({ sinceVersion }),
          onMessage(message) {
            onChanges(fromKeyChangesMessage(message))
            sinceVersion = message.version
          },
          onState: report('keys', onState),
          renewAfterMs,
        }),
      )
    },
    watchCatalog({ onCatalog, onState }) {
      return keep(
        followStream({
          open: () => client.watchCatalog({}),
          onMessage: (message) => onCatalog(fromCatalogMessage(message)),
          onState: report('catalog', onState),
          renewAfterMs,
        }),
      )
    },
    close() {
      for (const stop of stops) stop()
      stops.clear()
      money.close()
      client.close()
    },
  }
}

function readHold(answer: MoneyReply__Output): HoldAnswer {
  const { hold } = readReply(answer)
  if (!hold) throw new BillingUnavailable('the answer to a hold is of another kind')
  return fromHoldMessage(hold)
}

function readReply(reply: MoneyReply__Output): MoneyReply__Output {
  if (!reply.failure) return reply
  const { reason, message } = reply.failure
  if (reason === 'INVALID') throw new RangeError(`billing refused a call as malformed: ${message}`)
  throw new BillingUnavailable(message, { nothingDone: reason === 'OVERLOADED' })
}
