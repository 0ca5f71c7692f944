// Original file: proto/billing.proto

import type * as grpc from '@grpc/grpc-js'
import type { MethodDefinition } from '@grpc/proto-loader'
import type { Catalog as _millrace_billing_Catalog, Catalog__Output as _millrace_billing_Catalog__Output } from '../../millrace/billing/Catalog.ts';
import type { KeyChanges as _millrace_billing_KeyChanges, KeyChanges__Output as _millrace_billing_KeyChanges__Output } from '../../millrace/billing/KeyChanges.ts';
import type { ListAccountKeysRequest as _millrace_billing_ListAccountKeysRequest, ListAccountKeysRequest__Output as _millrace_billing_ListAccountKeysRequest__Output } from '../../millrace/billing/ListAccountKeysRequest.ts';
import type { ListAccountKeysResponse as _millrace_billing_ListAccountKeysResponse, ListAccountKeysResponse__Output as _millrace_billing_ListAccountKeysResponse__Output } from '../../millrace/billing/ListAccountKeysResponse.ts';
import type { ListGenerationsRequest as _millrace_billing_ListGenerationsRequest, ListGenerationsRequest__Output as _millrace_billing_ListGenerationsRequest__Output } from '../../millrace/billing/ListGenerationsRequest.ts';
import type { ListGenerationsResponse as _millrace_billing_ListGenerationsResponse, ListGenerationsResponse__Output as _millrace_billing_ListGenerationsResponse__Output } from '../../millrace/billing/ListGenerationsResponse.ts';
import type { LookUpKeyRequest as _millrace_billing_LookUpKeyRequest, LookUpKeyRequest__Output as _millrace_billing_LookUpKeyRequest__Output } from '../../millrace/billing/LookUpKeyRequest.ts';
import type { LookUpKeyResponse as _millrace_billing_LookUpKeyResponse, LookUpKeyResponse__Output as _millrace_billing_LookUpKeyResponse__Output } from '../../millrace/billing/LookUpKeyResponse.ts';
import type { ManageKeyRequest as _millrace_billing_ManageKeyRequest, ManageKeyRequest__Output as _millrace_billing_ManageKeyRequest__Output } from '../../millrace/billing/ManageKeyRequest.ts';
import type { ManageKeyResponse as _millrace_billing_ManageKeyResponse, ManageKeyResponse__Output as _millrace_billing_ManageKeyResponse__Output } from '../../millrace/billing/ManageKeyResponse.ts';
import type { MoneyCalls as _millrace_billing_MoneyCalls, MoneyCalls__Output as _millrace_billing_MoneyCalls__Output } from '../../millrace/billing/MoneyCalls.ts';
import type { MoneyReplies as _millrace_billing_MoneyReplies, MoneyReplies__Output as _millrace_billing_MoneyReplies__Output } from '../../millrace/billing/MoneyReplies.ts';
import type { ReadActivityRequest as _millrace_billing_ReadActivityRequest, ReadActivityRequest__Output as _millrace_billing_ReadActivityRequest__Output } from '../../millrace/billing/ReadActivityRequest.ts';
import type { ReadActivityResponse as _millrace_billing_ReadActivityResponse, ReadActivityResponse__Output as _millrace_billing_ReadActivityResponse__Output } from '../../millrace/billing/ReadActivityResponse.ts';
import type { ReadGenerationRequest as _millrace_billing_ReadGenerationRequest, ReadGenerationRequest__Output as _millrace_billing_ReadGenerationRequest__Output } from '../../millrace/billing/ReadGenerationRequest.ts';
import type { ReadGenerationResponse as _millrace_billing_ReadGenerationResponse, ReadGenerationResponse__Output as _millrace_billing_ReadGenerationResponse__Output } from '../../millrace/billing/ReadGenerationResponse.ts';
import type { ReadKeyRequest as _millrace_billing_ReadKeyRequest, ReadKeyRequest__Output as _millrace_billing_ReadKeyRequest__Output } from '../../millrace/billing/ReadKeyRequest.ts';
import type { ReadKeyResponse as _millrace_billing_ReadKeyResponse, ReadKeyResponse__Output as _millrace_billing_ReadKeyResponse__Output } from '../../millrace/billing/ReadKeyResponse.ts';
import type { WatchCatalogRequest as _millrace_billing_WatchCatalogRequest, WatchCatalogRequest__Output as _millrace_billing_WatchCatalogRequest__Output } from '../../millrace/billing/WatchCatalogRequest.ts';
import type { WatchKeysRequest as _millrace_billing_WatchKeysRequest, WatchKeysRequest__Output as _millrace_billing_WatchKeysRequest__Output } from '../../millrace/billing/WatchKeysRequest.ts';

export interface BillingClient extends grpc.Client {
  ListAccountKeys(argument: _millrace_billing_ListAccountKeysRequest, metadata: grpc.Metadata, options: grpc.CallOptions, callback: grpc.requestCallback<_millrace_billing_ListAccountKeysResponse__Output>): grpc.ClientUnaryCall;
  ListAccountKeys(argument: _millrace_billing_ListAccountKeysRequest, metadata: grpc.Metadata, callback: grpc.requestCallback<_millrace_billing_ListAccountKeysResponse__Output>): grpc.ClientUnaryCall;
  ListAccountKeys(argument: _millrace_billing_ListAccountKeysRequest, options: grpc.CallOptions, callback: grpc.requestCallback<_millrace_billing_ListAccountKeysResponse__Output>): grpc.ClientUnaryCall;
  ListAccountKeys(argument: _millrace_billing_ListAccountKeysRequest, callback: grpc.requestCallback<_millrace_billing_ListAccountKeysResponse__Output>): grpc.ClientUnaryCall;
  listAccountKeys(argument: _millrace_billing_ListAccountKeysRequest, metadata: grpc.Metadata, options: grpc.CallOptions, callback: grpc.requestCallback<_millrace_billing_ListAccountKeysResponse__Output>): grpc.ClientUnaryCall;
  listAccountKeys(argument: _millrace_billing_ListAccountKeysRequest, metadata: grpc.Metadata, callback: grpc.requestCallback<_millrace_billing_ListAccountKeysResponse__Output>): grpc.ClientUnaryCall;
  listAccountKeys(argument: _millrace_billing_ListAccountKeysRequest, options: grpc.CallOptions, callback: grpc.requestCallback<_millrace_billing_ListAccountKeysResponse__Output>): grpc.ClientUnaryCall;
  listAccountKeys(argument: _millrace_billing_ListAccountKeysRequest, callback: grpc.requestCallback<_millrace_billing_ListAccountKeysResponse__Output>): grpc.ClientUnaryCall;
  
  ListGenerations(argument: _millrace_billing_ListGenerationsRequest, metadata: grpc.Metadata, options: grpc.CallOptions, callback: grpc.requestCallback<_millrace_billing_ListGenerationsResponse__Output>): grpc.ClientUnaryCall;
  ListGenerations(argument: _millrace_billing_ListGenerationsRequest, metadata: grpc.Metadata, callback: grpc.requestCallback<_millrace_billing_ListGenerationsResponse__Output>): grpc.ClientUnaryCall;
  ListGenerations(argument: _millrace_billing_ListGenerationsRequest, options: grpc.CallOptions, callback: grpc.requestCallback<_millrace_billing_ListGenerationsResponse__Output>): grpc.ClientUnaryCall;
  ListGenerations(argument: _millrace_billing_ListGenerationsRequest, callback: grpc.requestCallback<_millrace_billing_ListGenerationsResponse__Output>): grpc.ClientUnaryCall;
  listGenerations(argument: _millrace_billing_ListGenerationsRequest, metadata: grpc.Metadata, options: grpc.CallOptions, callback: grpc.requestCallback<_millrace_billing_ListGenerationsResponse__Output>): grpc.ClientUnaryCall;
  listGenerations(argument: _millrace_billing_ListGenerationsRequest, metadata: grpc.Metadata, callback: grpc.requestCallback<_millrace_billing_ListGenerationsResponse__Output>): grpc.ClientUnaryCall;
  listGenerations(argument: _millrace_billing_ListGenerationsRequest, options: grpc.CallOptions, callback: grpc.requestCallback<_millrace_billing_ListGenerationsResponse__Output>): grpc.ClientUnaryCall;
  listGenerations(argument: _millrace_billing_ListGenerationsRequest, callback: grpc.requestCallback<_millrace_billing_ListGenerationsResponse__Output>): grpc.ClientUnaryCall;
  
  LookUpKey(argument: _millrace_billing_LookUpKeyRequest, metadata: grpc.Metadata, options: grpc.CallOptions, callback: grpc.requestCallback<_millrace_billing_LookUpKeyResponse__Output>): grpc.ClientUnaryCall;
  LookUpKey(argument: _millrace_billing_LookUpKeyRequest, metadata: grpc.Metadata, callback: grpc.requestCallback<_millrace_billing_LookUpKeyResponse__Output>): grpc.ClientUnaryCall;
  LookUpKey(argument: _millrace_billing_LookUpKeyRequest, options: grpc.CallOptions, callback: grpc.requestCallback<_millrace_billing_LookUpKeyResponse__Output>): grpc.ClientUnaryCall;
  LookUpKey(argument: _millrace_billing_LookUpKeyRequest, callback: grpc.requestCallback<_millrace_billing_LookUpKeyResponse__Output>): grpc.ClientUnaryCall;
  lookUpKey(argument: _millrace_billing_LookUpKeyRequest, metadata: grpc.Metadata, options: grpc.CallOptions, callback: grpc.requestCallback<_millrace_billing_LookUpKeyResponse__Output>): grpc.ClientUnaryCall;
  lookUpKey(argument: _millrace_billing_LookUpKeyRequest, metadata: grpc.Metadata, callback: grpc.requestCallback<_millrace_billing_LookUpKeyResponse__Output>): grpc.ClientUnaryCall;
  lookUpKey(argument: _millrace_billing_LookUpKeyRequest, options: grpc.CallOptions, callback: grpc.requestCallback<_millrace_billing_LookUpKeyResponse__Output>): grpc.ClientUnaryCall;
  lookUpKey(argument: _millrace_billing_LookUpKeyRequest, callback: grpc.requestCallback<_millrace_billing_LookUpKeyResponse__Output>): grpc.ClientUnaryCall;
  
  LookUpManagementKey(argument: _millrace_billing_LookUpKeyRequest, metadata: grpc.Metadata, options: grpc.CallOptions, callback: grpc.requestCallback<_millrace_billing_LookUpKeyResponse__Output>): grpc.ClientUnaryCall;
  LookUpManagementKey(argument: _millrace_billing_LookUpKeyRequest, metadata: grpc.Metadata, callback: grpc.requestCallback<_millrace_billing_LookUpKeyResponse__Output>): grpc.ClientUnaryCall;
  LookUpManagementKey(argument: _millrace_billing_LookUpKeyRequest, options: grpc.CallOptions, callback: grpc.requestCallback<_millrace_billing_LookUpKeyResponse__Output>): grpc.ClientUnaryCall;
  LookUpManagementKey(argument: _millrace_billing_LookUpKeyRequest, callback: grpc.requestCallback<_millrace_billing_LookUpKeyResponse__Output>): grpc.ClientUnaryCall;
  lookUpManagementKey(argument: _millrace_billing_LookUpKeyRequest, metadata: grpc.Metadata, options: grpc.CallOptions, callback: grpc.requestCallback<_millrace_billing_LookUpKeyResponse__Output>): grpc.ClientUnaryCall;
  lookUpManagementKey(argument: _millrace_billing_LookUpKeyRequest, metadata: grpc.Metadata, callback: grpc.requestCallback<_millrace_billing_LookUpKeyResponse__Output>): grpc.ClientUnaryCall;
  lookUpManagementKey(argument: _millrace_billing_LookUpKeyRequest, options: grpc.CallOptions, callback: grpc.requestCallback<_millrace_billing_LookUpKeyResponse__Output>): grpc.ClientUnaryCall;
  lookUpManagementKey(argument: _millrace_billing_LookUpKeyRequest, callback: grpc.requestCallback<_millrace_billing_LookUpKeyResponse__Output>): grpc.ClientUnaryCall;
  
  ManageKey(argument: _millrace_billing_ManageKeyRequest, metadata: grpc.Metadata, options: grpc.CallOptions, callback: grpc.requestCallback<_millrace_billing_ManageKeyResponse__Output>): grpc.ClientUnaryCall;
  ManageKey(argument: _millrace_billing_ManageKeyRequest, metadata: grpc.Metadata, callback: grpc.requestCallback<_millrace_billing_ManageKeyResponse__Output>): grpc.ClientUnaryCall;
  ManageKey(argument: _millrace_billing_ManageKeyRequest, options: grpc.CallOptions, callback: grpc.requestCallback<_millrace_billing_ManageKeyResponse__Output>): grpc.ClientUnaryCall;
  ManageKey(argument: _millrace_billing_ManageKeyRequest, callback: grpc.requestCallback<_millrace_billing_ManageKeyResponse__Output>): grpc.ClientUnaryCall;
  manageKey(argument: _millrace_billing_ManageKeyRequest, metadata: grpc.Metadata, options: grpc.CallOptions, callback: grpc.requestCallback<_millrace_billing_ManageKeyResponse__Output>): grpc.ClientUnaryCall;
  manageKey(argument: _millrace_billing_ManageKeyRequest, metadata: grpc.Metadata, callback: grpc.requestCallback<_millrace_billing_ManageKeyResponse__Output>): grpc.ClientUnaryCall;
  manageKey(argument: _millrace_billing_ManageKeyRequest, options: grpc.CallOptions, callback: grpc.requestCallback<_millrace_billing_ManageKeyResponse__Output>): grpc.ClientUnaryCall;
  manageKey(argument: _millrace_billing_ManageKeyRequest, callback: grpc.requestCallback<_millrace_billing_ManageKeyResponse__Output>): grpc.ClientUnaryCall;
  
  Money(metadata: grpc.Metadata, options?: grpc.CallOptions): grpc.ClientDuplexStream<_millrace_billing_MoneyCalls, _millrace_billing_MoneyReplies__Output>;
  Money(options?: grpc.CallOptions): grpc.ClientDuplexStream<_millrace_billing_MoneyCalls, _millrace_billing_MoneyReplies__Output>;
  money(metadata: grpc.Metadata, options?: grpc.CallOptions): grpc.ClientDuplexStream<_millrace_billing_MoneyCalls, _millrace_billing_MoneyReplies__Output>;
  money(options?: grpc.CallOptions): grpc.ClientDuplexStream<_millrace_billing_MoneyCalls, _millrace_billing_MoneyReplies__Output>;
  
  ReadActivity(argument: _millrace_billing_ReadActivityRequest, metadata: grpc.Metadata, options: grpc.CallOptions, callback: grpc.requestCallback<_millrace_billing_ReadActivityResponse__Output>): grpc.ClientUnaryCall;
  ReadActivity(argument: _millrace_billing_ReadActivityRequest, metadata: grpc.Metadata, callback: grpc.requestCallback<_millrace_billing_ReadActivityResponse__Output>): grpc.ClientUnaryCall;
  ReadActivity(argument: _millrace_billing_ReadActivityRequest, options: grpc.CallOptions, callback: grpc.requestCallback<_millrace_billing_ReadActivityResponse__Output>): grpc.ClientUnaryCall;
  ReadActivity(argument: _millrace_billing_ReadActivityRequest, callback: grpc.requestCallback<_millrace_billing_ReadActivityResponse__Output>): grpc.ClientUnaryCall;
  readActivity(argument: _millrace_billing_ReadActivityRequest, metadata: grpc.Metadata, options: grpc.CallOptions, callback: grpc.requestCallback<_millrace_billing_ReadActivityResponse__Output>): grpc.ClientUnaryCall;
  readActivity(argument: _millrace_billing_ReadActivityRequest, metadata: grpc.Metadata, callback: grpc.requestCallback<_millrace_billing_ReadActivityResponse__Output>): grpc.ClientUnaryCall;
  readActivity(argument: _millrace_billing_ReadActivityRequest, options: grpc.CallOptions, callback: grpc.requestCallback<_millrace_billing_ReadActivityResponse__Output>): grpc.ClientUnaryCall;
  readActivity(argument: _millrace_billing_ReadActivityRequest, callback: grpc.requestCallback<_millrace_billing_ReadActivityResponse__Output>): grpc.ClientUnaryCall;
  
  ReadGeneration(argument: _millrace_billing_ReadGenerationRequest, metadata: grpc.Metadata, options: grpc.CallOptions, callback: grpc.requestCallback<_millrace_billing_ReadGenerationResponse__Output>): grpc.ClientUnaryCall;
  ReadGeneration(argument: _millrace_billing_ReadGenerationRequest, metadata: grpc.Metadata, callback: grpc.requestCallback<_millrace_billing_ReadGenerationResponse__Output>): grpc.ClientUnaryCall;
  ReadGeneration(argument: _millrace_billing_ReadGenerationRequest, options: grpc.CallOptions, callback: grpc.requestCallback<_millrace_billing_ReadGenerationResponse__Output>): grpc.ClientUnaryCall;
  ReadGeneration(argument: _millrace_billing_ReadGenerationRequest, callback: grpc.requestCallback<_millrace_billing_ReadGenerationResponse__Output>): grpc.ClientUnaryCall;
  readGeneration(argument: _millrace_billing_ReadGenerationRequest, metadata: grpc.Metadata, options: grpc.CallOptions, callback: grpc.requestCallback<_millrace_billing_ReadGenerationResponse__Output>): grpc.ClientUnaryCall;
  readGeneration(argument: _millrace_billing_ReadGenerationRequest, metadata: grpc.Metadata, callback: grpc.requestCallback<_millrace_billing_ReadGenerationResponse__Output>): grpc.ClientUnaryCall;
  readGeneration(argument: _millrace_billing_ReadGenerationRequest, options: grpc.CallOptions, callback: grpc.requestCallback<_millrace_billing_ReadGenerationResponse__Output>): grpc.ClientUnaryCall;
  readGeneration(argument: _millrace_billing_ReadGenerationRequest, callback: grpc.requestCallback<_millrace_billing_ReadGenerationResponse__Output>): grpc.ClientUnaryCall;
  
  ReadKey(argument: _millrace_billing_ReadKeyRequest, metadata: grpc.Metadata, options: grpc.CallOptions, callback: grpc.requestCallback<_millrace_billing_ReadKeyResponse__Output>): grpc.ClientUnaryCall;
  ReadKey(argument: _millrace_billing_ReadKeyRequest, metadata: grpc.Metadata, callback: grpc.requestCallback<_millrace_billing_ReadKeyResponse__Output>): grpc.ClientUnaryCall;
  ReadKey(argument: _millrace_billing_ReadKeyRequest, options: grpc.CallOptions, callback: grpc.requestCallback<_millrace_billing_ReadKeyResponse__Output>): grpc.ClientUnaryCall;
  ReadKey(argument: _millrace_billing_ReadKeyRequest, callback: grpc.requestCallback<_millrace_billing_ReadKeyResponse__Output>): grpc.ClientUnaryCall;
  readKey(argument: _millrace_billing_ReadKeyRequest, metadata: grpc.Metadata, options: grpc.CallOptions, callback: grpc.requestCallback<_millrace_billing_ReadKeyResponse__Output>): grpc.ClientUnaryCall;
  readKey(argument: _millrace_billing_ReadKeyRequest, metadata: grpc.Metadata, callback: grpc.requestCallback<_millrace_billing_ReadKeyResponse__Output>): grpc.ClientUnaryCall;
  readKey(argument: _millrace_billing_ReadKeyRequest, options: grpc.CallOptions, callback: grpc.requestCallback<_millrace_billing_ReadKeyResponse__Output>): grpc.ClientUnaryCall;
  readKey(argument: _millrace_billing_ReadKeyRequest, callback: grpc.requestCallback<_millrace_billing_ReadKeyResponse__Output>): grpc.ClientUnaryCall;
  
  WatchCatalog(argument: _millrace_billing_WatchCatalogRequest, metadata: grpc.Metadata, options?: grpc.CallOptions): grpc.ClientReadableStream<_millrace_billing_Catalog__Output>;
  WatchCatalog(argument: _millrace_billing_WatchCatalogRequest, options?: grpc.CallOptions): grpc.ClientReadableStream<_millrace_billing_Catalog__Output>;
  watchCatalog(argument: _millrace_billing_WatchCatalogRequest, metadata: grpc.Metadata, options?: grpc.CallOptions): grpc.ClientReadableStream<_millrace_billing_Catalog__Output>;
  watchCatalog(argument: _millrace_billing_WatchCatalogRequest, options?: grpc.CallOptions): grpc.ClientReadableStream<_millrace_billing_Catalog__Output>;
  
  WatchKeys(argument: _millrace_billing_WatchKeysRequest, metadata: grpc.Metadata, options?: grpc.CallOptions): grpc.ClientReadableStream<_millrace_billing_KeyChanges__Output>;
  WatchKeys(argument: _millrace_billing_WatchKeysRequest, options?: grpc.CallOptions): grpc.ClientReadableStream<_millrace_billing_KeyChanges__Output>;
  watchKeys(argument: _millrace_billing_WatchKeysRequest, metadata: grpc.Metadata, options?: grpc.CallOptions): grpc.ClientReadableStream<_millrace_billing_KeyChanges__Output>;
  watchKeys(argument: _millrace_billing_WatchKeysRequest, options?: grpc.CallOptions): grpc.ClientReadableStream<_millrace_billing_KeyChanges__Output>;
  
}

export interface BillingHandlers extends grpc.UntypedServiceImplementation {
  ListAccountKeys: grpc.handleUnaryCall<_millrace_billing_ListAccountKeysRequest__Output, _millrace_billing_ListAccountKeysResponse>;
  
  ListGenerations: grpc.handleUnaryCall<_millrace_billing_ListGenerationsRequest__Output, _millrace_billing_ListGenerationsResponse>;
  
  LookUpKey: grpc.handleUnaryCall<_millrace_billing_LookUpKeyRequest__Output, _millrace_billing_LookUpKeyResponse>;
  
  LookUpManagementKey: grpc.handleUnaryCall<_millrace_billing_LookUpKeyRequest__Output, _millrace_billing_LookUpKeyResponse>;
  
  ManageKey: grpc.handleUnaryCall<_millrace_billing_ManageKeyRequest__Output, _millrace_billing_ManageKeyResponse>;
  
  Money: grpc.handleBidiStreamingCall<_millrace_billing_MoneyCalls__Output, _millrace_billing_MoneyReplies>;
  
  ReadActivity: grpc.handleUnaryCall<_millrace_billing_ReadActivityRequest__Output, _millrace_billing_ReadActivityResponse>;
  
  ReadGeneration: grpc.handleUnaryCall<_millrace_billing_ReadGenerationRequest__Output, _millrace_billing_ReadGenerationResponse>;
  
  ReadKey: grpc.handleUnaryCall<_millrace_billing_ReadKeyRequest__Output, _millrace_billing_ReadKeyResponse>;
  
  WatchCatalog: grpc.handleServerStreamingCall<_millrace_billing_WatchCatalogRequest__Output, _millrace_billing_Catalog>;
  
  WatchKeys: grpc.handleServerStreamingCall<_millrace_billing_WatchKeysRequest__Output, _millrace_billing_KeyChanges>;
  
}

export interface BillingDefinition extends grpc.ServiceDefinition {
  ListAccountKeys: MethodDefinition<_millrace_billing_ListAccountKeysRequest, _millrace_billing_ListAccountKeysResponse, _millrace_billing_ListAccountKeysRequest__Output, _millrace_billing_ListAccountKeysResponse__Output>
  ListGenerations: MethodDefinition<_millrace_billing_ListGenerationsRequest, _millrace_billing_ListGenerationsResponse, _millrace_billing_ListGenerationsRequest__Output, _millrace_billing_ListGenerationsResponse__Output>
  LookUpKey: MethodDefinition<_millrace_billing_LookUpKeyRequest, _millrace_billing_LookUpKeyResponse, _millrace_billing_LookUpKeyRequest__Output, _millrace_billing_LookUpKeyResponse__Output>
  LookUpManagementKey: MethodDefinition<_millrace_billing_LookUpKeyRequest, _millrace_billing_LookUpKeyResponse, _millrace_billing_LookUpKeyRequest__Output, _millrace_billing_LookUpKeyResponse__Output>
  ManageKey: MethodDefinition<_millrace_billing_ManageKeyRequest, _millrace_billing_ManageKeyResponse, _millrace_billing_ManageKeyRequest__Output, _millrace_billing_ManageKeyResponse__Output>
  Money: MethodDefinition<_millrace_billing_MoneyCalls, _millrace_billing_MoneyReplies, _millrace_billing_MoneyCalls__Output, _millrace_billing_MoneyReplies__Output>
  ReadActivity: MethodDefinition<_millrace_billing_ReadActivityRequest, _millrace_billing_ReadActivityResponse, _millrace_billing_ReadActivityRequest__Output, _millrace_billing_ReadActivityResponse__Output>
  ReadGeneration: MethodDefinition<_millrace_billing_ReadGenerationRequest, _millrace_billing_ReadGenerationResponse, _millrace_billing_ReadGenerationRequest__Output, _millrace_billing_ReadGenerationResponse__Output>
  ReadKey: MethodDefinition<_millrace_billing_ReadKeyRequest, _millrace_billing_ReadKeyResponse, _millrace_billing_ReadKeyRequest__Output, _millrace_billing_ReadKeyResponse__Output>
  WatchCatalog: MethodDefinition<_millrace_billing_WatchCatalogRequest, _millrace_billing_Catalog, _millrace_billing_WatchCatalogRequest__Output, _millrace_billing_Catalog__Output>
  WatchKeys: MethodDefinition<_millrace_billing_WatchKeysRequest, _millrace_billing_KeyChanges, _millrace_billing_WatchKeysRequest__Output, _millrace_billing_KeyChanges__Output>
}
