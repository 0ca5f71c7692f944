// Original file: proto/vllm_engine.proto


export interface ChoiceConstraint {
  'choices'?: (string)[];
}

export interface ChoiceConstraint__Output {
  'choices': (string)[];
}
