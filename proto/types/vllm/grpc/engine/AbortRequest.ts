// Original file: proto/vllm_engine.proto


export interface AbortRequest {
  'requestIds'?: (string)[];
}

export interface AbortRequest__Output {
  'requestIds': (string)[];
}
