// Original file: proto/vllm_engine.proto


export interface InputTokenLogProb {
  'value'?: (number | string);
  '_value'?: "value";
}

export interface InputTokenLogProb__Output {
  'value'?: (number);
  '_value'?: "value";
}
