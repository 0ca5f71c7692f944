// Original file: proto/externalscaler.proto

import type { MetricSpec as _externalscaler_MetricSpec, MetricSpec__Output as _externalscaler_MetricSpec__Output } from '../externalscaler/MetricSpec.ts';

export interface GetMetricSpecResponse {
  'metricSpecs'?: (_externalscaler_MetricSpec)[];
}

export interface GetMetricSpecResponse__Output {
  'metricSpecs': (_externalscaler_MetricSpec__Output)[];
}
