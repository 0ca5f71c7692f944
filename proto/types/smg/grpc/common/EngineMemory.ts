// Original file: proto/common.proto


export interface EngineMemory {
  'weightGb'?: (number | string);
  'kvCacheGb'?: (number | string);
  'graphGb'?: (number | string);
  'tokenCapacity'?: (number);
}

export interface EngineMemory__Output {
  'weightGb': (number);
  'kvCacheGb': (number);
  'graphGb': (number);
  'tokenCapacity': (number);
}
