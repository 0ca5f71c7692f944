import type { Rights, Sample } from '#libs/redis/rights.ts'
import { keyPrefix } from './keys.ts'

// This file has the rights of each process on the queue Redis and on a bus server: what the process is for, and no more.
// `queueRules` and `busRules` are access rules, which docs/operators.md repeats. `queueRights` and `busRights` are the
// same rules with sample commands; a process checks at its start that it may send them.
//
// A rule in parentheses is a selector of Redis: its commands are allowed for its own keys and channels only.

/** The processes that use Redis. `ctl` is the operators' command line. */
export type RedisProcess = 'gateway' | 'worker' | 'scaler' | 'console' | 'billing'
export type BusProcess = Exclude<RedisProcess, 'billing'> | 'ctl'

type Commands = Sample['commands']
/** One rule for keys or channels, with commands that need it. */
type Access = { readonly rule: string; readonly commands?: Commands; readonly channels?: readonly string[] }

/** The rules that every connection needs. ioredis reads INFO when it connects, and CLUSTER in a Cluster. */
const CONNECTION = '+@connection -@dangerous +info +cluster|slots +cluster|info'
/** BullMQ's scripts use many commands, and may use others in its next release. None lists the names of foreign keys. */
const WITH_BULLMQ = '+@read +@write -scan -randomkey -@scripting +eval +evalsha +eval_ro +evalsha_ro +@transaction +time'
const CHECK = '+multi +discard'

const QUEUE_COMMANDS: Readonly<Record<RedisProcess, string>> = {
  gateway: WITH_BULLMQ,
  worker: WITH_BULLMQ,
  scaler: `+eval +evalsha +eval_ro +evalsha_ro +get +set +del +hset +hmget +pexpire +zcount +zrangebyscore +time ${CHECK}`,
  console: `+zcard +xinfo|stream ${CHECK}`,
  billing:
    '+eval +xreadgroup +xautoclaim +xack +xgroup|create +xgroup|delconsumer +xgroup|setid +xinfo|stream +xinfo|groups +xinfo|consumers +xlen +xpending +xrange +xadd +xtrim +lpop +get +set +exists +del +hget +hmget +hset +hincrby +time',
}

/**
 * Returns the access rules of a process on the queue Redis. `models` are those of a worker; the pattern `*` stands for
 * all models. The other processes serve all models.
 */
export const queueRules = (process: RedisProcess, models: readonly string[] = ['*']): readonly string[] => [
  ...queueAccess(process, models).map(({ rule }) => rule),
  ...`${QUEUE_COMMANDS[process]} ${CONNECTION}`.split(' '),
]

/** Returns the access rules of a process on each bus server. Billing does not use the bus. */
export const busRules = (process: BusProcess): readonly string[] => [
  ...busAccess(process).map(({ rule }) => rule),
  ...`${process === 'gateway' ? '+get +set +del ' : ''}+subscribe +unsubscribe ${CHECK} ${CONNECTION}`.split(
    ' ',
  ),
]

/** Returns the rights that a process needs on the queue Redis. Billing does not check its rights. */
export const queueRights = (
  process: Exclude<RedisProcess, 'billing'>,
  models?: readonly string[],
): Rights => ({
  samples: [
    ...queueAccess(process, models ?? ['rights']).map(toSample),
    { rule: null, commands: [['INFO', 'server'], ['PING'], ...(process === 'console' ? [] : [TIME])] },
  ],
})

/** Returns the rights that a process needs on each bus server. */
export const busRights = (process: Exclude<BusProcess, 'ctl'>): Rights => ({
  samples: [...busAccess(process).map(toSample), { rule: null, commands: [['INFO', 'stats'], ['PING']] }],
})

const TIME = ['TIME'] as const

const toSample = ({ rule, commands = [], channels = [] }: Access): Sample => ({ rule, commands, channels })

function queueAccess(process: RedisProcess, models: readonly string[]): readonly Access[] {
  const prefix = keyPrefix()
  const live = (kind: string) => `${prefix}live:${kind}:`
  const alive = (kind: string): Access => ({
    rule: `~${live(kind)}*`,
    commands: ['SET KEY a', 'DEL KEY', 'EVAL return 1 KEY'].map(onKey(`${live(kind)}rights`)),
  })
  const others = (kind: string): Access => ({
    rule: `%R~${live(kind)}*`,
    commands: [['PTTL', `${live(kind)}rights`]],
  })
  const secret = `${prefix}prefix-secret`
  // A process makes the secret if there is none, and can never replace it.
  const prefixSecret: Access = {
    rule: `(~${secret} +get +setnx)`,
    commands: [
      ['GET', secret],
      ['SETNX', secret, 'a'],
    ],
  }
  const everyModel = `${prefix}{*}:`
  const oneModel = `${prefix}{rights}:`
  switch (process) {
    case 'gateway': {
      const [stream, killers] = [`${oneModel}settlements`, `${prefix}killers`]
      return [
        ...ofModel('*'),
        { rule: `(%W~${everyModel}settlements +xadd)`, commands: [['XADD', stream, '*', 'a', 'b']] },
        { rule: `%R~${everyModel}settlements:*`, commands: [['HGET', `${stream}:state`, 'a']] },
        { rule: `~${killers}`, commands: [['ZADD', killers, '1', 'a']] },
        alive('gateway'),
        others('worker'),
        prefixSecret,
      ]
    }
    case 'worker':
      return [
        ...models.flatMap(ofModel),
        alive('worker'),
        others('gateway'),
        { rule: `%R~${prefix}{scaler:*`, commands: [['GET', `${prefix}{scaler:rights}:leader`]] },
        prefixSecret,
      ]
    case 'scaler': {
      const key = `${prefix}{scaler:rights}:leader`
      return [
        { rule: `~${prefix}{scaler:*`, commands: OF_SCALER.map(onKey(key)) },
        {
          rule: `%R~${everyModel}waiting-expiry`,
          commands: OF_WAITING.map(onKey(`${oneModel}waiting-expiry`)),
        },
      ]
    }
    case 'console':
      return [
        { rule: `%R~${everyModel}waiting-expiry`, commands: [['ZCARD', `${oneModel}waiting-expiry`]] },
        { rule: `%R~${everyModel}settlements`, commands: [['XINFO', 'STREAM', `${oneModel}settlements`]] },
      ]
    case 'billing':
      return [
        `~${everyModel}settlements*`,
        `~${everyModel}orphans`,
        `~${prefix}{billing:}*`,
        `%R~${live('gateway')}*`,
      ].map((rule) => ({ rule }))
  }
}

/** The keys of a model without those of its settlements. The names of no others begin with an `s`, but `seat*`. */
function ofModel(model: string): Access[] {
  const prefix = `${keyPrefix()}{${model}}:`
  const key = `${keyPrefix()}{${model === '*' ? 'rights' : model}}:`
  return [
    { rule: `~${prefix}[^s]*`, commands: OF_BULLMQ.map(onKey(`${key}rights`)) },
    { rule: `~${prefix}seat*`, commands: [['HSET', `${key}seats`, 'a', 'b']] },
  ]
}

/** Puts the key in the place of `KEY`. */
const onKey = (key: string) => (text: string) => {
  const [name = '', ...args] = text.split(' ')
  return [name, ...args.map((arg) => (arg === 'KEY' ? key : arg))] as const
}

/** The samples cover the commands that a gateway or a worker sends and those inside scripts, BullMQ's included. */
const OF_BULLMQ = [
  'GET KEY',
  'HMGET KEY a',
  'ZRANGEBYSCORE KEY 0 1',
  'SMEMBERS KEY',
  'LRANGE KEY 0 1',
  'XRANGE KEY - +',
  'XINFO STREAM KEY',
  'TYPE KEY',
  'PTTL KEY',
  'SET KEY a',
  'DEL KEY',
  'HSET KEY a b',
  'ZADD KEY 1 a',
  'SADD KEY a',
  'LPUSH KEY a',
  'XADD KEY * a b',
  'XREADGROUP GROUP a b STREAMS KEY >',
  'XGROUP CREATE KEY a 0',
  'PEXPIRE KEY 1',
  'BZPOPMIN KEY 1',
  'EVAL return 1 KEY',
  'EVALSHA 0 1 KEY',
  'EVAL_RO return 1 KEY',
  'EVALSHA_RO 0 1 KEY',
]
const OF_SCALER = [
  'GET KEY',
  'SET KEY a',
  'DEL KEY',
  'HSET KEY a b',
  'HMGET KEY a',
  'PEXPIRE KEY 1',
  'EVAL return 1 KEY',
  'EVALSHA 0 1 KEY',
]
const OF_WAITING = ['ZCOUNT KEY 0 1', 'ZRANGEBYSCORE KEY 0 1', 'EVAL_RO return 1 KEY', 'EVALSHA_RO 0 1 KEY']

/**
 * A right to a channel is one to publish and to subscribe. So the channels to which a process subscribes are rules of
 * their own, beside the right to subscribe, and those on which it publishes are in a selector.
 */
function busAccess(process: BusProcess): readonly Access[] {
  const prefix = keyPrefix()
  const subscribed = (...names: readonly string[]) =>
    names.map((name) => ({ rule: `&${prefix}${name}`, channels: [prefix + name.replace('*', 'rights')] }))
  const published = (...names: readonly string[]): Access => ({
    rule: `(${names.map((name) => `&${prefix}${name}`).join(' ')} +publish)`,
    commands: names.map((name) => ['PUBLISH', prefix + name.replace('*', 'rights'), 'a']),
  })
  const [vectors, counts] = [`${prefix}vectors:`, `${prefix}count:`]
  switch (process) {
    case 'gateway':
      return [
        { rule: `%R~${vectors}*`, commands: [['GET', `${vectors}rights`]] },
        {
          rule: `%W~${counts}*`,
          commands: [
            ['SET', `${counts}rights`, 'a', 'PX', '1'],
            ['DEL', `${counts}rights`],
          ],
        },
        ...subscribed('gateway:*', 'counts:*', 'heartbeats:*', 'echo:*', 'model-states', 'observe'),
        published('worker:*', 'heartbeats:gateways', 'echo:*', 'demand', 'reports'),
      ]
    case 'worker':
      return [
        {
          rule: `(%W~${vectors}* +set +del)`,
          commands: [
            ['SET', `${vectors}rights`, 'a', 'PX', '1'],
            ['DEL', `${vectors}rights`],
          ],
        },
        { rule: `(~${counts}* +getdel)`, commands: [['GETDEL', `${counts}rights`]] },
        ...subscribed(
          'worker:*',
          'scaler-orders:*',
          'operator-orders:*',
          'heartbeats:*',
          'echo:*',
          'observe',
        ),
        published('gateway:*', 'counts:*', 'heartbeats:workers', 'echo:*', 'capacity', 'reports'),
      ]
    case 'scaler':
      return [
        ...subscribed('demand', 'capacity', 'scaler:*'),
        published('model-states', 'scaler:*', 'scaler-orders:*'),
      ]
    case 'console':
      return [...subscribed('reports', 'capacity', 'demand', 'model-states'), published('observe')]
    case 'ctl':
      return [...subscribed('heartbeats:workers', 'capacity'), published('operator-orders:*')]
  }
}
