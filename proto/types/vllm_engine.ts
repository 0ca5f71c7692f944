import type * as grpc from '@grpc/grpc-js';
import type { EnumTypeDefinition, MessageTypeDefinition } from '@grpc/proto-loader';

import type { EngineDisaggregation as _smg_grpc_common_EngineDisaggregation, EngineDisaggregation__Output as _smg_grpc_common_EngineDisaggregation__Output } from './smg/grpc/common/EngineDisaggregation.ts';
import type { EngineLoad as _smg_grpc_common_EngineLoad, EngineLoad__Output as _smg_grpc_common_EngineLoad__Output } from './smg/grpc/common/EngineLoad.ts';
import type { EngineLora as _smg_grpc_common_EngineLora, EngineLora__Output as _smg_grpc_common_EngineLora__Output } from './smg/grpc/common/EngineLora.ts';
import type { EngineMemory as _smg_grpc_common_EngineMemory, EngineMemory__Output as _smg_grpc_common_EngineMemory__Output } from './smg/grpc/common/EngineMemory.ts';
import type { EngineQueues as _smg_grpc_common_EngineQueues, EngineQueues__Output as _smg_grpc_common_EngineQueues__Output } from './smg/grpc/common/EngineQueues.ts';
import type { EngineSpeculative as _smg_grpc_common_EngineSpeculative, EngineSpeculative__Output as _smg_grpc_common_EngineSpeculative__Output } from './smg/grpc/common/EngineSpeculative.ts';
import type { FlushCacheRequest as _smg_grpc_common_FlushCacheRequest, FlushCacheRequest__Output as _smg_grpc_common_FlushCacheRequest__Output } from './smg/grpc/common/FlushCacheRequest.ts';
import type { FlushCacheResponse as _smg_grpc_common_FlushCacheResponse, FlushCacheResponse__Output as _smg_grpc_common_FlushCacheResponse__Output } from './smg/grpc/common/FlushCacheResponse.ts';
import type { GetTokenizerChunk as _smg_grpc_common_GetTokenizerChunk, GetTokenizerChunk__Output as _smg_grpc_common_GetTokenizerChunk__Output } from './smg/grpc/common/GetTokenizerChunk.ts';
import type { GetTokenizerRequest as _smg_grpc_common_GetTokenizerRequest, GetTokenizerRequest__Output as _smg_grpc_common_GetTokenizerRequest__Output } from './smg/grpc/common/GetTokenizerRequest.ts';
import type { KvBlock as _smg_grpc_common_KvBlock, KvBlock__Output as _smg_grpc_common_KvBlock__Output } from './smg/grpc/common/KvBlock.ts';
import type { KvBlockExtraKey as _smg_grpc_common_KvBlockExtraKey, KvBlockExtraKey__Output as _smg_grpc_common_KvBlockExtraKey__Output } from './smg/grpc/common/KvBlockExtraKey.ts';
import type { KvBlocksRemoved as _smg_grpc_common_KvBlocksRemoved, KvBlocksRemoved__Output as _smg_grpc_common_KvBlocksRemoved__Output } from './smg/grpc/common/KvBlocksRemoved.ts';
import type { KvBlocksStored as _smg_grpc_common_KvBlocksStored, KvBlocksStored__Output as _smg_grpc_common_KvBlocksStored__Output } from './smg/grpc/common/KvBlocksStored.ts';
import type { KvCacheCleared as _smg_grpc_common_KvCacheCleared, KvCacheCleared__Output as _smg_grpc_common_KvCacheCleared__Output } from './smg/grpc/common/KvCacheCleared.ts';
import type { KvCacheEvent as _smg_grpc_common_KvCacheEvent, KvCacheEvent__Output as _smg_grpc_common_KvCacheEvent__Output } from './smg/grpc/common/KvCacheEvent.ts';
import type { KvEventBatch as _smg_grpc_common_KvEventBatch, KvEventBatch__Output as _smg_grpc_common_KvEventBatch__Output } from './smg/grpc/common/KvEventBatch.ts';
import type { KvMultimodalKey as _smg_grpc_common_KvMultimodalKey, KvMultimodalKey__Output as _smg_grpc_common_KvMultimodalKey__Output } from './smg/grpc/common/KvMultimodalKey.ts';
import type { KvSnapshotChunk as _smg_grpc_common_KvSnapshotChunk, KvSnapshotChunk__Output as _smg_grpc_common_KvSnapshotChunk__Output } from './smg/grpc/common/KvSnapshotChunk.ts';
import type { ProfileResponse as _smg_grpc_common_ProfileResponse, ProfileResponse__Output as _smg_grpc_common_ProfileResponse__Output } from './smg/grpc/common/ProfileResponse.ts';
import type { RemoteTensorHandle as _smg_grpc_common_RemoteTensorHandle, RemoteTensorHandle__Output as _smg_grpc_common_RemoteTensorHandle__Output } from './smg/grpc/common/RemoteTensorHandle.ts';
import type { ShmHandle as _smg_grpc_common_ShmHandle, ShmHandle__Output as _smg_grpc_common_ShmHandle__Output } from './smg/grpc/common/ShmHandle.ts';
import type { StartProfileRequest as _smg_grpc_common_StartProfileRequest, StartProfileRequest__Output as _smg_grpc_common_StartProfileRequest__Output } from './smg/grpc/common/StartProfileRequest.ts';
import type { StopProfileRequest as _smg_grpc_common_StopProfileRequest, StopProfileRequest__Output as _smg_grpc_common_StopProfileRequest__Output } from './smg/grpc/common/StopProfileRequest.ts';
import type { SubscribeKvEventsRequest as _smg_grpc_common_SubscribeKvEventsRequest, SubscribeKvEventsRequest__Output as _smg_grpc_common_SubscribeKvEventsRequest__Output } from './smg/grpc/common/SubscribeKvEventsRequest.ts';
import type { AbortRequest as _vllm_grpc_engine_AbortRequest, AbortRequest__Output as _vllm_grpc_engine_AbortRequest__Output } from './vllm/grpc/engine/AbortRequest.ts';
import type { AbortResponse as _vllm_grpc_engine_AbortResponse, AbortResponse__Output as _vllm_grpc_engine_AbortResponse__Output } from './vllm/grpc/engine/AbortResponse.ts';
import type { ChoiceConstraint as _vllm_grpc_engine_ChoiceConstraint, ChoiceConstraint__Output as _vllm_grpc_engine_ChoiceConstraint__Output } from './vllm/grpc/engine/ChoiceConstraint.ts';
import type { EmbedRequest as _vllm_grpc_engine_EmbedRequest, EmbedRequest__Output as _vllm_grpc_engine_EmbedRequest__Output } from './vllm/grpc/engine/EmbedRequest.ts';
import type { EmbedResponse as _vllm_grpc_engine_EmbedResponse, EmbedResponse__Output as _vllm_grpc_engine_EmbedResponse__Output } from './vllm/grpc/engine/EmbedResponse.ts';
import type { GenerateComplete as _vllm_grpc_engine_GenerateComplete, GenerateComplete__Output as _vllm_grpc_engine_GenerateComplete__Output } from './vllm/grpc/engine/GenerateComplete.ts';
import type { GenerateRequest as _vllm_grpc_engine_GenerateRequest, GenerateRequest__Output as _vllm_grpc_engine_GenerateRequest__Output } from './vllm/grpc/engine/GenerateRequest.ts';
import type { GenerateResponse as _vllm_grpc_engine_GenerateResponse, GenerateResponse__Output as _vllm_grpc_engine_GenerateResponse__Output } from './vllm/grpc/engine/GenerateResponse.ts';
import type { GenerateStreamChunk as _vllm_grpc_engine_GenerateStreamChunk, GenerateStreamChunk__Output as _vllm_grpc_engine_GenerateStreamChunk__Output } from './vllm/grpc/engine/GenerateStreamChunk.ts';
import type { GetLoadsRequest as _vllm_grpc_engine_GetLoadsRequest, GetLoadsRequest__Output as _vllm_grpc_engine_GetLoadsRequest__Output } from './vllm/grpc/engine/GetLoadsRequest.ts';
import type { GetLoadsResponse as _vllm_grpc_engine_GetLoadsResponse, GetLoadsResponse__Output as _vllm_grpc_engine_GetLoadsResponse__Output } from './vllm/grpc/engine/GetLoadsResponse.ts';
import type { GetModelInfoRequest as _vllm_grpc_engine_GetModelInfoRequest, GetModelInfoRequest__Output as _vllm_grpc_engine_GetModelInfoRequest__Output } from './vllm/grpc/engine/GetModelInfoRequest.ts';
import type { GetModelInfoResponse as _vllm_grpc_engine_GetModelInfoResponse, GetModelInfoResponse__Output as _vllm_grpc_engine_GetModelInfoResponse__Output } from './vllm/grpc/engine/GetModelInfoResponse.ts';
import type { GetServerInfoRequest as _vllm_grpc_engine_GetServerInfoRequest, GetServerInfoRequest__Output as _vllm_grpc_engine_GetServerInfoRequest__Output } from './vllm/grpc/engine/GetServerInfoRequest.ts';
import type { GetServerInfoResponse as _vllm_grpc_engine_GetServerInfoResponse, GetServerInfoResponse__Output as _vllm_grpc_engine_GetServerInfoResponse__Output } from './vllm/grpc/engine/GetServerInfoResponse.ts';
import type { HealthCheckRequest as _vllm_grpc_engine_HealthCheckRequest, HealthCheckRequest__Output as _vllm_grpc_engine_HealthCheckRequest__Output } from './vllm/grpc/engine/HealthCheckRequest.ts';
import type { HealthCheckResponse as _vllm_grpc_engine_HealthCheckResponse, HealthCheckResponse__Output as _vllm_grpc_engine_HealthCheckResponse__Output } from './vllm/grpc/engine/HealthCheckResponse.ts';
import type { InputLogProbs as _vllm_grpc_engine_InputLogProbs, InputLogProbs__Output as _vllm_grpc_engine_InputLogProbs__Output } from './vllm/grpc/engine/InputLogProbs.ts';
import type { InputTokenLogProb as _vllm_grpc_engine_InputTokenLogProb, InputTokenLogProb__Output as _vllm_grpc_engine_InputTokenLogProb__Output } from './vllm/grpc/engine/InputTokenLogProb.ts';
import type { KvTransferParams as _vllm_grpc_engine_KvTransferParams, KvTransferParams__Output as _vllm_grpc_engine_KvTransferParams__Output } from './vllm/grpc/engine/KvTransferParams.ts';
import type { MediaIdentity as _vllm_grpc_engine_MediaIdentity, MediaIdentity__Output as _vllm_grpc_engine_MediaIdentity__Output } from './vllm/grpc/engine/MediaIdentity.ts';
import type { MediaRef as _vllm_grpc_engine_MediaRef, MediaRef__Output as _vllm_grpc_engine_MediaRef__Output } from './vllm/grpc/engine/MediaRef.ts';
import type { MediaRefs as _vllm_grpc_engine_MediaRefs, MediaRefs__Output as _vllm_grpc_engine_MediaRefs__Output } from './vllm/grpc/engine/MediaRefs.ts';
import type { MultimodalInputs as _vllm_grpc_engine_MultimodalInputs, MultimodalInputs__Output as _vllm_grpc_engine_MultimodalInputs__Output } from './vllm/grpc/engine/MultimodalInputs.ts';
import type { OutputLogProbs as _vllm_grpc_engine_OutputLogProbs, OutputLogProbs__Output as _vllm_grpc_engine_OutputLogProbs__Output } from './vllm/grpc/engine/OutputLogProbs.ts';
import type { PlaceholderRange as _vllm_grpc_engine_PlaceholderRange, PlaceholderRange__Output as _vllm_grpc_engine_PlaceholderRange__Output } from './vllm/grpc/engine/PlaceholderRange.ts';
import type { SamplingParams as _vllm_grpc_engine_SamplingParams, SamplingParams__Output as _vllm_grpc_engine_SamplingParams__Output } from './vllm/grpc/engine/SamplingParams.ts';
import type { SchedulerLoad as _vllm_grpc_engine_SchedulerLoad, SchedulerLoad__Output as _vllm_grpc_engine_SchedulerLoad__Output } from './vllm/grpc/engine/SchedulerLoad.ts';
import type { TensorData as _vllm_grpc_engine_TensorData, TensorData__Output as _vllm_grpc_engine_TensorData__Output } from './vllm/grpc/engine/TensorData.ts';
import type { TokenizedInput as _vllm_grpc_engine_TokenizedInput, TokenizedInput__Output as _vllm_grpc_engine_TokenizedInput__Output } from './vllm/grpc/engine/TokenizedInput.ts';
import type { TopLogProbs as _vllm_grpc_engine_TopLogProbs, TopLogProbs__Output as _vllm_grpc_engine_TopLogProbs__Output } from './vllm/grpc/engine/TopLogProbs.ts';
import type { VllmEngineClient as _vllm_grpc_engine_VllmEngineClient, VllmEngineDefinition as _vllm_grpc_engine_VllmEngineDefinition } from './vllm/grpc/engine/VllmEngine.ts';

type SubtypeConstructor<Constructor extends new (...args: any) => any, Subtype> = {
  new(...args: ConstructorParameters<Constructor>): Subtype;
};

export interface ProtoGrpcType {
  smg: {
    grpc: {
      common: {
        EngineDisaggregation: MessageTypeDefinition<_smg_grpc_common_EngineDisaggregation, _smg_grpc_common_EngineDisaggregation__Output>
        EngineLoad: MessageTypeDefinition<_smg_grpc_common_EngineLoad, _smg_grpc_common_EngineLoad__Output>
        EngineLora: MessageTypeDefinition<_smg_grpc_common_EngineLora, _smg_grpc_common_EngineLora__Output>
        EngineMemory: MessageTypeDefinition<_smg_grpc_common_EngineMemory, _smg_grpc_common_EngineMemory__Output>
        EngineQueues: MessageTypeDefinition<_smg_grpc_common_EngineQueues, _smg_grpc_common_EngineQueues__Output>
        EngineSpeculative: MessageTypeDefinition<_smg_grpc_common_EngineSpeculative, _smg_grpc_common_EngineSpeculative__Output>
        FlushCacheRequest: MessageTypeDefinition<_smg_grpc_common_FlushCacheRequest, _smg_grpc_common_FlushCacheRequest__Output>
        FlushCacheResponse: MessageTypeDefinition<_smg_grpc_common_FlushCacheResponse, _smg_grpc_common_FlushCacheResponse__Output>
        GetTokenizerChunk: MessageTypeDefinition<_smg_grpc_common_GetTokenizerChunk, _smg_grpc_common_GetTokenizerChunk__Output>
        GetTokenizerRequest: MessageTypeDefinition<_smg_grpc_common_GetTokenizerRequest, _smg_grpc_common_GetTokenizerRequest__Output>
        KvBlock: MessageTypeDefinition<_smg_grpc_common_KvBlock, _smg_grpc_common_KvBlock__Output>
        KvBlockExtraKey: MessageTypeDefinition<_smg_grpc_common_KvBlockExtraKey, _smg_grpc_common_KvBlockExtraKey__Output>
        KvBlocksRemoved: MessageTypeDefinition<_smg_grpc_common_KvBlocksRemoved, _smg_grpc_common_KvBlocksRemoved__Output>
        KvBlocksStored: MessageTypeDefinition<_smg_grpc_common_KvBlocksStored, _smg_grpc_common_KvBlocksStored__Output>
        KvCacheCleared: MessageTypeDefinition<_smg_grpc_common_KvCacheCleared, _smg_grpc_common_KvCacheCleared__Output>
        KvCacheEvent: MessageTypeDefinition<_smg_grpc_common_KvCacheEvent, _smg_grpc_common_KvCacheEvent__Output>
        KvCacheLocality: EnumTypeDefinition
        KvCacheTier: EnumTypeDefinition
        KvEventBatch: MessageTypeDefinition<_smg_grpc_common_KvEventBatch, _smg_grpc_common_KvEventBatch__Output>
        KvMultimodalKey: MessageTypeDefinition<_smg_grpc_common_KvMultimodalKey, _smg_grpc_common_KvMultimodalKey__Output>
        KvSnapshotChunk: MessageTypeDefinition<_smg_grpc_common_KvSnapshotChunk, _smg_grpc_common_KvSnapshotChunk__Output>
        Modality: EnumTypeDefinition
        ProfileResponse: MessageTypeDefinition<_smg_grpc_common_ProfileResponse, _smg_grpc_common_ProfileResponse__Output>
        RemoteTensorHandle: MessageTypeDefinition<_smg_grpc_common_RemoteTensorHandle, _smg_grpc_common_RemoteTensorHandle__Output>
        ShmHandle: MessageTypeDefinition<_smg_grpc_common_ShmHandle, _smg_grpc_common_ShmHandle__Output>
        StartProfileRequest: MessageTypeDefinition<_smg_grpc_common_StartProfileRequest, _smg_grpc_common_StartProfileRequest__Output>
        StopProfileRequest: MessageTypeDefinition<_smg_grpc_common_StopProfileRequest, _smg_grpc_common_StopProfileRequest__Output>
        SubscribeKvEventsRequest: MessageTypeDefinition<_smg_grpc_common_SubscribeKvEventsRequest, _smg_grpc_common_SubscribeKvEventsRequest__Output>
      }
    }
  }
  vllm: {
    grpc: {
      engine: {
        AbortRequest: MessageTypeDefinition<_vllm_grpc_engine_AbortRequest, _vllm_grpc_engine_AbortRequest__Output>
        AbortResponse: MessageTypeDefinition<_vllm_grpc_engine_AbortResponse, _vllm_grpc_engine_AbortResponse__Output>
        ChoiceConstraint: MessageTypeDefinition<_vllm_grpc_engine_ChoiceConstraint, _vllm_grpc_engine_ChoiceConstraint__Output>
        EmbedRequest: MessageTypeDefinition<_vllm_grpc_engine_EmbedRequest, _vllm_grpc_engine_EmbedRequest__Output>
        EmbedResponse: MessageTypeDefinition<_vllm_grpc_engine_EmbedResponse, _vllm_grpc_engine_EmbedResponse__Output>
        GenerateComplete: MessageTypeDefinition<_vllm_grpc_engine_GenerateComplete, _vllm_grpc_engine_GenerateComplete__Output>
        GenerateRequest: MessageTypeDefinition<_vllm_grpc_engine_GenerateRequest, _vllm_grpc_engine_GenerateRequest__Output>
        GenerateResponse: MessageTypeDefinition<_vllm_grpc_engine_GenerateResponse, _vllm_grpc_engine_GenerateResponse__Output>
        GenerateStreamChunk: MessageTypeDefinition<_vllm_grpc_engine_GenerateStreamChunk, _vllm_grpc_engine_GenerateStreamChunk__Output>
        GetLoadsRequest: MessageTypeDefinition<_vllm_grpc_engine_GetLoadsRequest, _vllm_grpc_engine_GetLoadsRequest__Output>
        GetLoadsResponse: MessageTypeDefinition<_vllm_grpc_engine_GetLoadsResponse, _vllm_grpc_engine_GetLoadsResponse__Output>
        GetModelInfoRequest: MessageTypeDefinition<_vllm_grpc_engine_GetModelInfoRequest, _vllm_grpc_engine_GetModelInfoRequest__Output>
        GetModelInfoResponse: MessageTypeDefinition<_vllm_grpc_engine_GetModelInfoResponse, _vllm_grpc_engine_GetModelInfoResponse__Output>
        GetServerInfoRequest: MessageTypeDefinition<_vllm_grpc_engine_GetServerInfoRequest, _vllm_grpc_engine_GetServerInfoRequest__Output>
        GetServerInfoResponse: MessageTypeDefinition<_vllm_grpc_engine_GetServerInfoResponse, _vllm_grpc_engine_GetServerInfoResponse__Output>
        HealthCheckRequest: MessageTypeDefinition<_vllm_grpc_engine_HealthCheckRequest, _vllm_grpc_engine_HealthCheckRequest__Output>
        HealthCheckResponse: MessageTypeDefinition<_vllm_grpc_engine_HealthCheckResponse, _vllm_grpc_engine_HealthCheckResponse__Output>
        InputLogProbs: MessageTypeDefinition<_vllm_grpc_engine_InputLogProbs, _vllm_grpc_engine_InputLogProbs__Output>
        InputTokenLogProb: MessageTypeDefinition<_vllm_grpc_engine_InputTokenLogProb, _vllm_grpc_engine_InputTokenLogProb__Output>
        KvTransferParams: MessageTypeDefinition<_vllm_grpc_engine_KvTransferParams, _vllm_grpc_engine_KvTransferParams__Output>
        MediaIdentity: MessageTypeDefinition<_vllm_grpc_engine_MediaIdentity, _vllm_grpc_engine_MediaIdentity__Output>
        MediaRef: MessageTypeDefinition<_vllm_grpc_engine_MediaRef, _vllm_grpc_engine_MediaRef__Output>
        MediaRefs: MessageTypeDefinition<_vllm_grpc_engine_MediaRefs, _vllm_grpc_engine_MediaRefs__Output>
        MultimodalInputs: MessageTypeDefinition<_vllm_grpc_engine_MultimodalInputs, _vllm_grpc_engine_MultimodalInputs__Output>
        OutputLogProbs: MessageTypeDefinition<_vllm_grpc_engine_OutputLogProbs, _vllm_grpc_engine_OutputLogProbs__Output>
        PlaceholderRange: MessageTypeDefinition<_vllm_grpc_engine_PlaceholderRange, _vllm_grpc_engine_PlaceholderRange__Output>
        SamplingParams: MessageTypeDefinition<_vllm_grpc_engine_SamplingParams, _vllm_grpc_engine_SamplingParams__Output>
        SchedulerLoad: MessageTypeDefinition<_vllm_grpc_engine_SchedulerLoad, _vllm_grpc_engine_SchedulerLoad__Output>
        TensorData: MessageTypeDefinition<_vllm_grpc_engine_TensorData, _vllm_grpc_engine_TensorData__Output>
        TokenizedInput: MessageTypeDefinition<_vllm_grpc_engine_TokenizedInput, _vllm_grpc_engine_TokenizedInput__Output>
        TopLogProbs: MessageTypeDefinition<_vllm_grpc_engine_TopLogProbs, _vllm_grpc_engine_TopLogProbs__Output>
        VllmEngine: SubtypeConstructor<typeof grpc.Client, _vllm_grpc_engine_VllmEngineClient> & { service: _vllm_grpc_engine_VllmEngineDefinition }
      }
    }
  }
}

