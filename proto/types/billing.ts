import type * as grpc from '@grpc/grpc-js';
import type { MessageTypeDefinition } from '@grpc/proto-loader';

import type { AccountKey as _millrace_billing_AccountKey, AccountKey__Output as _millrace_billing_AccountKey__Output } from './millrace/billing/AccountKey.ts';
import type { Activity as _millrace_billing_Activity, Activity__Output as _millrace_billing_Activity__Output } from './millrace/billing/Activity.ts';
import type { BillingClient as _millrace_billing_BillingClient, BillingDefinition as _millrace_billing_BillingDefinition } from './millrace/billing/Billing.ts';
import type { Catalog as _millrace_billing_Catalog, Catalog__Output as _millrace_billing_Catalog__Output } from './millrace/billing/Catalog.ts';
import type { CatalogModel as _millrace_billing_CatalogModel, CatalogModel__Output as _millrace_billing_CatalogModel__Output } from './millrace/billing/CatalogModel.ts';
import type { Extend as _millrace_billing_Extend, Extend__Output as _millrace_billing_Extend__Output } from './millrace/billing/Extend.ts';
import type { Generation as _millrace_billing_Generation, Generation__Output as _millrace_billing_Generation__Output } from './millrace/billing/Generation.ts';
import type { HoldAnswer as _millrace_billing_HoldAnswer, HoldAnswer__Output as _millrace_billing_HoldAnswer__Output } from './millrace/billing/HoldAnswer.ts';
import type { Key as _millrace_billing_Key, Key__Output as _millrace_billing_Key__Output } from './millrace/billing/Key.ts';
import type { KeyChanges as _millrace_billing_KeyChanges, KeyChanges__Output as _millrace_billing_KeyChanges__Output } from './millrace/billing/KeyChanges.ts';
import type { KeyModels as _millrace_billing_KeyModels, KeyModels__Output as _millrace_billing_KeyModels__Output } from './millrace/billing/KeyModels.ts';
import type { KeyRefusal as _millrace_billing_KeyRefusal, KeyRefusal__Output as _millrace_billing_KeyRefusal__Output } from './millrace/billing/KeyRefusal.ts';
import type { KeySettings as _millrace_billing_KeySettings, KeySettings__Output as _millrace_billing_KeySettings__Output } from './millrace/billing/KeySettings.ts';
import type { KeyState as _millrace_billing_KeyState, KeyState__Output as _millrace_billing_KeyState__Output } from './millrace/billing/KeyState.ts';
import type { KeyUsage as _millrace_billing_KeyUsage, KeyUsage__Output as _millrace_billing_KeyUsage__Output } from './millrace/billing/KeyUsage.ts';
import type { ListAccountKeysRequest as _millrace_billing_ListAccountKeysRequest, ListAccountKeysRequest__Output as _millrace_billing_ListAccountKeysRequest__Output } from './millrace/billing/ListAccountKeysRequest.ts';
import type { ListAccountKeysResponse as _millrace_billing_ListAccountKeysResponse, ListAccountKeysResponse__Output as _millrace_billing_ListAccountKeysResponse__Output } from './millrace/billing/ListAccountKeysResponse.ts';
import type { ListGenerationsRequest as _millrace_billing_ListGenerationsRequest, ListGenerationsRequest__Output as _millrace_billing_ListGenerationsRequest__Output } from './millrace/billing/ListGenerationsRequest.ts';
import type { ListGenerationsResponse as _millrace_billing_ListGenerationsResponse, ListGenerationsResponse__Output as _millrace_billing_ListGenerationsResponse__Output } from './millrace/billing/ListGenerationsResponse.ts';
import type { LookUpKeyRequest as _millrace_billing_LookUpKeyRequest, LookUpKeyRequest__Output as _millrace_billing_LookUpKeyRequest__Output } from './millrace/billing/LookUpKeyRequest.ts';
import type { LookUpKeyResponse as _millrace_billing_LookUpKeyResponse, LookUpKeyResponse__Output as _millrace_billing_LookUpKeyResponse__Output } from './millrace/billing/LookUpKeyResponse.ts';
import type { ManageKeyRequest as _millrace_billing_ManageKeyRequest, ManageKeyRequest__Output as _millrace_billing_ManageKeyRequest__Output } from './millrace/billing/ManageKeyRequest.ts';
import type { ManageKeyResponse as _millrace_billing_ManageKeyResponse, ManageKeyResponse__Output as _millrace_billing_ManageKeyResponse__Output } from './millrace/billing/ManageKeyResponse.ts';
import type { MoneyCall as _millrace_billing_MoneyCall, MoneyCall__Output as _millrace_billing_MoneyCall__Output } from './millrace/billing/MoneyCall.ts';
import type { MoneyCalls as _millrace_billing_MoneyCalls, MoneyCalls__Output as _millrace_billing_MoneyCalls__Output } from './millrace/billing/MoneyCalls.ts';
import type { MoneyFailure as _millrace_billing_MoneyFailure, MoneyFailure__Output as _millrace_billing_MoneyFailure__Output } from './millrace/billing/MoneyFailure.ts';
import type { MoneyReplies as _millrace_billing_MoneyReplies, MoneyReplies__Output as _millrace_billing_MoneyReplies__Output } from './millrace/billing/MoneyReplies.ts';
import type { MoneyReply as _millrace_billing_MoneyReply, MoneyReply__Output as _millrace_billing_MoneyReply__Output } from './millrace/billing/MoneyReply.ts';
import type { ReadActivityRequest as _millrace_billing_ReadActivityRequest, ReadActivityRequest__Output as _millrace_billing_ReadActivityRequest__Output } from './millrace/billing/ReadActivityRequest.ts';
import type { ReadActivityResponse as _millrace_billing_ReadActivityResponse, ReadActivityResponse__Output as _millrace_billing_ReadActivityResponse__Output } from './millrace/billing/ReadActivityResponse.ts';
import type { ReadGenerationRequest as _millrace_billing_ReadGenerationRequest, ReadGenerationRequest__Output as _millrace_billing_ReadGenerationRequest__Output } from './millrace/billing/ReadGenerationRequest.ts';
import type { ReadGenerationResponse as _millrace_billing_ReadGenerationResponse, ReadGenerationResponse__Output as _millrace_billing_ReadGenerationResponse__Output } from './millrace/billing/ReadGenerationResponse.ts';
import type { ReadKeyRequest as _millrace_billing_ReadKeyRequest, ReadKeyRequest__Output as _millrace_billing_ReadKeyRequest__Output } from './millrace/billing/ReadKeyRequest.ts';
import type { ReadKeyResponse as _millrace_billing_ReadKeyResponse, ReadKeyResponse__Output as _millrace_billing_ReadKeyResponse__Output } from './millrace/billing/ReadKeyResponse.ts';
import type { Release as _millrace_billing_Release, Release__Output as _millrace_billing_Release__Output } from './millrace/billing/Release.ts';
import type { ReleaseAnswer as _millrace_billing_ReleaseAnswer, ReleaseAnswer__Output as _millrace_billing_ReleaseAnswer__Output } from './millrace/billing/ReleaseAnswer.ts';
import type { Replace as _millrace_billing_Replace, Replace__Output as _millrace_billing_Replace__Output } from './millrace/billing/Replace.ts';
import type { Reserve as _millrace_billing_Reserve, Reserve__Output as _millrace_billing_Reserve__Output } from './millrace/billing/Reserve.ts';
import type { WatchCatalogRequest as _millrace_billing_WatchCatalogRequest, WatchCatalogRequest__Output as _millrace_billing_WatchCatalogRequest__Output } from './millrace/billing/WatchCatalogRequest.ts';
import type { WatchKeysRequest as _millrace_billing_WatchKeysRequest, WatchKeysRequest__Output as _millrace_billing_WatchKeysRequest__Output } from './millrace/billing/WatchKeysRequest.ts';

type SubtypeConstructor<Constructor extends new (...args: any) => any, Subtype> = {
  new(...args: ConstructorParameters<Constructor>): Subtype;
};

export interface ProtoGrpcType {
  millrace: {
    billing: {
      AccountKey: MessageTypeDefinition<_millrace_billing_AccountKey, _millrace_billing_AccountKey__Output>
      Activity: MessageTypeDefinition<_millrace_billing_Activity, _millrace_billing_Activity__Output>
      Billing: SubtypeConstructor<typeof grpc.Client, _millrace_billing_BillingClient> & { service: _millrace_billing_BillingDefinition }
      Catalog: MessageTypeDefinition<_millrace_billing_Catalog, _millrace_billing_Catalog__Output>
      CatalogModel: MessageTypeDefinition<_millrace_billing_CatalogModel, _millrace_billing_CatalogModel__Output>
      Extend: MessageTypeDefinition<_millrace_billing_Extend, _millrace_billing_Extend__Output>
      Generation: MessageTypeDefinition<_millrace_billing_Generation, _millrace_billing_Generation__Output>
      HoldAnswer: MessageTypeDefinition<_millrace_billing_HoldAnswer, _millrace_billing_HoldAnswer__Output>
      Key: MessageTypeDefinition<_millrace_billing_Key, _millrace_billing_Key__Output>
      KeyChanges: MessageTypeDefinition<_millrace_billing_KeyChanges, _millrace_billing_KeyChanges__Output>
      KeyModels: MessageTypeDefinition<_millrace_billing_KeyModels, _millrace_billing_KeyModels__Output>
      KeyRefusal: MessageTypeDefinition<_millrace_billing_KeyRefusal, _millrace_billing_KeyRefusal__Output>
      KeySettings: MessageTypeDefinition<_millrace_billing_KeySettings, _millrace_billing_KeySettings__Output>
      KeyState: MessageTypeDefinition<_millrace_billing_KeyState, _millrace_billing_KeyState__Output>
      KeyUsage: MessageTypeDefinition<_millrace_billing_KeyUsage, _millrace_billing_KeyUsage__Output>
      ListAccountKeysRequest: MessageTypeDefinition<_millrace_billing_ListAccountKeysRequest, _millrace_billing_ListAccountKeysRequest__Output>
      ListAccountKeysResponse: MessageTypeDefinition<_millrace_billing_ListAccountKeysResponse, _millrace_billing_ListAccountKeysResponse__Output>
      ListGenerationsRequest: MessageTypeDefinition<_millrace_billing_ListGenerationsRequest, _millrace_billing_ListGenerationsRequest__Output>
      ListGenerationsResponse: MessageTypeDefinition<_millrace_billing_ListGenerationsResponse, _millrace_billing_ListGenerationsResponse__Output>
      LookUpKeyRequest: MessageTypeDefinition<_millrace_billing_LookUpKeyRequest, _millrace_billing_LookUpKeyRequest__Output>
      LookUpKeyResponse: MessageTypeDefinition<_millrace_billing_LookUpKeyResponse, _millrace_billing_LookUpKeyResponse__Output>
      ManageKeyRequest: MessageTypeDefinition<_millrace_billing_ManageKeyRequest, _millrace_billing_ManageKeyRequest__Output>
      ManageKeyResponse: MessageTypeDefinition<_millrace_billing_ManageKeyResponse, _millrace_billing_ManageKeyResponse__Output>
      MoneyCall: MessageTypeDefinition<_millrace_billing_MoneyCall, _millrace_billing_MoneyCall__Output>
      MoneyCalls: MessageTypeDefinition<_millrace_billing_MoneyCalls, _millrace_billing_MoneyCalls__Output>
      MoneyFailure: MessageTypeDefinition<_millrace_billing_MoneyFailure, _millrace_billing_MoneyFailure__Output>
      MoneyReplies: MessageTypeDefinition<_millrace_billing_MoneyReplies, _millrace_billing_MoneyReplies__Output>
      MoneyReply: MessageTypeDefinition<_millrace_billing_MoneyReply, _millrace_billing_MoneyReply__Output>
      ReadActivityRequest: MessageTypeDefinition<_millrace_billing_ReadActivityRequest, _millrace_billing_ReadActivityRequest__Output>
      ReadActivityResponse: MessageTypeDefinition<_millrace_billing_ReadActivityResponse, _millrace_billing_ReadActivityResponse__Output>
      ReadGenerationRequest: MessageTypeDefinition<_millrace_billing_ReadGenerationRequest, _millrace_billing_ReadGenerationRequest__Output>
      ReadGenerationResponse: MessageTypeDefinition<_millrace_billing_ReadGenerationResponse, _millrace_billing_ReadGenerationResponse__Output>
      ReadKeyRequest: MessageTypeDefinition<_millrace_billing_ReadKeyRequest, _millrace_billing_ReadKeyRequest__Output>
      ReadKeyResponse: MessageTypeDefinition<_millrace_billing_ReadKeyResponse, _millrace_billing_ReadKeyResponse__Output>
      Release: MessageTypeDefinition<_millrace_billing_Release, _millrace_billing_Release__Output>
      ReleaseAnswer: MessageTypeDefinition<_millrace_billing_ReleaseAnswer, _millrace_billing_ReleaseAnswer__Output>
      Replace: MessageTypeDefinition<_millrace_billing_Replace, _millrace_billing_Replace__Output>
      Reserve: MessageTypeDefinition<_millrace_billing_Reserve, _millrace_billing_Reserve__Output>
      WatchCatalogRequest: MessageTypeDefinition<_millrace_billing_WatchCatalogRequest, _millrace_billing_WatchCatalogRequest__Output>
      WatchKeysRequest: MessageTypeDefinition<_millrace_billing_WatchKeysRequest, _millrace_billing_WatchKeysRequest__Output>
    }
  }
}

