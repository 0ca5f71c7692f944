// Original file: proto/common.proto


export interface EngineDisaggregation {
  'mode'?: (string);
  'prefillPreallocQueueReqs'?: (number);
  'prefillInflightQueueReqs'?: (number);
  'decodePreallocQueueReqs'?: (number);
  'decodeTransferQueueReqs'?: (number);
  'decodeRetractedQueueReqs'?: (number);
  'kvTransferSpeedGbS'?: (number | string);
  'kvTransferLatencyMs'?: (number | string);
}

export interface EngineDisaggregation__Output {
  'mode': (string);
  'prefillPreallocQueueReqs': (number);
  'prefillInflightQueueReqs': (number);
  'decodePreallocQueueReqs': (number);
  'decodeTransferQueueReqs': (number);
  'decodeRetractedQueueReqs': (number);
  'kvTransferSpeedGbS': (number);
  'kvTransferLatencyMs': (number);
}
