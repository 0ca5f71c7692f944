// Original file: proto/common.proto


export interface EngineQueues {
  'waiting'?: (number);
  'grammar'?: (number);
  'paused'?: (number);
  'retracted'?: (number);
}

export interface EngineQueues__Output {
  'waiting': (number);
  'grammar': (number);
  'paused': (number);
  'retracted': (number);
}
