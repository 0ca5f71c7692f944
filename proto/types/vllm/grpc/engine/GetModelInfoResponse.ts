// Original file: proto/vllm_engine.proto


export interface GetModelInfoResponse {
  'modelPath'?: (string);
  'isGeneration'?: (boolean);
  'maxContextLength'?: (number);
  'vocabSize'?: (number);
  'supportsVision'?: (boolean);
  'servedModelName'?: (string);
  'tokenizerPath'?: (string);
  'modelType'?: (string);
  'architectures'?: (string)[];
  'eosTokenIds'?: (number)[];
  'padTokenId'?: (number);
  'bosTokenId'?: (number);
  'maxReqInputLen'?: (number);
  'defaultSamplingParamsJson'?: (string);
}

export interface GetModelInfoResponse__Output {
  'modelPath': (string);
  'isGeneration': (boolean);
  'maxContextLength': (number);
  'vocabSize': (number);
  'supportsVision': (boolean);
  'servedModelName': (string);
  'tokenizerPath': (string);
  'modelType': (string);
  'architectures': (string)[];
  'eosTokenIds': (number)[];
  'padTokenId': (number);
  'bosTokenId': (number);
  'maxReqInputLen': (number);
  'defaultSamplingParamsJson': (string);
}
