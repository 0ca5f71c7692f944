// Original file: proto/vllm_engine.proto


export interface TopLogProbs {
  'values'?: (number | string)[];
  'tokenIds'?: (number)[];
}

export interface TopLogProbs__Output {
  'values': (number)[];
  'tokenIds': (number)[];
}
