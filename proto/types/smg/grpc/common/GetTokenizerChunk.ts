// Original file: proto/common.proto


export interface GetTokenizerChunk {
  'data'?: (Buffer | Uint8Array | string);
  'sha256'?: (string);
}

export interface GetTokenizerChunk__Output {
  'data': (Buffer);
  'sha256': (string);
}
