// Original file: proto/common.proto

import type { EngineMemory as _smg_grpc_common_EngineMemory, EngineMemory__Output as _smg_grpc_common_EngineMemory__Output } from '../../../smg/grpc/common/EngineMemory.ts';
import type { EngineQueues as _smg_grpc_common_EngineQueues, EngineQueues__Output as _smg_grpc_common_EngineQueues__Output } from '../../../smg/grpc/common/EngineQueues.ts';
import type { EngineSpeculative as _smg_grpc_common_EngineSpeculative, EngineSpeculative__Output as _smg_grpc_common_EngineSpeculative__Output } from '../../../smg/grpc/common/EngineSpeculative.ts';
import type { EngineLora as _smg_grpc_common_EngineLora, EngineLora__Output as _smg_grpc_common_EngineLora__Output } from '../../../smg/grpc/common/EngineLora.ts';
import type { EngineDisaggregation as _smg_grpc_common_EngineDisaggregation, EngineDisaggregation__Output as _smg_grpc_common_EngineDisaggregation__Output } from '../../../smg/grpc/common/EngineDisaggregation.ts';
import type { Long } from '@grpc/proto-loader';

export interface EngineLoad {
  'runningRequests'?: (number);
  'waitingRequests'?: (number);
  'waitingUncachedTokens'?: (number);
  'tokenUsage'?: (number | string);
  'genThroughput'?: (number | string);
  'maxRunningRequests'?: (number);
  'ageMs'?: (number);
  'sample'?: (number | string | Long);
  'loadOnly'?: (boolean);
  'cacheHitRate'?: (number | string);
  'numUsedTokens'?: (number);
  'maxTotalNumTokens'?: (number);
  'memory'?: (_smg_grpc_common_EngineMemory | null);
  'queues'?: (_smg_grpc_common_EngineQueues | null);
  'speculative'?: (_smg_grpc_common_EngineSpeculative | null);
  'lora'?: (_smg_grpc_common_EngineLora | null);
  'disaggregation'?: (_smg_grpc_common_EngineDisaggregation | null);
  'activeTokenUsage'?: (number | string);
  'engineSilenceMs'?: (number);
  'engineReportsSteps'?: (boolean);
  'prefillPendingTokens'?: (number);
  '_waitingUncachedTokens'?: "waitingUncachedTokens";
  '_activeTokenUsage'?: "activeTokenUsage";
  '_cacheHitRate'?: "cacheHitRate";
  '_numUsedTokens'?: "numUsedTokens";
  '_maxTotalNumTokens'?: "maxTotalNumTokens";
  '_memory'?: "memory";
  '_queues'?: "queues";
  '_speculative'?: "speculative";
  '_lora'?: "lora";
  '_disaggregation'?: "disaggregation";
  '_engineSilenceMs'?: "engineSilenceMs";
  '_engineReportsSteps'?: "engineReportsSteps";
  '_prefillPendingTokens'?: "prefillPendingTokens";
}

export interface EngineLoad__Output {
  'runningRequests': (number);
  'waitingRequests': (number);
  'waitingUncachedTokens'?: (number);
  'tokenUsage': (number);
  'genThroughput': (number);
  'maxRunningRequests': (number);
  'ageMs': (number);
  'sample': (string);
  'loadOnly': (boolean);
  'cacheHitRate'?: (number);
  'numUsedTokens'?: (number);
  'maxTotalNumTokens'?: (number);
  'memory'?: (_smg_grpc_common_EngineMemory__Output | null);
  'queues'?: (_smg_grpc_common_EngineQueues__Output | null);
  'speculative'?: (_smg_grpc_common_EngineSpeculative__Output | null);
  'lora'?: (_smg_grpc_common_EngineLora__Output | null);
  'disaggregation'?: (_smg_grpc_common_EngineDisaggregation__Output | null);
  'activeTokenUsage'?: (number);
  'engineSilenceMs'?: (number);
  'engineReportsSteps'?: (boolean);
  'prefillPendingTokens'?: (number);
  '_waitingUncachedTokens'?: "waitingUncachedTokens";
  '_activeTokenUsage'?: "activeTokenUsage";
  '_cacheHitRate'?: "cacheHitRate";
  '_numUsedTokens'?: "numUsedTokens";
  '_maxTotalNumTokens'?: "maxTotalNumTokens";
  '_memory'?: "memory";
  '_queues'?: "queues";
  '_speculative'?: "speculative";
  '_lora'?: "lora";
  '_disaggregation'?: "disaggregation";
  '_engineSilenceMs'?: "engineSilenceMs";
  '_engineReportsSteps'?: "engineReportsSteps";
  '_prefillPendingTokens'?: "prefillPendingTokens";
}
