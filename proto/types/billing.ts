import type * as grpc from '@grpc/grpc-js';
import type { MessageTypeDefinition } from '@grpc/proto-loader';

import type { AskRequest as _millrace_billing_AskRequest, AskRequest__Output as _millrace_billing_AskRequest__Output } from './millrace/billing/AskRequest.ts';
import type { AskResponse as _millrace_billing_AskResponse, AskResponse__Output as _millrace_billing_AskResponse__Output } from './millrace/billing/AskResponse.ts';
import type { BillingClient as _millrace_billing_BillingClient, BillingDefinition as _millrace_billing_BillingDefinition } from './millrace/billing/Billing.ts';
import type { Catalog as _millrace_billing_Catalog, Catalog__Output as _millrace_billing_Catalog__Output } from './millrace/billing/Catalog.ts';
import type { CatalogModel as _millrace_billing_CatalogModel, CatalogModel__Output as _millrace_billing_CatalogModel__Output } from './millrace/billing/CatalogModel.ts';
import type { Extend as _millrace_billing_Extend, Extend__Output as _millrace_billing_Extend__Output } from './millrace/billing/Extend.ts';
import type { HoldAnswer as _millrace_billing_HoldAnswer, HoldAnswer__Output as _millrace_billing_HoldAnswer__Output } from './millrace/billing/HoldAnswer.ts';
import type { Key as _millrace_billing_Key, Key__Output as _millrace_billing_Key__Output } from './millrace/billing/Key.ts';
import type { KeyChanges as _millrace_billing_KeyChanges, KeyChanges__Output as _millrace_billing_KeyChanges__Output } from './millrace/billing/KeyChanges.ts';
import type { KeyModels as _millrace_billing_KeyModels, KeyModels__Output as _millrace_billing_KeyModels__Output } from './millrace/billing/KeyModels.ts';
import type { LookUpKeyRequest as _millrace_billing_LookUpKeyRequest, LookUpKeyRequest__Output as _millrace_billing_LookUpKeyRequest__Output } from './millrace/billing/LookUpKeyRequest.ts';
import type { LookUpKeyResponse as _millrace_billing_LookUpKeyResponse, LookUpKeyResponse__Output as _millrace_billing_LookUpKeyResponse__Output } from './millrace/billing/LookUpKeyResponse.ts';
import type { MoneyCall as _millrace_billing_MoneyCall, MoneyCall__Output as _millrace_billing_MoneyCall__Output } from './millrace/billing/MoneyCall.ts';
import type { MoneyCalls as _millrace_billing_MoneyCalls, MoneyCalls__Output as _millrace_billing_MoneyCalls__Output } from './millrace/billing/MoneyCalls.ts';
import type { MoneyFailure as _millrace_billing_MoneyFailure, MoneyFailure__Output as _millrace_billing_MoneyFailure__Output } from './millrace/billing/MoneyFailure.ts';
import type { MoneyReplies as _millrace_billing_MoneyReplies, MoneyReplies__Output as _millrace_billing_MoneyReplies__Output } from './millrace/billing/MoneyReplies.ts';
import type { MoneyReply as _millrace_billing_MoneyReply, MoneyReply__Output as _millrace_billing_MoneyReply__Output } from './millrace/billing/MoneyReply.ts';
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
      AskRequest: MessageTypeDefinition<_millrace_billing_AskRequest, _millrace_billing_AskRequest__Output>
      AskResponse: MessageTypeDefinition<_millrace_billing_AskResponse, _millrace_billing_AskResponse__Output>
      Billing: SubtypeConstructor<typeof grpc.Client, _millrace_billing_BillingClient> & { service: _millrace_billing_BillingDefinition }
      Catalog: MessageTypeDefinition<_millrace_billing_Catalog, _millrace_billing_Catalog__Output>
      CatalogModel: MessageTypeDefinition<_millrace_billing_CatalogModel, _millrace_billing_CatalogModel__Output>
      Extend: MessageTypeDefinition<_millrace_billing_Extend, _millrace_billing_Extend__Output>
      HoldAnswer: MessageTypeDefinition<_millrace_billing_HoldAnswer, _millrace_billing_HoldAnswer__Output>
      Key: MessageTypeDefinition<_millrace_billing_Key, _millrace_billing_Key__Output>
      KeyChanges: MessageTypeDefinition<_millrace_billing_KeyChanges, _millrace_billing_KeyChanges__Output>
      KeyModels: MessageTypeDefinition<_millrace_billing_KeyModels, _millrace_billing_KeyModels__Output>
      LookUpKeyRequest: MessageTypeDefinition<_millrace_billing_LookUpKeyRequest, _millrace_billing_LookUpKeyRequest__Output>
      LookUpKeyResponse: MessageTypeDefinition<_millrace_billing_LookUpKeyResponse, _millrace_billing_LookUpKeyResponse__Output>
      MoneyCall: MessageTypeDefinition<_millrace_billing_MoneyCall, _millrace_billing_MoneyCall__Output>
      MoneyCalls: MessageTypeDefinition<_millrace_billing_MoneyCalls, _millrace_billing_MoneyCalls__Output>
      MoneyFailure: MessageTypeDefinition<_millrace_billing_MoneyFailure, _millrace_billing_MoneyFailure__Output>
      MoneyReplies: MessageTypeDefinition<_millrace_billing_MoneyReplies, _millrace_billing_MoneyReplies__Output>
      MoneyReply: MessageTypeDefinition<_millrace_billing_MoneyReply, _millrace_billing_MoneyReply__Output>
      Release: MessageTypeDefinition<_millrace_billing_Release, _millrace_billing_Release__Output>
      ReleaseAnswer: MessageTypeDefinition<_millrace_billing_ReleaseAnswer, _millrace_billing_ReleaseAnswer__Output>
      Replace: MessageTypeDefinition<_millrace_billing_Replace, _millrace_billing_Replace__Output>
      Reserve: MessageTypeDefinition<_millrace_billing_Reserve, _millrace_billing_Reserve__Output>
      WatchCatalogRequest: MessageTypeDefinition<_millrace_billing_WatchCatalogRequest, _millrace_billing_WatchCatalogRequest__Output>
      WatchKeysRequest: MessageTypeDefinition<_millrace_billing_WatchKeysRequest, _millrace_billing_WatchKeysRequest__Output>
    }
  }
}

