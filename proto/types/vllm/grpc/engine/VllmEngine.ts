// Original file: proto/vllm_engine.proto

import type * as grpc from '@grpc/grpc-js'
import type { MethodDefinition } from '@grpc/proto-loader'
import type { AbortRequest as _vllm_grpc_engine_AbortRequest, AbortRequest__Output as _vllm_grpc_engine_AbortRequest__Output } from '../../../vllm/grpc/engine/AbortRequest.ts';
import type { AbortResponse as _vllm_grpc_engine_AbortResponse, AbortResponse__Output as _vllm_grpc_engine_AbortResponse__Output } from '../../../vllm/grpc/engine/AbortResponse.ts';
import type { EmbedRequest as _vllm_grpc_engine_EmbedRequest, EmbedRequest__Output as _vllm_grpc_engine_EmbedRequest__Output } from '../../../vllm/grpc/engine/EmbedRequest.ts';
import type { EmbedResponse as _vllm_grpc_engine_EmbedResponse, EmbedResponse__Output as _vllm_grpc_engine_EmbedResponse__Output } from '../../../vllm/grpc/engine/EmbedResponse.ts';
import type { FlushCacheRequest as _smg_grpc_common_FlushCacheRequest, FlushCacheRequest__Output as _smg_grpc_common_FlushCacheRequest__Output } from '../../../smg/grpc/common/FlushCacheRequest.ts';
import type { FlushCacheResponse as _smg_grpc_common_FlushCacheResponse, FlushCacheResponse__Output as _smg_grpc_common_FlushCacheResponse__Output } from '../../../smg/grpc/common/FlushCacheResponse.ts';
import type { GenerateRequest as _vllm_grpc_engine_GenerateRequest, GenerateRequest__Output as _vllm_grpc_engine_GenerateRequest__Output } from '../../../vllm/grpc/engine/GenerateRequest.ts';
import type { GenerateResponse as _vllm_grpc_engine_GenerateResponse, GenerateResponse__Output as _vllm_grpc_engine_GenerateResponse__Output } from '../../../vllm/grpc/engine/GenerateResponse.ts';
import type { GetLoadsRequest as _vllm_grpc_engine_GetLoadsRequest, GetLoadsRequest__Output as _vllm_grpc_engine_GetLoadsRequest__Output } from '../../../vllm/grpc/engine/GetLoadsRequest.ts';
import type { GetLoadsResponse as _vllm_grpc_engine_GetLoadsResponse, GetLoadsResponse__Output as _vllm_grpc_engine_GetLoadsResponse__Output } from '../../../vllm/grpc/engine/GetLoadsResponse.ts';
import type { GetModelInfoRequest as _vllm_grpc_engine_GetModelInfoRequest, GetModelInfoRequest__Output as _vllm_grpc_engine_GetModelInfoRequest__Output } from '../../../vllm/grpc/engine/GetModelInfoRequest.ts';
import type { GetModelInfoResponse as _vllm_grpc_engine_GetModelInfoResponse, GetModelInfoResponse__Output as _vllm_grpc_engine_GetModelInfoResponse__Output } from '../../../vllm/grpc/engine/GetModelInfoResponse.ts';
import type { GetServerInfoRequest as _vllm_grpc_engine_GetServerInfoRequest, GetServerInfoRequest__Output as _vllm_grpc_engine_GetServerInfoRequest__Output } from '../../../vllm/grpc/engine/GetServerInfoRequest.ts';
import type { GetServerInfoResponse as _vllm_grpc_engine_GetServerInfoResponse, GetServerInfoResponse__Output as _vllm_grpc_engine_GetServerInfoResponse__Output } from '../../../vllm/grpc/engine/GetServerInfoResponse.ts';
import type { GetTokenizerChunk as _smg_grpc_common_GetTokenizerChunk, GetTokenizerChunk__Output as _smg_grpc_common_GetTokenizerChunk__Output } from '../../../smg/grpc/common/GetTokenizerChunk.ts';
import type { GetTokenizerRequest as _smg_grpc_common_GetTokenizerRequest, GetTokenizerRequest__Output as _smg_grpc_common_GetTokenizerRequest__Output } from '../../../smg/grpc/common/GetTokenizerRequest.ts';
import type { HealthCheckRequest as _vllm_grpc_engine_HealthCheckRequest, HealthCheckRequest__Output as _vllm_grpc_engine_HealthCheckRequest__Output } from '../../../vllm/grpc/engine/HealthCheckRequest.ts';
import type { HealthCheckResponse as _vllm_grpc_engine_HealthCheckResponse, HealthCheckResponse__Output as _vllm_grpc_engine_HealthCheckResponse__Output } from '../../../vllm/grpc/engine/HealthCheckResponse.ts';
import type { KvEventBatch as _smg_grpc_common_KvEventBatch, KvEventBatch__Output as _smg_grpc_common_KvEventBatch__Output } from '../../../smg/grpc/common/KvEventBatch.ts';
import type { ProfileResponse as _smg_grpc_common_ProfileResponse, ProfileResponse__Output as _smg_grpc_common_ProfileResponse__Output } from '../../../smg/grpc/common/ProfileResponse.ts';
import type { StartProfileRequest as _smg_grpc_common_StartProfileRequest, StartProfileRequest__Output as _smg_grpc_common_StartProfileRequest__Output } from '../../../smg/grpc/common/StartProfileRequest.ts';
import type { StopProfileRequest as _smg_grpc_common_StopProfileRequest, StopProfileRequest__Output as _smg_grpc_common_StopProfileRequest__Output } from '../../../smg/grpc/common/StopProfileRequest.ts';
import type { SubscribeKvEventsRequest as _smg_grpc_common_SubscribeKvEventsRequest, SubscribeKvEventsRequest__Output as _smg_grpc_common_SubscribeKvEventsRequest__Output } from '../../../smg/grpc/common/SubscribeKvEventsRequest.ts';

export interface VllmEngineClient extends grpc.Client {
  Abort(argument: _vllm_grpc_engine_AbortRequest, metadata: grpc.Metadata, options: grpc.CallOptions, callback: grpc.requestCallback<_vllm_grpc_engine_AbortResponse__Output>): grpc.ClientUnaryCall;
  Abort(argument: _vllm_grpc_engine_AbortRequest, metadata: grpc.Metadata, callback: grpc.requestCallback<_vllm_grpc_engine_AbortResponse__Output>): grpc.ClientUnaryCall;
  Abort(argument: _vllm_grpc_engine_AbortRequest, options: grpc.CallOptions, callback: grpc.requestCallback<_vllm_grpc_engine_AbortResponse__Output>): grpc.ClientUnaryCall;
  Abort(argument: _vllm_grpc_engine_AbortRequest, callback: grpc.requestCallback<_vllm_grpc_engine_AbortResponse__Output>): grpc.ClientUnaryCall;
  abort(argument: _vllm_grpc_engine_AbortRequest, metadata: grpc.Metadata, options: grpc.CallOptions, callback: grpc.requestCallback<_vllm_grpc_engine_AbortResponse__Output>): grpc.ClientUnaryCall;
  abort(argument: _vllm_grpc_engine_AbortRequest, metadata: grpc.Metadata, callback: grpc.requestCallback<_vllm_grpc_engine_AbortResponse__Output>): grpc.ClientUnaryCall;
  abort(argument: _vllm_grpc_engine_AbortRequest, options: grpc.CallOptions, callback: grpc.requestCallback<_vllm_grpc_engine_AbortResponse__Output>): grpc.ClientUnaryCall;
  abort(argument: _vllm_grpc_engine_AbortRequest, callback: grpc.requestCallback<_vllm_grpc_engine_AbortResponse__Output>): grpc.ClientUnaryCall;
  
  Embed(argument: _vllm_grpc_engine_EmbedRequest, metadata: grpc.Metadata, options: grpc.CallOptions, callback: grpc.requestCallback<_vllm_grpc_engine_EmbedResponse__Output>): grpc.ClientUnaryCall;
  Embed(argument: _vllm_grpc_engine_EmbedRequest, metadata: grpc.Metadata, callback: grpc.requestCallback<_vllm_grpc_engine_EmbedResponse__Output>): grpc.ClientUnaryCall;
  Embed(argument: _vllm_grpc_engine_EmbedRequest, options: grpc.CallOptions, callback: grpc.requestCallback<_vllm_grpc_engine_EmbedResponse__Output>): grpc.ClientUnaryCall;
  Embed(argument: _vllm_grpc_engine_EmbedRequest, callback: grpc.requestCallback<_vllm_grpc_engine_EmbedResponse__Output>): grpc.ClientUnaryCall;
  embed(argument: _vllm_grpc_engine_EmbedRequest, metadata: grpc.Metadata, options: grpc.CallOptions, callback: grpc.requestCallback<_vllm_grpc_engine_EmbedResponse__Output>): grpc.ClientUnaryCall;
  embed(argument: _vllm_grpc_engine_EmbedRequest, metadata: grpc.Metadata, callback: grpc.requestCallback<_vllm_grpc_engine_EmbedResponse__Output>): grpc.ClientUnaryCall;
  embed(argument: _vllm_grpc_engine_EmbedRequest, options: grpc.CallOptions, callback: grpc.requestCallback<_vllm_grpc_engine_EmbedResponse__Output>): grpc.ClientUnaryCall;
  embed(argument: _vllm_grpc_engine_EmbedRequest, callback: grpc.requestCallback<_vllm_grpc_engine_EmbedResponse__Output>): grpc.ClientUnaryCall;
  
  FlushCache(argument: _smg_grpc_common_FlushCacheRequest, metadata: grpc.Metadata, options: grpc.CallOptions, callback: grpc.requestCallback<_smg_grpc_common_FlushCacheResponse__Output>): grpc.ClientUnaryCall;
  FlushCache(argument: _smg_grpc_common_FlushCacheRequest, metadata: grpc.Metadata, callback: grpc.requestCallback<_smg_grpc_common_FlushCacheResponse__Output>): grpc.ClientUnaryCall;
  FlushCache(argument: _smg_grpc_common_FlushCacheRequest, options: grpc.CallOptions, callback: grpc.requestCallback<_smg_grpc_common_FlushCacheResponse__Output>): grpc.ClientUnaryCall;
  FlushCache(argument: _smg_grpc_common_FlushCacheRequest, callback: grpc.requestCallback<_smg_grpc_common_FlushCacheResponse__Output>): grpc.ClientUnaryCall;
  flushCache(argument: _smg_grpc_common_FlushCacheRequest, metadata: grpc.Metadata, options: grpc.CallOptions, callback: grpc.requestCallback<_smg_grpc_common_FlushCacheResponse__Output>): grpc.ClientUnaryCall;
  flushCache(argument: _smg_grpc_common_FlushCacheRequest, metadata: grpc.Metadata, callback: grpc.requestCallback<_smg_grpc_common_FlushCacheResponse__Output>): grpc.ClientUnaryCall;
  flushCache(argument: _smg_grpc_common_FlushCacheRequest, options: grpc.CallOptions, callback: grpc.requestCallback<_smg_grpc_common_FlushCacheResponse__Output>): grpc.ClientUnaryCall;
  flushCache(argument: _smg_grpc_common_FlushCacheRequest, callback: grpc.requestCallback<_smg_grpc_common_FlushCacheResponse__Output>): grpc.ClientUnaryCall;
  
  Generate(argument: _vllm_grpc_engine_GenerateRequest, metadata: grpc.Metadata, options?: grpc.CallOptions): grpc.ClientReadableStream<_vllm_grpc_engine_GenerateResponse__Output>;
  Generate(argument: _vllm_grpc_engine_GenerateRequest, options?: grpc.CallOptions): grpc.ClientReadableStream<_vllm_grpc_engine_GenerateResponse__Output>;
  generate(argument: _vllm_grpc_engine_GenerateRequest, metadata: grpc.Metadata, options?: grpc.CallOptions): grpc.ClientReadableStream<_vllm_grpc_engine_GenerateResponse__Output>;
  generate(argument: _vllm_grpc_engine_GenerateRequest, options?: grpc.CallOptions): grpc.ClientReadableStream<_vllm_grpc_engine_GenerateResponse__Output>;
  
  GetLoads(argument: _vllm_grpc_engine_GetLoadsRequest, metadata: grpc.Metadata, options: grpc.CallOptions, callback: grpc.requestCallback<_vllm_grpc_engine_GetLoadsResponse__Output>): grpc.ClientUnaryCall;
  GetLoads(argument: _vllm_grpc_engine_GetLoadsRequest, metadata: grpc.Metadata, callback: grpc.requestCallback<_vllm_grpc_engine_GetLoadsResponse__Output>): grpc.ClientUnaryCall;
  GetLoads(argument: _vllm_grpc_engine_GetLoadsRequest, options: grpc.CallOptions, callback: grpc.requestCallback<_vllm_grpc_engine_GetLoadsResponse__Output>): grpc.ClientUnaryCall;
  GetLoads(argument: _vllm_grpc_engine_GetLoadsRequest, callback: grpc.requestCallback<_vllm_grpc_engine_GetLoadsResponse__Output>): grpc.ClientUnaryCall;
  getLoads(argument: _vllm_grpc_engine_GetLoadsRequest, metadata: grpc.Metadata, options: grpc.CallOptions, callback: grpc.requestCallback<_vllm_grpc_engine_GetLoadsResponse__Output>): grpc.ClientUnaryCall;
  getLoads(argument: _vllm_grpc_engine_GetLoadsRequest, metadata: grpc.Metadata, callback: grpc.requestCallback<_vllm_grpc_engine_GetLoadsResponse__Output>): grpc.ClientUnaryCall;
  getLoads(argument: _vllm_grpc_engine_GetLoadsRequest, options: grpc.CallOptions, callback: grpc.requestCallback<_vllm_grpc_engine_GetLoadsResponse__Output>): grpc.ClientUnaryCall;
  getLoads(argument: _vllm_grpc_engine_GetLoadsRequest, callback: grpc.requestCallback<_vllm_grpc_engine_GetLoadsResponse__Output>): grpc.ClientUnaryCall;
  
  GetModelInfo(argument: _vllm_grpc_engine_GetModelInfoRequest, metadata: grpc.Metadata, options: grpc.CallOptions, callback: grpc.requestCallback<_vllm_grpc_engine_GetModelInfoResponse__Output>): grpc.ClientUnaryCall;
  GetModelInfo(argument: _vllm_grpc_engine_GetModelInfoRequest, metadata: grpc.Metadata, callback: grpc.requestCallback<_vllm_grpc_engine_GetModelInfoResponse__Output>): grpc.ClientUnaryCall;
  GetModelInfo(argument: _vllm_grpc_engine_GetModelInfoRequest, options: grpc.CallOptions, callback: grpc.requestCallback<_vllm_grpc_engine_GetModelInfoResponse__Output>): grpc.ClientUnaryCall;
  GetModelInfo(argument: _vllm_grpc_engine_GetModelInfoRequest, callback: grpc.requestCallback<_vllm_grpc_engine_GetModelInfoResponse__Output>): grpc.ClientUnaryCall;
  getModelInfo(argument: _vllm_grpc_engine_GetModelInfoRequest, metadata: grpc.Metadata, options: grpc.CallOptions, callback: grpc.requestCallback<_vllm_grpc_engine_GetModelInfoResponse__Output>): grpc.ClientUnaryCall;
  getModelInfo(argument: _vllm_grpc_engine_GetModelInfoRequest, metadata: grpc.Metadata, callback: grpc.requestCallback<_vllm_grpc_engine_GetModelInfoResponse__Output>): grpc.ClientUnaryCall;
  getModelInfo(argument: _vllm_grpc_engine_GetModelInfoRequest, options: grpc.CallOptions, callback: grpc.requestCallback<_vllm_grpc_engine_GetModelInfoResponse__Output>): grpc.ClientUnaryCall;
  getModelInfo(argument: _vllm_grpc_engine_GetModelInfoRequest, callback: grpc.requestCallback<_vllm_grpc_engine_GetModelInfoResponse__Output>): grpc.ClientUnaryCall;
  
  GetServerInfo(argument: _vllm_grpc_engine_GetServerInfoRequest, metadata: grpc.Metadata, options: grpc.CallOptions, callback: grpc.requestCallback<_vllm_grpc_engine_GetServerInfoResponse__Output>): grpc.ClientUnaryCall;
  GetServerInfo(argument: _vllm_grpc_engine_GetServerInfoRequest, metadata: grpc.Metadata, callback: grpc.requestCallback<_vllm_grpc_engine_GetServerInfoResponse__Output>): grpc.ClientUnaryCall;
  GetServerInfo(argument: _vllm_grpc_engine_GetServerInfoRequest, options: grpc.CallOptions, callback: grpc.requestCallback<_vllm_grpc_engine_GetServerInfoResponse__Output>): grpc.ClientUnaryCall;
  GetServerInfo(argument: _vllm_grpc_engine_GetServerInfoRequest, callback: grpc.requestCallback<_vllm_grpc_engine_GetServerInfoResponse__Output>): grpc.ClientUnaryCall;
  getServerInfo(argument: _vllm_grpc_engine_GetServerInfoRequest, metadata: grpc.Metadata, options: grpc.CallOptions, callback: grpc.requestCallback<_vllm_grpc_engine_GetServerInfoResponse__Output>): grpc.ClientUnaryCall;
  getServerInfo(argument: _vllm_grpc_engine_GetServerInfoRequest, metadata: grpc.Metadata, callback: grpc.requestCallback<_vllm_grpc_engine_GetServerInfoResponse__Output>): grpc.ClientUnaryCall;
  getServerInfo(argument: _vllm_grpc_engine_GetServerInfoRequest, options: grpc.CallOptions, callback: grpc.requestCallback<_vllm_grpc_engine_GetServerInfoResponse__Output>): grpc.ClientUnaryCall;
  getServerInfo(argument: _vllm_grpc_engine_GetServerInfoRequest, callback: grpc.requestCallback<_vllm_grpc_engine_GetServerInfoResponse__Output>): grpc.ClientUnaryCall;
  
  GetTokenizer(argument: _smg_grpc_common_GetTokenizerRequest, metadata: grpc.Metadata, options?: grpc.CallOptions): grpc.ClientReadableStream<_smg_grpc_common_GetTokenizerChunk__Output>;
  GetTokenizer(argument: _smg_grpc_common_GetTokenizerRequest, options?: grpc.CallOptions): grpc.ClientReadableStream<_smg_grpc_common_GetTokenizerChunk__Output>;
  getTokenizer(argument: _smg_grpc_common_GetTokenizerRequest, metadata: grpc.Metadata, options?: grpc.CallOptions): grpc.ClientReadableStream<_smg_grpc_common_GetTokenizerChunk__Output>;
  getTokenizer(argument: _smg_grpc_common_GetTokenizerRequest, options?: grpc.CallOptions): grpc.ClientReadableStream<_smg_grpc_common_GetTokenizerChunk__Output>;
  
  HealthCheck(argument: _vllm_grpc_engine_HealthCheckRequest, metadata: grpc.Metadata, options: grpc.CallOptions, callback: grpc.requestCallback<_vllm_grpc_engine_HealthCheckResponse__Output>): grpc.ClientUnaryCall;
  HealthCheck(argument: _vllm_grpc_engine_HealthCheckRequest, metadata: grpc.Metadata, callback: grpc.requestCallback<_vllm_grpc_engine_HealthCheckResponse__Output>): grpc.ClientUnaryCall;
  HealthCheck(argument: _vllm_grpc_engine_HealthCheckRequest, options: grpc.CallOptions, callback: grpc.requestCallback<_vllm_grpc_engine_HealthCheckResponse__Output>): grpc.ClientUnaryCall;
  HealthCheck(argument: _vllm_grpc_engine_HealthCheckRequest, callback: grpc.requestCallback<_vllm_grpc_engine_HealthCheckResponse__Output>): grpc.ClientUnaryCall;
  healthCheck(argument: _vllm_grpc_engine_HealthCheckRequest, metadata: grpc.Metadata, options: grpc.CallOptions, callback: grpc.requestCallback<_vllm_grpc_engine_HealthCheckResponse__Output>): grpc.ClientUnaryCall;
  healthCheck(argument: _vllm_grpc_engine_HealthCheckRequest, metadata: grpc.Metadata, callback: grpc.requestCallback<_vllm_grpc_engine_HealthCheckResponse__Output>): grpc.ClientUnaryCall;
  healthCheck(argument: _vllm_grpc_engine_HealthCheckRequest, options: grpc.CallOptions, callback: grpc.requestCallback<_vllm_grpc_engine_HealthCheckResponse__Output>): grpc.ClientUnaryCall;
  healthCheck(argument: _vllm_grpc_engine_HealthCheckRequest, callback: grpc.requestCallback<_vllm_grpc_engine_HealthCheckResponse__Output>): grpc.ClientUnaryCall;
  
  StartProfile(argument: _smg_grpc_common_StartProfileRequest, metadata: grpc.Metadata, options: grpc.CallOptions, callback: grpc.requestCallback<_smg_grpc_common_ProfileResponse__Output>): grpc.ClientUnaryCall;
  StartProfile(argument: _smg_grpc_common_StartProfileRequest, metadata: grpc.Metadata, callback: grpc.requestCallback<_smg_grpc_common_ProfileResponse__Output>): grpc.ClientUnaryCall;
  StartProfile(argument: _smg_grpc_common_StartProfileRequest, options: grpc.CallOptions, callback: grpc.requestCallback<_smg_grpc_common_ProfileResponse__Output>): grpc.ClientUnaryCall;
  StartProfile(argument: _smg_grpc_common_StartProfileRequest, callback: grpc.requestCallback<_smg_grpc_common_ProfileResponse__Output>): grpc.ClientUnaryCall;
  startProfile(argument: _smg_grpc_common_StartProfileRequest, metadata: grpc.Metadata, options: grpc.CallOptions, callback: grpc.requestCallback<_smg_grpc_common_ProfileResponse__Output>): grpc.ClientUnaryCall;
  startProfile(argument: _smg_grpc_common_StartProfileRequest, metadata: grpc.Metadata, callback: grpc.requestCallback<_smg_grpc_common_ProfileResponse__Output>): grpc.ClientUnaryCall;
  startProfile(argument: _smg_grpc_common_StartProfileRequest, options: grpc.CallOptions, callback: grpc.requestCallback<_smg_grpc_common_ProfileResponse__Output>): grpc.ClientUnaryCall;
  startProfile(argument: _smg_grpc_common_StartProfileRequest, callback: grpc.requestCallback<_smg_grpc_common_ProfileResponse__Output>): grpc.ClientUnaryCall;
  
  StopProfile(argument: _smg_grpc_common_StopProfileRequest, metadata: grpc.Metadata, options: grpc.CallOptions, callback: grpc.requestCallback<_smg_grpc_common_ProfileResponse__Output>): grpc.ClientUnaryCall;
  StopProfile(argument: _smg_grpc_common_StopProfileRequest, metadata: grpc.Metadata, callback: grpc.requestCallback<_smg_grpc_common_ProfileResponse__Output>): grpc.ClientUnaryCall;
  StopProfile(argument: _smg_grpc_common_StopProfileRequest, options: grpc.CallOptions, callback: grpc.requestCallback<_smg_grpc_common_ProfileResponse__Output>): grpc.ClientUnaryCall;
  StopProfile(argument: _smg_grpc_common_StopProfileRequest, callback: grpc.requestCallback<_smg_grpc_common_ProfileResponse__Output>): grpc.ClientUnaryCall;
  stopProfile(argument: _smg_grpc_common_StopProfileRequest, metadata: grpc.Metadata, options: grpc.CallOptions, callback: grpc.requestCallback<_smg_grpc_common_ProfileResponse__Output>): grpc.ClientUnaryCall;
  stopProfile(argument: _smg_grpc_common_StopProfileRequest, metadata: grpc.Metadata, callback: grpc.requestCallback<_smg_grpc_common_ProfileResponse__Output>): grpc.ClientUnaryCall;
  stopProfile(argument: _smg_grpc_common_StopProfileRequest, options: grpc.CallOptions, callback: grpc.requestCallback<_smg_grpc_common_ProfileResponse__Output>): grpc.ClientUnaryCall;
  stopProfile(argument: _smg_grpc_common_StopProfileRequest, callback: grpc.requestCallback<_smg_grpc_common_ProfileResponse__Output>): grpc.ClientUnaryCall;
  
  SubscribeKvEvents(argument: _smg_grpc_common_SubscribeKvEventsRequest, metadata: grpc.Metadata, options?: grpc.CallOptions): grpc.ClientReadableStream<_smg_grpc_common_KvEventBatch__Output>;
  SubscribeKvEvents(argument: _smg_grpc_common_SubscribeKvEventsRequest, options?: grpc.CallOptions): grpc.ClientReadableStream<_smg_grpc_common_KvEventBatch__Output>;
  subscribeKvEvents(argument: _smg_grpc_common_SubscribeKvEventsRequest, metadata: grpc.Metadata, options?: grpc.CallOptions): grpc.ClientReadableStream<_smg_grpc_common_KvEventBatch__Output>;
  subscribeKvEvents(argument: _smg_grpc_common_SubscribeKvEventsRequest, options?: grpc.CallOptions): grpc.ClientReadableStream<_smg_grpc_common_KvEventBatch__Output>;
  
}

export interface VllmEngineHandlers extends grpc.UntypedServiceImplementation {
  Abort: grpc.handleUnaryCall<_vllm_grpc_engine_AbortRequest__Output, _vllm_grpc_engine_AbortResponse>;
  
  Embed: grpc.handleUnaryCall<_vllm_grpc_engine_EmbedRequest__Output, _vllm_grpc_engine_EmbedResponse>;
  
  FlushCache: grpc.handleUnaryCall<_smg_grpc_common_FlushCacheRequest__Output, _smg_grpc_common_FlushCacheResponse>;
  
  Generate: grpc.handleServerStreamingCall<_vllm_grpc_engine_GenerateRequest__Output, _vllm_grpc_engine_GenerateResponse>;
  
  GetLoads: grpc.handleUnaryCall<_vllm_grpc_engine_GetLoadsRequest__Output, _vllm_grpc_engine_GetLoadsResponse>;
  
  GetModelInfo: grpc.handleUnaryCall<_vllm_grpc_engine_GetModelInfoRequest__Output, _vllm_grpc_engine_GetModelInfoResponse>;
  
  GetServerInfo: grpc.handleUnaryCall<_vllm_grpc_engine_GetServerInfoRequest__Output, _vllm_grpc_engine_GetServerInfoResponse>;
  
  GetTokenizer: grpc.handleServerStreamingCall<_smg_grpc_common_GetTokenizerRequest__Output, _smg_grpc_common_GetTokenizerChunk>;
  
  HealthCheck: grpc.handleUnaryCall<_vllm_grpc_engine_HealthCheckRequest__Output, _vllm_grpc_engine_HealthCheckResponse>;
  
  StartProfile: grpc.handleUnaryCall<_smg_grpc_common_StartProfileRequest__Output, _smg_grpc_common_ProfileResponse>;
  
  StopProfile: grpc.handleUnaryCall<_smg_grpc_common_StopProfileRequest__Output, _smg_grpc_common_ProfileResponse>;
  
  SubscribeKvEvents: grpc.handleServerStreamingCall<_smg_grpc_common_SubscribeKvEventsRequest__Output, _smg_grpc_common_KvEventBatch>;
  
}

export interface VllmEngineDefinition extends grpc.ServiceDefinition {
  Abort: MethodDefinition<_vllm_grpc_engine_AbortRequest, _vllm_grpc_engine_AbortResponse, _vllm_grpc_engine_AbortRequest__Output, _vllm_grpc_engine_AbortResponse__Output>
  Embed: MethodDefinition<_vllm_grpc_engine_EmbedRequest, _vllm_grpc_engine_EmbedResponse, _vllm_grpc_engine_EmbedRequest__Output, _vllm_grpc_engine_EmbedResponse__Output>
  FlushCache: MethodDefinition<_smg_grpc_common_FlushCacheRequest, _smg_grpc_common_FlushCacheResponse, _smg_grpc_common_FlushCacheRequest__Output, _smg_grpc_common_FlushCacheResponse__Output>
  Generate: MethodDefinition<_vllm_grpc_engine_GenerateRequest, _vllm_grpc_engine_GenerateResponse, _vllm_grpc_engine_GenerateRequest__Output, _vllm_grpc_engine_GenerateResponse__Output>
  GetLoads: MethodDefinition<_vllm_grpc_engine_GetLoadsRequest, _vllm_grpc_engine_GetLoadsResponse, _vllm_grpc_engine_GetLoadsRequest__Output, _vllm_grpc_engine_GetLoadsResponse__Output>
  GetModelInfo: MethodDefinition<_vllm_grpc_engine_GetModelInfoRequest, _vllm_grpc_engine_GetModelInfoResponse, _vllm_grpc_engine_GetModelInfoRequest__Output, _vllm_grpc_engine_GetModelInfoResponse__Output>
  GetServerInfo: MethodDefinition<_vllm_grpc_engine_GetServerInfoRequest, _vllm_grpc_engine_GetServerInfoResponse, _vllm_grpc_engine_GetServerInfoRequest__Output, _vllm_grpc_engine_GetServerInfoResponse__Output>
  GetTokenizer: MethodDefinition<_smg_grpc_common_GetTokenizerRequest, _smg_grpc_common_GetTokenizerChunk, _smg_grpc_common_GetTokenizerRequest__Output, _smg_grpc_common_GetTokenizerChunk__Output>
  HealthCheck: MethodDefinition<_vllm_grpc_engine_HealthCheckRequest, _vllm_grpc_engine_HealthCheckResponse, _vllm_grpc_engine_HealthCheckRequest__Output, _vllm_grpc_engine_HealthCheckResponse__Output>
  StartProfile: MethodDefinition<_smg_grpc_common_StartProfileRequest, _smg_grpc_common_ProfileResponse, _smg_grpc_common_StartProfileRequest__Output, _smg_grpc_common_ProfileResponse__Output>
  StopProfile: MethodDefinition<_smg_grpc_common_StopProfileRequest, _smg_grpc_common_ProfileResponse, _smg_grpc_common_StopProfileRequest__Output, _smg_grpc_common_ProfileResponse__Output>
  SubscribeKvEvents: MethodDefinition<_smg_grpc_common_SubscribeKvEventsRequest, _smg_grpc_common_KvEventBatch, _smg_grpc_common_SubscribeKvEventsRequest__Output, _smg_grpc_common_KvEventBatch__Output>
}
