// Original file: proto/common.proto


export interface KvCacheCleared {
  'ownership'?: (string);
  '_ownership'?: "ownership";
}

export interface KvCacheCleared__Output {
  'ownership'?: (string);
  '_ownership'?: "ownership";
}
