import { z } from 'zod'
import { HostPort, HttpUrl, OpsFields, Port, setTogether } from '#libs/config/config-fields.ts'
import { formatHostPort } from '#libs/config/host-port.ts'
import {
  BusRedisFields,
  checkBusRedis,
  checkQueueRedis,
  QueueRedisFields,
} from '#libs/config/redis-fields.ts'
import { TraceFields } from '#libs/telemetry/trace-fields.ts'

/** The folder with the files of a pod's service account. */
const POD_ACCESS = '/var/run/secrets/kubernetes.io/serviceaccount'

const Fields = z.object({
  ...OpsFields,
  OPS_PORT: Port.default(9104),
  ...QueueRedisFields,
  ...BusRedisFields,
  ...TraceFields,
  /** Scalers with the same name are replicas of each other, one of which leads. */
  SCALER_NAME: z
    .string()
    .regex(/^[\w.-]{1,100}$/, 'expected letters, digits, and . _ -')
    .default('millrace'),
  /** Path of a JSON file in the format of `scaler-models.ts`; read once. */
  SCALER_MODELS_FILE: z.string().min(1),
  /** The address at which KEDA's operator connects. */
  KEDA_LISTEN: HostPort.default('127.0.0.1:9400'),
  /** Path of the certificate (PEM). Without one the port is plaintext. */
  KEDA_TLS_CERT_FILE: z.string().optional(),
  KEDA_TLS_KEY_FILE: z.string().optional(),
  /** Path of an authority's certificate (PEM). If set, KEDA's client certificate must be signed by this authority. */
  KEDA_TLS_CLIENT_CA_FILE: z.string().optional(),
  /** Default: the API server of the pod's own cluster. */
  KUBERNETES_URL: HttpUrl.optional(),
  KUBERNETES_SERVICE_HOST: z.string().optional(),
  KUBERNETES_SERVICE_PORT: Port.default(443),
  /**
   * Paths of two files for calls to the API server. The first file (PEM) has the certificate of the authority that
   * signed the API server's certificate; the second file has the token. Default without KUBERNETES_URL: the pod's own
   * files.
   */
  KUBERNETES_CA_FILE: z.string().optional(),
  KUBERNETES_TOKEN_FILE: z.string().optional(),
  /** Default: the pod's own namespace. */
  KUBERNETES_NAMESPACE: z.string().min(1).optional(),
})

export const ScalerConfig = Fields.superRefine(
  setTogether({
    KEDA_TLS_CERT_FILE: ['KEDA_TLS_KEY_FILE'],
    KEDA_TLS_KEY_FILE: ['KEDA_TLS_CERT_FILE'],
    KEDA_TLS_CLIENT_CA_FILE: ['KEDA_TLS_CERT_FILE', 'KEDA_TLS_KEY_FILE'],
  }),
)
  .superRefine(checkQueueRedis)
  .superRefine(checkBusRedis)
  .superRefine((config, context) => {
    if (config.KUBERNETES_URL !== undefined || config.KUBERNETES_SERVICE_HOST !== undefined) return
    const message = 'it is needed outside a pod'
    context.addIssue({ code: 'custom', path: ['KUBERNETES_URL'], message })
  })
export type ScalerConfig = z.infer<typeof ScalerConfig>

/** The URL of the API server, and the files that give access to it. */
export type ClusterAccess = {
  readonly url: string
  readonly caFile: string | undefined
  readonly tokenFile: string | undefined
  /** The namespace, or the file that names it. */
  readonly namespace: { readonly name: string } | { readonly file: string }
}

export function toClusterAccess(config: ScalerConfig): ClusterAccess {
  const { KUBERNETES_URL: given, KUBERNETES_SERVICE_HOST: host = '', KUBERNETES_NAMESPACE: name } = config
  // An IPv6 address in this variable has no brackets.
  const url = given ?? `https://${formatHostPort({ host, port: config.KUBERNETES_SERVICE_PORT })}`
  const inPod = (file: string) => (given === undefined ? `${POD_ACCESS}/${file}` : undefined)
  return {
    url,
    caFile: config.KUBERNETES_CA_FILE ?? inPod('ca.crt'),
    tokenFile: config.KUBERNETES_TOKEN_FILE ?? inPod('token'),
    namespace: name === undefined ? { file: `${POD_ACCESS}/namespace` } : { name },
  }
}
