// Original file: proto/vllm_engine.proto


export interface GetServerInfoResponse {
  'activeRequests'?: (number);
  'isPaused'?: (boolean);
  'lastReceiveTimestamp'?: (number | string);
  'uptimeSeconds'?: (number | string);
  'serverType'?: (string);
  'kvConnector'?: (string);
  'kvRole'?: (string);
  'kvEngineId'?: (string);
  'dataParallelSize'?: (number);
  'shmNamespaceId'?: (string);
  'kvCacheDtype'?: (string);
  'blockSize'?: (number);
  'attentionBackend'?: (string);
  'modelDtype'?: (string);
  'pairingProtocol'?: (string);
  'mmProcessor'?: (string);
  'mmMediaRefSchemes'?: (string);
  'mmProcessorSource'?: (string);
  'mmDeviceDoNormalize'?: (boolean);
  'maxNumSeqs'?: (number);
  'mmItemLimits'?: (string);
  'multimodalEncoderDtype'?: (string);
  'engineReasoningParser'?: (string);
  'constrainedDecodingStart'?: (string);
  'mmEncoderBudget'?: (number);
}

export interface GetServerInfoResponse__Output {
  'activeRequests': (number);
  'isPaused': (boolean);
  'lastReceiveTimestamp': (number);
  'uptimeSeconds': (number);
  'serverType': (string);
  'kvConnector': (string);
  'kvRole': (string);
  'kvEngineId': (string);
  'dataParallelSize': (number);
  'shmNamespaceId': (string);
  'kvCacheDtype': (string);
  'blockSize': (number);
  'attentionBackend': (string);
  'modelDtype': (string);
  'pairingProtocol': (string);
  'mmProcessor': (string);
  'mmMediaRefSchemes': (string);
  'mmProcessorSource': (string);
  'mmDeviceDoNormalize': (boolean);
  'maxNumSeqs': (number);
  'mmItemLimits': (string);
  'multimodalEncoderDtype': (string);
  'engineReasoningParser': (string);
  'constrainedDecodingStart': (string);
  'mmEncoderBudget': (number);
}
