// Original file: proto/vllm_engine.proto


export interface PlaceholderRange {
  'offset'?: (number);
  'length'?: (number);
}

export interface PlaceholderRange__Output {
  'offset': (number);
  'length': (number);
}
