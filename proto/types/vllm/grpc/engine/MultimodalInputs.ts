// Original file: proto/vllm_engine.proto

import type { TensorData as _vllm_grpc_engine_TensorData, TensorData__Output as _vllm_grpc_engine_TensorData__Output } from '../../../vllm/grpc/engine/TensorData.ts';
import type { PlaceholderRange as _vllm_grpc_engine_PlaceholderRange, PlaceholderRange__Output as _vllm_grpc_engine_PlaceholderRange__Output } from '../../../vllm/grpc/engine/PlaceholderRange.ts';
import type { Modality as _smg_grpc_common_Modality, Modality__Output as _smg_grpc_common_Modality__Output } from '../../../smg/grpc/common/Modality.ts';

export interface MultimodalInputs {
  'pixelValues'?: (_vllm_grpc_engine_TensorData | null);
  'modelSpecificTensors'?: ({[key: string]: _vllm_grpc_engine_TensorData});
  'imTokenId'?: (number);
  'mmPlaceholders'?: (_vllm_grpc_engine_PlaceholderRange)[];
  'mmHashes'?: (string)[];
  'batchedKeys'?: (string)[];
  'flatKeys'?: ({[key: string]: string});
  'keepOnCpuKeys'?: (string)[];
  'modality'?: (_smg_grpc_common_Modality);
  'encoderInputKey'?: (string);
  '_imTokenId'?: "imTokenId";
  '_encoderInputKey'?: "encoderInputKey";
}

export interface MultimodalInputs__Output {
  'pixelValues': (_vllm_grpc_engine_TensorData__Output | null);
  'modelSpecificTensors': ({[key: string]: _vllm_grpc_engine_TensorData__Output});
  'imTokenId'?: (number);
  'mmPlaceholders': (_vllm_grpc_engine_PlaceholderRange__Output)[];
  'mmHashes': (string)[];
  'batchedKeys': (string)[];
  'flatKeys': ({[key: string]: string});
  'keepOnCpuKeys': (string)[];
  'modality': (_smg_grpc_common_Modality__Output);
  'encoderInputKey'?: (string);
  '_imTokenId'?: "imTokenId";
  '_encoderInputKey'?: "encoderInputKey";
}
