// Original file: proto/common.proto


export interface FlushCacheRequest {
  'timeoutS'?: (number | string);
}

export interface FlushCacheRequest__Output {
  'timeoutS': (number);
}
