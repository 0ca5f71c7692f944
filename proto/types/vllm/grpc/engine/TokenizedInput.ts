// Original file: proto/vllm_engine.proto


export interface TokenizedInput {
  'originalText'?: (string);
  'inputIds'?: (number)[];
}

export interface TokenizedInput__Output {
  'originalText': (string);
  'inputIds': (number)[];
}
