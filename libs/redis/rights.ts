import { setTimeout as sleep } from 'node:timers/promises'
import { Cluster, ReplyError, type Redis } from 'ioredis'
import type { Logger } from '#libs/telemetry/logger.ts'
import type { RedisClient } from './connect-redis.ts'

/** The rights that a Redis user must have, named as in access rules (`ACL SETUSER`). */
export type Rights = { readonly samples: readonly Sample[] }

export type Sample = {
  /** The rule that gives the keys or channels of the commands; null if they have none. */
  readonly rule: string | null
  /** Commands with arguments that a server accepts. They are never run. */
  readonly commands: readonly (readonly [string, ...string[]])[]
  /** Channels to which the user must be able to subscribe. */
  readonly channels?: readonly string[]
}

const LOOK_EVERY_MS = 1_000
const LOG_EVERY_MS = 10_000

/**
 * Checks the rights of the connection's user every second, and resolves once the user has all `rights`. While rights
 * are missing, it logs them every 10 s, as the access rules that would give them. Nothing else may use the connection
 * meanwhile. An error that is not a refusal, such as a lost connection, does not count as a missing right: the
 * connection reports it.
 */
export async function awaitRights(
  redis: RedisClient,
  rights: Rights,
  { log, ...fields }: { log: Logger; redis: string; server: string },
): Promise<void> {
  let loggedMs = -Infinity
  for (;;) {
    const nodes = redis instanceof Cluster ? redis.nodes('master') : [redis]
    const found = await Promise.all(nodes.map(async (node) => await findMissing(node, rights)))
    const missing = [...new Set(found.flat())]
    if (missing.length === 0) return
    if (performance.now() - loggedMs >= LOG_EVERY_MS) {
      log.error({ ...fields, missing }, 'the Redis user lacks rights: give it those of docs/operators.md')
      loggedMs = performance.now()
    }
    await sleep(LOOK_EVERY_MS)
  }
}

/**
 * Returns the access rules that the user lacks. The commands of `rights` are put into a transaction that is then
 * discarded: a server checks the rights of each command when the command is added, and runs none of them. A
 * subscription cannot be part of a transaction, so each channel of `rights` is subscribed to and then unsubscribed.
 */
export async function findMissing(redis: Redis, { samples }: Rights): Promise<string[]> {
  const begun = await refusalOf(redis.call('MULTI'), null)
  if (begun !== null) return [begun]
  const refusals = await Promise.all(
    samples.flatMap(({ rule, commands }) =>
      commands.map(async ([command, ...args]) => await refusalOf(redis.call(command, ...args), rule)),
    ),
  )
  const discarded = await refusalOf(redis.call('DISCARD'), null)
  const channels = samples.flatMap(({ rule, channels = [] }) =>
    channels.map((channel) => ({ rule, channel })),
  )
  const subscribed: (string | null)[] = []
  for (const { rule, channel } of channels) subscribed.push(await refusalOf(redis.subscribe(channel), rule))
  const names = channels.map(({ channel }) => channel)
  const ended = subscribed.includes(null) ? await refusalOf(redis.unsubscribe(...names), null) : null
  // Otherwise the transaction would stay open, or the subscriptions.
  if (discarded !== null || ended !== null) redis.disconnect(true)
  return [...new Set([...refusals, discarded, ...subscribed, ended].flatMap((rule) => rule ?? []))]
}

async function refusalOf(answer: Promise<unknown>, rule: string | null): Promise<string | null> {
  try {
    await answer
    return null
  } catch (error) {
    return error instanceof Error && error instanceof ReplyError ? toRule(error.message, rule) : null
  }
}

/**
 * Returns the access rule that would give the missing right; null if the message is not a refusal. The commands of a
 * selector, a rule in parentheses, are part of the rule.
 */
function toRule(message: string, rule: string | null): string | null {
  if (!isRefusal(message)) return null
  const command = /run the '([^']+)' command/i.exec(message)?.[1]
  return command === undefined || rule?.startsWith('(') === true ? rule : `+${command}`
}

/** Returns whether a server refused a command, or a command of a script, by its access rules. */
const isRefusal = (message: string) =>
  /^NOPERM|ACL failure in script|The user executing the script can't/.test(message)

/** Called with each error reply of a server. */
export type OnErrorReply = (error: Error & { command?: { name: string } }) => void

/**
 * Returns a function that logs commands which the access rules of the server refuse, each command at most every 10 s.
 * The caller of a refused command only sees that it failed, and tries again, so nothing else shows the cause.
 */
export function reportRefusals({
  log,
  ...fields
}: {
  log: Logger
  redis: string
  server: string
}): OnErrorReply {
  const loggedMs = new Map<string, number>()
  return ({ message, command }) => {
    if (!isRefusal(message)) return
    const name = command?.name ?? ''
    if (performance.now() - (loggedMs.get(name) ?? -Infinity) < LOG_EVERY_MS) return
    loggedMs.set(name, performance.now())
    log.error({ ...fields, command: name, reply: message }, 'the Redis user lacks a right')
  }
}
