import type { Rights, Sample } from '#libs/redis/rights.ts'
import { keyPrefix } from './keys.ts'

// This file has the rights of each process on the queue Redis and on a bus server: what the process is for, and no more.
// `queueRules` and `busRules` are access rules, which docs/operators.md repeats. `queueRights` and `busRights` are the
// same rules with sample commands; a process checks at its start that it may send them.
//
// A rule in parentheses is a selector of Redis: its commands are allowed for its own keys and channels only. A right to a
// channel is one to publish and to subscribe. So the right to publish is in a selector, with its channels.

/** The processes that use the queue Redis. */
export type QueueProcess = 'gateway' | 'worker' | 'scaler' | 'console' | 'billing'
/** The processes that use the bus. `ctl` is the operators' command line. */
export type BusProcess = 'gateway' | 'worker' | 'scaler' | 'console' | 'ctl'

/** The rules that every connection needs. ioredis reads INFO when it connects, and CLUSTER in a Cluster. */
const CONNECTION = '+@connection -@dangerous +info +cluster|slots +cluster|info'
/** The rules for the check of the rights. */
const CHECK = '+multi +discard'
const SCRIPTS = '+eval +evalsha +eval_ro +evalsha_ro'
/** BullMQ's scripts use many commands, and may use others in its next release. SCAN would list the names of all keys. */
const WITH_BULLMQ = `+@read +@write -scan -randomkey -@scripting ${SCRIPTS} +@transaction +time`

const QUEUE_COMMANDS: Readonly<Record<QueueProcess, string>> = {
  gateway: WITH_BULLMQ,
  worker: WITH_BULLMQ,
  scaler: `${SCRIPTS} +get +set +del +hset +hmget +pexpire +zcount +zrangebyscore +time ${CHECK}`,
  console: `+zcard +xinfo|stream ${CHECK}`,
  billing:
    '+eval +xreadgroup +xautoclaim +xack +xgroup|create +xgroup|delconsumer +xgroup|setid +xinfo|stream +xinfo|groups +xinfo|consumers +xlen +xpending +xrange +xadd +xtrim +lpop +get +set +exists +del +hget +hmget +hset +hincrby +time',
}

/**
 * Returns the access rules of a process on the queue Redis. `models` are the models of a worker; the pattern `*`
 * stands for all models. The other processes serve all models.
 */
export const queueRules = (process: QueueProcess, models: readonly string[] = ['*']): readonly string[] => [
  ...toQueueSamples(process, models).map(({ rule }) => rule),
  ...`${QUEUE_COMMANDS[process]} ${CONNECTION}`.split(' '),
]

/** Returns the access rules of a process on each bus server. */
export const busRules = (process: BusProcess): readonly string[] => [
  ...toBusSamples(process).map(({ rule }) => rule),
  ...`${process === 'gateway' ? '+get +set +del ' : ''}+subscribe +unsubscribe ${CHECK} ${CONNECTION}`.split(
    ' ',
  ),
]

/** Returns the rights that a process needs on the queue Redis. Billing does not check its rights. */
export const queueRights = (
  process: Exclude<QueueProcess, 'billing'>,
  models?: readonly string[],
): Rights => ({
  samples: [
    ...toQueueSamples(process, models ?? ['*']),
    { rule: null, commands: process === 'console' ? [['INFO', 'memory']] : [['INFO', 'server'], ['TIME']] },
  ],
})

/** Returns the rights that a process needs on each bus server. `ctl` does not check its rights. */
export const busRights = (process: Exclude<BusProcess, 'ctl'>): Rights => ({
  samples: [...toBusSamples(process), { rule: null, commands: [['INFO', 'stats']] }],
})

type RuleSample = Sample & { readonly rule: string }

function toQueueSamples(process: QueueProcess, models: readonly string[]): readonly RuleSample[] {
  const cell = keyPrefix()
  const live = (kind: string) => keys(`~${cell}live:${kind}:*`, 'SET KEY a', 'DEL KEY', 'EVAL return 1 KEY')
  const others = (kind: string) => keys(`%R~${cell}live:${kind}:*`, 'PTTL KEY')
  // A process makes the secret if there is none, and can never replace it.
  const prefixSecret = keys(`(~${cell}prefix-secret +get +setnx)`, 'GET KEY', 'SETNX KEY a')
  // All keys of a model but its settlements. No other names begin with an `s`, except `seats` and `seat-ages`.
  const ofModel = (model: string) => [
    keys(`~${cell}{${model}}:[^s]*`, ...OF_BULLMQ),
    keys(`~${cell}{${model}}:seat*`, 'HSET KEY a b'),
  ]
  switch (process) {
    case 'gateway':
      return [
        ...ofModel('*'),
        keys(`(%W~${cell}{*}:settlements +xadd)`, 'XADD KEY * a b'),
        keys(`%R~${cell}{*}:settlements:*`, 'HGET KEY a'),
        keys(`~${cell}killers`, 'ZADD KEY 1 a'),
        live('gateway'),
        others('worker'),
        prefixSecret,
      ]
    case 'worker':
      return [
        ...models.flatMap(ofModel),
        live('worker'),
        others('gateway'),
        keys(`%R~${cell}{scaler:*`, 'GET KEY'),
        prefixSecret,
      ]
    case 'scaler':
      return [
        keys(`~${cell}{scaler:*`, ...OF_SCALER),
        keys(`%R~${cell}{*}:waiting-expiry`, 'ZCOUNT KEY 0 1', 'ZRANGEBYSCORE KEY 0 1', ...READ_SCRIPTS),
      ]
    case 'console':
      return [
        keys(`%R~${cell}{*}:waiting-expiry`, 'ZCARD KEY'),
        keys(`%R~${cell}{*}:settlements`, 'XINFO STREAM KEY'),
      ]
    case 'billing':
      return ['~{*}:settlements*', '~{*}:orphans', '~{billing:}*', '%R~live:gateway:*'].map((rule) =>
        keys(rule.replace('~', `~${cell}`)),
      )
  }
}

function toBusSamples(process: BusProcess): readonly RuleSample[] {
  const cell = keyPrefix()
  const subscribes = (...names: readonly string[]) =>
    names.map((name) => ({ rule: `&${cell}${name}`, commands: [], channels: [cell + toExample(name)] }))
  const publishes = (...names: readonly string[]) => ({
    rule: `(${names.map((name) => `&${cell}${name}`).join(' ')} +publish)`,
    commands: names.map((name) => ['PUBLISH', cell + toExample(name), 'a'] as const),
  })
  switch (process) {
    case 'gateway':
      return [
        keys(`%R~${cell}vectors:*`, 'GET KEY'),
        keys(`%W~${cell}count:*`, 'SET KEY a PX 1', 'DEL KEY'),
        ...subscribes('gateway:*', 'counts:*', 'heartbeats:*', 'echo:*', 'model-states', 'observe'),
        publishes('worker:*', 'heartbeats:gateways', 'echo:*', 'demand', 'reports'),
      ]
    case 'worker':
      return [
        keys(`(%W~${cell}vectors:* +set +del)`, 'SET KEY a PX 1', 'DEL KEY'),
        keys(`(~${cell}count:* +getdel)`, 'GETDEL KEY'),
        ...subscribes(
          'worker:*',
          'scaler-orders:*',
          'operator-orders:*',
          'heartbeats:*',
          'echo:*',
          'observe',
        ),
        publishes('gateway:*', 'counts:*', 'heartbeats:workers', 'echo:*', 'reports'),
      ]
    case 'scaler':
      return [
        ...subscribes('demand', 'heartbeats:workers', 'scaler:*'),
        publishes('model-states', 'scaler:*', 'scaler-orders:*'),
      ]
    case 'console':
      return [...subscribes('reports', 'heartbeats:workers', 'demand', 'model-states'), publishes('observe')]
    case 'ctl':
      return [...subscribes('heartbeats:workers'), publishes('operator-orders:*')]
  }
}

/** Returns a rule for keys, with commands in which `KEY` stands for a key that the rule covers. */
function keys(rule: string, ...commands: readonly string[]): RuleSample {
  const key = toExample(/~([^\s)]+)/.exec(rule)?.[1] ?? '')
  const words = commands.map((command) => command.replace('KEY', key).split(' '))
  return { rule, commands: words.map(([name = '', ...args]) => [name, ...args] as const) }
}

/** Returns a name that the pattern covers. */
const toExample = (pattern: string) => pattern.replace('[^s]', '').replaceAll('*', 'rights')

const READ_SCRIPTS = ['EVAL_RO return 1 KEY', 'EVALSHA_RO 0 1 KEY']
const WRITE_SCRIPTS = ['EVAL return 1 KEY', 'EVALSHA 0 1 KEY']
const OF_SCALER = 'GET KEY,SET KEY a,DEL KEY,HSET KEY a b,HMGET KEY a,PEXPIRE KEY 1'
  .split(',')
  .concat(WRITE_SCRIPTS)
/** The samples cover the commands that a gateway or a worker sends and those inside scripts, BullMQ's included. */
const OF_BULLMQ = [
  'GET KEY,HMGET KEY a,ZRANGEBYSCORE KEY 0 1,SMEMBERS KEY,LRANGE KEY 0 1,XRANGE KEY - +,XINFO STREAM KEY,TYPE KEY',
  'PTTL KEY,SET KEY a,DEL KEY,HSET KEY a b,ZADD KEY 1 a,SADD KEY a,LPUSH KEY a,XADD KEY * a b,PEXPIRE KEY 1',
  'XREADGROUP GROUP a b STREAMS KEY >,XGROUP CREATE KEY a 0,BZPOPMIN KEY 1',
]
  .flatMap((commands) => commands.split(','))
  .concat(WRITE_SCRIPTS, READ_SCRIPTS)
