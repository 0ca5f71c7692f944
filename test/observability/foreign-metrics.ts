/** Metrics in the rules that no app of this repository exports, each with its exporter. */
export const FOREIGN_METRICS: Readonly<Record<string, string>> = {
  redis_memory_used_bytes: 'redis_exporter',
  redis_memory_max_bytes: 'redis_exporter',
  certmanager_certificate_expiration_timestamp_seconds: 'cert-manager',
}
