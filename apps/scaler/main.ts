import { randomUUID } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { Registry } from '@prometheus-io/client'
import { ConfigError } from '#libs/config/load-config.ts'
import { toBusRedis, toQueueRedis } from '#libs/config/redis-fields.ts'
import { WORKER_BEATS } from '#libs/event-bus/heartbeat.ts'
import {
  DEMAND,
  MODEL_STATES,
  ModelStates,
  publishSignal,
  subscribeSignal,
} from '#libs/event-bus/scaling-signals.ts'
import { busRights, queueRights } from '#libs/queue-redis/rights.ts'
import { createCountWaiting } from '#libs/generation-record/count-waiting.ts'
import { followRenewals } from '#libs/certificates/follow-renewals.ts'
import { readAuthorities } from '#libs/certificates/pem-files.ts'
import { openServerCredentials } from '#libs/grpc/open-credentials.ts'
import { bindGrpc, closeGrpc } from '#libs/grpc/serve-grpc.ts'
import { createKubernetesClient } from '#libs/kubernetes/kubernetes-client.ts'
import { openTracing } from '#libs/lifecycle/open-tracing.ts'
import { runApp } from '#libs/lifecycle/run-app.ts'
import { createConnectBus } from '#libs/redis/connect-bus.ts'
import { connectRedis } from '#libs/redis/connect-redis.ts'
import { closeOps, serveOps } from '#libs/telemetry/serve-ops.ts'
import { createActOnPods } from './act-on-pods.ts'
import { createAnswers, STALE_MS } from './answers.ts'
import { ScalerConfig, toClusterAccess } from './config.ts'
import { startControl, type Control } from './control.ts'
import { createExplainModels } from './explain-models.ts'
import { createLead, toHolder } from './lead.ts'
import { createLoadOf } from './load-models.ts'
import { parseScalerModels, type ScalerModels } from './scaler-models.ts'
import { createScalerMetrics } from './scaler-metrics.ts'
import { createKedaServer } from './serve-keda.ts'
import { createCapacityReader } from './signals/read-capacity.ts'
import { createDemandReader } from './signals/read-demand.ts'
import { watchBus } from './signals/watch-bus.ts'
import { createSnapshotStore } from './snapshot.ts'
import { createStartTimes } from './start-times.ts'
import { watchCluster } from './watch-cluster.ts'

const CALLS_GRACE_MS = 2_000

await runApp({ name: 'scaler', schema: ScalerConfig, environment: process.env }, async (context) => {
  const { config, releasers } = context
  const self = randomUUID()
  const log = context.log.child({ scaler: self })
  const name = config.SCALER_NAME
  // This clock measures durations only. Times that outlive this process are taken from the queue Redis' clock.
  const nowMs = () => performance.now()
  const registry = new Registry()
  const tracing = await openTracing('scaler', { instance: self, config, log, releasers })

  const scaler = await readScalerModels(config.SCALER_MODELS_FILE)
  const specs = new Map(scaler.models.flatMap(({ pools }) => pools.map((spec) => [spec.pool, spec] as const)))
  const kedaTls = {
    cert: config.KEDA_TLS_CERT_FILE,
    key: config.KEDA_TLS_KEY_FILE,
    clientCa: config.KEDA_TLS_CLIENT_CA_FILE,
  }
  const { credentials } = releasers.add('certificates', await openServerCredentials(kedaTls, { log }), {
    run: ({ close }) => close(),
  })
  const access = toClusterAccess(config)
  const namespace =
    'name' in access.namespace
      ? access.namespace.name
      : (await readFile(access.namespace.file, 'utf8')).trim()
  const { caFile } = access
  const ca = caFile === undefined ? undefined : await readAuthorities(caFile)

  const pools = [...specs.keys(), ...(scaler.gateway === null ? [] : [scaler.gateway.deployment])]
  const answers = createAnswers({ pools, nowMs })
  let control: Control | null = null
  const state = {
    snapshot: () => control?.snapshot() ?? null,
    ageMs: answers.ageMs,
    isLeader: () => control?.isLeader() ?? false,
  }
  const metrics = createScalerMetrics({
    registry,
    gpusOf: (pool) => specs.get(pool)?.gpus ?? 0,
    ...state,
  })
  const ops = await serveOps({
    app: 'scaler',
    host: config.OPS_HOST,
    port: config.OPS_PORT,
    registry,
    readiness: () =>
      answers.ageMs() <= STALE_MS
        ? { ready: true }
        : { ready: false, reason: 'no fresh snapshot of a leading scaler' },
    routes: new Map([['/models', createExplainModels(state)]]),
  })
  releasers.add('ops', ops, { run: closeOps })

  const capacity = createCapacityReader({ nowMs })
  const demand = createDemandReader({ nowMs, onUnserved: () => control?.wake() })
  const client = createKubernetesClient({ url: access.url, ca, tokenFile: access.tokenFile })
  releasers.add('kubernetes', client, { run: (client) => client.close() })
  if (caFile !== undefined && ca !== undefined) {
    const read = async () => await readAuthorities(caFile)
    releasers.add('authorities', followRenewals({ read, inUse: ca, use: client.trust, log }), {
      run: (stop) => stop(),
    })
  }
  const cluster = watchCluster({ client, namespace, capacity, nowMs, log })
  releasers.add('watches', cluster, { run: async (cluster) => await cluster.stop() })

  // The port opens before Redis is connected. Until there is a snapshot, KEDA receives UNAVAILABLE and leaves the
  // replicas as they are.
  const { server, endStreams } = createKedaServer({
    answers,
    replicasOf: cluster.replicasOf,
    onCall: metrics.noteCall,
    random: Math.random,
    log,
  })
  releasers.add('keda', server, {
    async run(server) {
      endStreams()
      await closeGrpc(server, CALLS_GRACE_MS)
    },
  })
  const kedaPort = await bindGrpc(server, config.KEDA_LISTEN, credentials)
  log.info({ kedaPort, pools: pools.length }, 'scaler listens')

  const connectBus = createConnectBus({ app: 'scaler', rights: busRights('scaler'), releasers, log })
  const queuePlace = {
    place: toQueueRedis(config),
    name: 'scaler-queue',
    patience: 'fail-fast',
    rights: queueRights('scaler'),
  } as const
  const queue = releasers.add('queue', await connectRedis({ ...queuePlace, log }), {
    run: (redis) => redis.disconnect(),
  })
  const servers = await Promise.all(toBusRedis(config).map(connectBus))
  const buses = servers.map(({ bus }) => bus)

  const bus = await watchBus({ servers, name, self, onWritten: () => control?.noteWritten(), nowMs, log })
  await Promise.all(
    servers.map(async ({ subscriber }) => {
      await subscribeSignal({ subscriber, log }, DEMAND, demand.receive)
      await subscribeSignal({ subscriber, log }, WORKER_BEATS, capacity.receive)
    }),
  )
  // Not the boot id, which is in messages on the bus.
  const secret = randomUUID()
  control = startControl({
    scaler,
    lead: createLead({ redis: queue, name, self: secret, nowMs }),
    store: createSnapshotStore({ redis: queue, name, self: secret }),
    answers,
    bus,
    demand,
    capacity,
    loadOf: createLoadOf({ demand, capacity, nowMs }),
    countWaiting: createCountWaiting(queue),
    starts: createStartTimes({ specOf: (pool) => specs.get(pool), onStart: metrics.noteStart }),
    cluster,
    act: createActOnPods({
      buses,
      client,
      podsPath: cluster.podsPath,
      leaseOf: (term) => ({ scaler: name, holder: toHolder(secret, term) }),
      workerOf: (pod) => capacity.ofPod(pod)?.engine.id ?? null,
      log,
    }),
    publishStates(term, models) {
      // The schema drops the fields that gateways do not need.
      const states = ModelStates.parse({ term, models })
      for (const redis of buses) void publishSignal({ redis, log }, MODEL_STATES, states)
    },
    onRound: metrics.noteRound,
    tracing,
    nowMs,
    log,
  })
  releasers.add('control', control, { run: async (control) => await control.stop() })
  log.info({ models: scaler.models.map(({ model }) => model) }, 'scaler serves')
})

async function readScalerModels(path: string): Promise<ScalerModels> {
  try {
    return parseScalerModels(await readFile(path, 'utf8'))
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    throw new ConfigError([`SCALER_MODELS_FILE ${path}: ${reason}`])
  }
}
