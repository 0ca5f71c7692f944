// Original file: proto/common.proto


export interface FlushCacheResponse {
  'success'?: (boolean);
  'message'?: (string);
}

export interface FlushCacheResponse__Output {
  'success': (boolean);
  'message': (string);
}
