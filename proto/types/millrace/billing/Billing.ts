// Original file: proto/billing.proto

import type * as grpc from '@grpc/grpc-js'
import type { MethodDefinition } from '@grpc/proto-loader'
import type { AskRequest as _millrace_billing_AskRequest, AskRequest__Output as _millrace_billing_AskRequest__Output } from '../../millrace/billing/AskRequest.ts';
import type { AskResponse as _millrace_billing_AskResponse, AskResponse__Output as _millrace_billing_AskResponse__Output } from '../../millrace/billing/AskResponse.ts';
import type { Catalog as _millrace_billing_Catalog, Catalog__Output as _millrace_billing_Catalog__Output } from '../../millrace/billing/Catalog.ts';
import type { KeyChanges as _millrace_billing_KeyChanges, KeyChanges__Output as _millrace_billing_KeyChanges__Output } from '../../millrace/billing/KeyChanges.ts';
import type { LookUpKeyRequest as _millrace_billing_LookUpKeyRequest, LookUpKeyRequest__Output as _millrace_billing_LookUpKeyRequest__Output } from '../../millrace/billing/LookUpKeyRequest.ts';
import type { LookUpKeyResponse as _millrace_billing_LookUpKeyResponse, LookUpKeyResponse__Output as _millrace_billing_LookUpKeyResponse__Output } from '../../millrace/billing/LookUpKeyResponse.ts';
import type { MoneyCalls as _millrace_billing_MoneyCalls, MoneyCalls__Output as _millrace_billing_MoneyCalls__Output } from '../../millrace/billing/MoneyCalls.ts';
import type { MoneyReplies as _millrace_billing_MoneyReplies, MoneyReplies__Output as _millrace_billing_MoneyReplies__Output } from '../../millrace/billing/MoneyReplies.ts';
import type { WatchCatalogRequest as _millrace_billing_WatchCatalogRequest, WatchCatalogRequest__Output as _millrace_billing_WatchCatalogRequest__Output } from '../../millrace/billing/WatchCatalogRequest.ts';
import type { WatchKeysRequest as _millrace_billing_WatchKeysRequest, WatchKeysRequest__Output as _millrace_billing_WatchKeysRequest__Output } from '../../millrace/billing/WatchKeysRequest.ts';

export interface BillingClient extends grpc.Client {
  Ask(argument: _millrace_billing_AskRequest, metadata: grpc.Metadata, options: grpc.CallOptions, callback: grpc.requestCallback<_millrace_billing_AskResponse__Output>): grpc.ClientUnaryCall;
  Ask(argument: _millrace_billing_AskRequest, metadata: grpc.Metadata, callback: grpc.requestCallback<_millrace_billing_AskResponse__Output>): grpc.ClientUnaryCall;
  Ask(argument: _millrace_billing_AskRequest, options: grpc.CallOptions, callback: grpc.requestCallback<_millrace_billing_AskResponse__Output>): grpc.ClientUnaryCall;
  Ask(argument: _millrace_billing_AskRequest, callback: grpc.requestCallback<_millrace_billing_AskResponse__Output>): grpc.ClientUnaryCall;
  ask(argument: _millrace_billing_AskRequest, metadata: grpc.Metadata, options: grpc.CallOptions, callback: grpc.requestCallback<_millrace_billing_AskResponse__Output>): grpc.ClientUnaryCall;
  ask(argument: _millrace_billing_AskRequest, metadata: grpc.Metadata, callback: grpc.requestCallback<_millrace_billing_AskResponse__Output>): grpc.ClientUnaryCall;
  ask(argument: _millrace_billing_AskRequest, options: grpc.CallOptions, callback: grpc.requestCallback<_millrace_billing_AskResponse__Output>): grpc.ClientUnaryCall;
  ask(argument: _millrace_billing_AskRequest, callback: grpc.requestCallback<_millrace_billing_AskResponse__Output>): grpc.ClientUnaryCall;
  
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
  
  Money(metadata: grpc.Metadata, options?: grpc.CallOptions): grpc.ClientDuplexStream<_millrace_billing_MoneyCalls, _millrace_billing_MoneyReplies__Output>;
  Money(options?: grpc.CallOptions): grpc.ClientDuplexStream<_millrace_billing_MoneyCalls, _millrace_billing_MoneyReplies__Output>;
  money(metadata: grpc.Metadata, options?: grpc.CallOptions): grpc.ClientDuplexStream<_millrace_billing_MoneyCalls, _millrace_billing_MoneyReplies__Output>;
  money(options?: grpc.CallOptions): grpc.ClientDuplexStream<_millrace_billing_MoneyCalls, _millrace_billing_MoneyReplies__Output>;
  
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
  Ask: grpc.handleUnaryCall<_millrace_billing_AskRequest__Output, _millrace_billing_AskResponse>;
  
  LookUpKey: grpc.handleUnaryCall<_millrace_billing_LookUpKeyRequest__Output, _millrace_billing_LookUpKeyResponse>;
  
  LookUpManagementKey: grpc.handleUnaryCall<_millrace_billing_LookUpKeyRequest__Output, _millrace_billing_LookUpKeyResponse>;
  
  Money: grpc.handleBidiStreamingCall<_millrace_billing_MoneyCalls__Output, _millrace_billing_MoneyReplies>;
  
  WatchCatalog: grpc.handleServerStreamingCall<_millrace_billing_WatchCatalogRequest__Output, _millrace_billing_Catalog>;
  
  WatchKeys: grpc.handleServerStreamingCall<_millrace_billing_WatchKeysRequest__Output, _millrace_billing_KeyChanges>;
  
}

export interface BillingDefinition extends grpc.ServiceDefinition {
  Ask: MethodDefinition<_millrace_billing_AskRequest, _millrace_billing_AskResponse, _millrace_billing_AskRequest__Output, _millrace_billing_AskResponse__Output>
  LookUpKey: MethodDefinition<_millrace_billing_LookUpKeyRequest, _millrace_billing_LookUpKeyResponse, _millrace_billing_LookUpKeyRequest__Output, _millrace_billing_LookUpKeyResponse__Output>
  LookUpManagementKey: MethodDefinition<_millrace_billing_LookUpKeyRequest, _millrace_billing_LookUpKeyResponse, _millrace_billing_LookUpKeyRequest__Output, _millrace_billing_LookUpKeyResponse__Output>
  Money: MethodDefinition<_millrace_billing_MoneyCalls, _millrace_billing_MoneyReplies, _millrace_billing_MoneyCalls__Output, _millrace_billing_MoneyReplies__Output>
  WatchCatalog: MethodDefinition<_millrace_billing_WatchCatalogRequest, _millrace_billing_Catalog, _millrace_billing_WatchCatalogRequest__Output, _millrace_billing_Catalog__Output>
  WatchKeys: MethodDefinition<_millrace_billing_WatchKeysRequest, _millrace_billing_KeyChanges, _millrace_billing_WatchKeysRequest__Output, _millrace_billing_KeyChanges__Output>
}
