// Original file: proto/vllm_engine.proto


export interface SchedulerLoad {
  'dpRank'?: (number);
  'numRunningReqs'?: (number);
  'numWaitingReqs'?: (number);
  'numTotalReqs'?: (number);
  'numUsedTokens'?: (number);
  'maxTotalNumTokens'?: (number);
  'tokenUsage'?: (number | string);
  'genThroughput'?: (number | string);
  'cacheHitRate'?: (number | string);
  'utilization'?: (number | string);
  'maxRunningRequests'?: (number);
  'numWaitingUncachedTokens'?: (number);
}

export interface SchedulerLoad__Output {
  'dpRank': (number);
  'numRunningReqs': (number);
  'numWaitingReqs': (number);
  'numTotalReqs': (number);
  'numUsedTokens': (number);
  'maxTotalNumTokens': (number);
  'tokenUsage': (number);
  'genThroughput': (number);
  'cacheHitRate': (number);
  'utilization': (number);
  'maxRunningRequests': (number);
  'numWaitingUncachedTokens': (number);
}
