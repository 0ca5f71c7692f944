import { readValues, valuesPath, mergeValues, type Values } from './chart-values.ts'

/** Values that the chart refuses, each with a part of the message, which names the value. */
export type BadValues = { readonly problem: string; readonly values: Values; readonly message: string }

const model = (fields: Values): Values => ({ models: { 'llama-8b': fields } })

const bad = (problem: string, message: string, over: Values): BadValues => ({
  problem,
  message,
  values: mergeValues(readValues(valuesPath('minimal')), over),
})

/** Values that values.schema.json refuses: single values of a wrong kind, and names that do not exist. */
export const REFUSED_BY_SCHEMA: readonly BadValues[] = [
  bad('a misspelt field', '/gateway', { gateway: { replica: { min: 1 } } }),
  bad('a misspelt field of a model', '/models/llama-8b', model({ maxOutputToken: 10 })),
  bad(
    'a misspelt field of a pool',
    '/models/llama-8b/pools/spot',
    model({ pools: { spot: { min: 0, max: 1, spott: true } } }),
  ),
  bad('an upper-case key', '/models', { models: { Llama: { contextWindow: 10, family: 'llama3' } } }),
  bad('a model without its window', '/models/other', { models: { other: { family: 'llama3' } } }),
  bad('a price as a number', '/models/llama-8b/price/input', model({ price: { input: 0.5 } })),
  bad(
    'a price with too many digits',
    '/models/llama-8b/price/output',
    model({ price: { output: '0.0000000001' } }),
  ),
  bad('a deadline above an hour', '/deadlineSeconds', { deadlineSeconds: 3601 }),
  bad('a number in quotes', '/deadlineSeconds', { deadlineSeconds: '600' }),
  bad('a Cluster for the bus', '/redis/bus/mode', { redis: { bus: { mode: 'cluster' } } }),
  bad('a sentinel without a port', '/redis/queue/sentinels/0', {
    redis: { queue: { sentinels: ['sentinel-0'] } },
  }),
  bad('no replica of billing', '/billing/replicas', { billing: { replicas: 0 } }),
  bad('an unknown way to migrate', '/billing/migrations', { billing: { migrations: 'hook' } }),
  bad('a maximum of 0', '/models/llama-8b/scale/max', model({ scale: { max: 0 } })),
  bad(
    'more than all of the slots',
    '/models/llama-8b/scale/utilization',
    model({ scale: { utilization: 1.2 } }),
  ),
  bad(
    'a floor without its minimum',
    '/models/llama-8b/scale/floors/0',
    model({ scale: { floors: [{ cron: '0 8 * * *' }] } }),
  ),
  bad(
    'a floor that begins each minute',
    '/models/llama-8b/scale/floors/0/cron',
    model({ scale: { floors: [{ cron: '* 8-19 * * 1-5', min: 1 }] } }),
  ),
  bad(
    'a floor with seconds',
    '/models/llama-8b/scale/floors/0/cron',
    model({ scale: { floors: [{ cron: '0 0 8 * * *', min: 1 }] } }),
  ),
  bad('root as the user', '/podSecurity/runAsUser', { podSecurity: { runAsUser: 0 } }),
  bad('an unknown address family', '/services/ipFamilies/0', { services: { ipFamilies: ['IPv5'] } }),
  bad('GPUs on several nodes', '/models/llama-8b/gpu', model({ gpu: { nodes: 2 } })),
  bad('a negative budget', '/scaler/gpuBudget/h100', { scaler: { gpuBudget: { h100: -1 } } }),
  bad('an id with a blank', '/models/llama-8b/id', model({ id: 'my model' })),
  bad('a console for plain http elsewhere', '/console/origin', {
    console: { origin: 'http://console.example' },
  }),
  bad('a console below a path', '/console/origin', { console: { origin: 'https://console.example/a' } }),
  bad('an unknown log level', '/logLevel', { logLevel: 'verbose' }),
]

/** Values that the template `_validate.tpl` refuses, because they contradict each other. */
export const REFUSED_BY_RULES: readonly BadValues[] = [
  bad('sentinel mode without sentinels', 'redis.queue.sentinels: mode sentinel needs', {
    redis: { queue: { mode: 'sentinel' } },
  }),
  bad('sentinels in another mode', 'redis.bus.sentinels: it is for mode sentinel', {
    redis: { bus: { sentinels: ['a:26379'] } },
  }),
  bad('no Secret of the queue', 'redis.queue.urlSecret: expected', {
    redis: { queue: { urlSecret: { name: '' } } },
  }),
  bad('no Secret of the database', 'database.urlSecret: expected', { database: { urlSecret: { name: '' } } }),
  bad('a pooler for migrations', 'database.ownerUrlSecret: database.pooler needs', {
    database: { pooler: true, ownerUrlSecret: { name: '' } },
  }),
  bad('a direct URL without a pooler', 'database.directUrlSecret: it is for', {
    database: { directUrlSecret: { name: 'a', key: 'b' } },
  }),
  bad('dev mode with another Redis', 'redis.queue: dev.enabled starts', {
    dev: { enabled: true },
    redis: { queue: { urlSecret: { name: 'mine' } } },
  }),
  bad('dev mode with another PostgreSQL', 'database: dev.enabled starts', {
    dev: { enabled: true },
    database: { urlSecret: { name: 'mine' } },
  }),
  bad('dev mode with other secrets', 'secrets.existingSecret: dev.enabled generates', {
    dev: { enabled: true },
    secrets: { existingSecret: 'mine' },
  }),
  bad('a certificate on one side', 'tls.existingSecrets.gateway: expected, as billing has one', {
    tls: { existingSecrets: { billing: 'a' } },
  }),
  bad('cert-manager without an issuer', 'tls.certManager.issuerRef.name', {
    tls: { certManager: { enabled: true } },
  }),
  bad('an Ingress without a host', 'gateway.ingress.host', { gateway: { ingress: { enabled: true } } }),
  bad('a console at an edge without its address', 'console.origin: expected', {
    console: { enabled: true, ingress: { enabled: true } },
  }),
  bad('a console of this machine at an edge', 'console.origin: expected', {
    console: { enabled: true, origin: 'http://127.0.0.1:8091', route: { parentRefs: [{ name: 'a' }] } },
  }),
  bad('dev mode with logins', 'redis.loginsSecret: dev.enabled starts', {
    dev: { enabled: true },
    redis: { loginsSecret: 'mine' },
  }),
  bad('half a login of the console', 'console.redis.busUrlSecret: expected', {
    console: { redis: { busUrlSecret: { name: 'a' } } },
  }),
  bad("dev mode with the console's own login", 'console.redis.queueUrlSecret: dev.enabled starts', {
    dev: { enabled: true },
    console: { redis: { queueUrlSecret: { name: 'a', key: 'b' } } },
  }),
  bad('a test key without its key', 'tests.keySecret.key', { tests: { keySecret: { name: 'a' } } }),
  bad('fewer gateways at most than at least', 'gateway.replicas.min: 3 is above max, 2', {
    gateway: { replicas: { max: 2 } },
  }),
  bad(
    'a minimum above the maximum',
    'models.llama-8b.scale.min: 5 is above max, 2',
    model({ scale: { min: 5, max: 2 } }),
  ),
  bad(
    'a floor above the maximum',
    'models.llama-8b.scale.floors[0].min: 9',
    model({ scale: { floors: [{ cron: '0 8 * * *', min: 9 }] } }),
  ),
  bad(
    'a floor of a night in one range',
    'models.llama-8b.scale.floors[0].cron: hour: 22-6 ends before it begins',
    model({ scale: { floors: [{ cron: '0 22-6 * * *', min: 1 }] } }),
  ),
  bad('zero without a scaler', 'need scaler.enabled', {
    scaler: { enabled: false },
    ...model({ scale: { min: 0 } }),
  }),
  bad('minimums above the budget', "scaler.gpuBudget.l40s: the models' min take 3 GPUs, the budget is 2", {
    scaler: { gpuBudget: { l40s: 2 } },
    ...model({ scale: { min: 3, max: 3 } }),
  }),
  bad('a class without a budget', 'scaler.gpuBudget.l40s: expected', { scaler: { gpuBudget: { h100: 2 } } }),
  bad('no class though GPUs are counted', 'models.llama-8b.gpu.class: expected', {
    scaler: { gpuBudget: { h100: 2 } },
    ...model({ gpu: { class: null, count: 1 } }),
  }),
  bad('a class without nodes', 'gpuClasses.l40s: expected', { gpuClasses: { h100: {} } }),
  bad('placeholders without nodes', 'gpuClasses.h100: expected, as placeholders', {
    placeholders: { h100: 1 },
  }),
  bad('neither family nor files', 'models.llama-8b.family: expected', model({ family: null })),
  bad('both family and files', 'models.llama-8b.files: it names', model({ files: 'demo' })),
  bad('no image of an engine', 'engineDefaults.image.repository: expected', {
    engineDefaults: { image: { repository: '' } },
  }),
  bad('no weights', 'models.llama-8b.weights: expected a volume', model({ weights: null })),
  bad(
    'a download into a volume',
    'models.llama-8b.weights.download: it excludes',
    model({ weights: { download: true } }),
  ),
  bad(
    'a download without a tokenizer',
    'models.llama-8b.files: weights.download needs it',
    model({ weights: { download: true, volume: null } }),
  ),
  bad(
    'a derived argument',
    '--max-model-len=4096 derives',
    model({ engine: { args: ['--max-model-len=4096'] } }),
  ),
  bad('a derived argument for all', '--host derives', { engineDefaults: { args: ['--host', '0.0.0.0'] } }),
  bad(
    'an embedding model without dimensions',
    'models.llama-8b.embedding: expected',
    model({ kind: 'embedding' }),
  ),
  bad(
    'a chat model with dimensions',
    'models.llama-8b.embedding: expected',
    model({ embedding: { dimensions: 8 } }),
  ),
  bad('an output of nothing', 'models.llama-8b.maxOutputTokens: expected', model({ maxOutputTokens: 0 })),
  bad(
    'an output above the window',
    'models.llama-8b.maxOutputTokens: it is above',
    model({ maxOutputTokens: 9000 }),
  ),
  bad(
    'a claim of no GPUs',
    'models.llama-8b.gpu.count: expected',
    model({ gpu: { claimTemplate: 'a', count: 0 } }),
  ),
  bad('a rollout that cannot move', 'models.llama-8b.rollout', model({ rollout: { maxUnavailable: 0 } })),
  bad('a drain beyond the deadline', 'models.llama-8b.drainSeconds', model({ drainSeconds: 601 })),
  bad(
    'numbers beside pools',
    'models.llama-8b.scale.min: with pools',
    model({ scale: { min: 1 }, pools: { a: { min: 0, max: 1 } } }),
  ),
  bad(
    'spot without a notice',
    'models.llama-8b.pools.a.noticeSeconds: expected',
    model({ pools: { a: { min: 0, max: 1, spot: true } } }),
  ),
  bad(
    'a notice without spot',
    'models.llama-8b.pools.a.noticeSeconds: it is for',
    model({ pools: { a: { min: 0, max: 1, noticeSeconds: 60 } } }),
  ),
  bad(
    'cached tokens that cost more',
    'models.llama-8b.price.cachedInput',
    model({ price: { cachedInput: '0.06' } }),
  ),
  bad('a model called like a part', 'the name mr-billing is that of billing too', {
    models: { billing: readModel(), 'llama-8b': null },
  }),
  bad('two models with one name', 'the name mr-a-b is that of models.a.pools.b too', {
    models: {
      'llama-8b': null,
      a: { ...readModel(), id: 'x', pools: { b: { min: 0, max: 1 } } },
      'a-b': readModel(),
    },
  }),
  bad('two models with one id', 'models.other.id: llama-8b is the id of models.llama-8b too', {
    models: { other: { ...readModel(), id: 'llama-8b' } },
  }),
  bad('a name that is too long', 'at most 48 fit', {
    models: { ['a'.repeat(30)]: { ...readModel(), pools: { ['b'.repeat(20)]: { min: 0, max: 1 } } } },
  }),
]

function readModel(): Values {
  const { models } = readValues(valuesPath('minimal'))
  return mergeValues({}, Object(models)['llama-8b'])
}
