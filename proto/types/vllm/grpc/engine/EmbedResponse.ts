// Original file: proto/vllm_engine.proto


export interface EmbedResponse {
  'embedding'?: (number | string)[];
  'promptTokens'?: (number);
  'embeddingDim'?: (number);
}

export interface EmbedResponse__Output {
  'embedding': (number)[];
  'promptTokens': (number);
  'embeddingDim': (number);
}
