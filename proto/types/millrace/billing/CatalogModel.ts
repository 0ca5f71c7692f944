// Original file: proto/billing.proto

import type { Long } from '@grpc/proto-loader';

export interface _millrace_billing_CatalogModel_Embedding {
  'dimensions'?: (number);
  'matryoshka'?: (boolean);
}

export interface _millrace_billing_CatalogModel_Embedding__Output {
  'dimensions': (number);
  'matryoshka': (boolean);
}

export interface CatalogModel {
  'id'?: (string);
  'createdS'?: (number | string | Long);
  'ownedBy'?: (string);
  'kind'?: (string);
  'contextWindow'?: (number);
  'maxOutput'?: (number);
  'tools'?: (boolean);
  'reasoning'?: (boolean);
  'defaultEffort'?: (string);
  'inputPriceNano'?: (number | string | Long);
  'cachedInputPriceNano'?: (number | string | Long);
  'outputPriceNano'?: (number | string | Long);
  'enabled'?: (boolean);
  'embedding'?: (_millrace_billing_CatalogModel_Embedding | null);
  'fixedState'?: (string);
}

export interface CatalogModel__Output {
  'id': (string);
  'createdS': (string);
  'ownedBy': (string);
  'kind': (string);
  'contextWindow': (number);
  'maxOutput': (number);
  'tools': (boolean);
  'reasoning': (boolean);
  'defaultEffort': (string);
  'inputPriceNano': (string);
  'cachedInputPriceNano': (string);
  'outputPriceNano': (string);
  'enabled': (boolean);
  'embedding': (_millrace_billing_CatalogModel_Embedding__Output | null);
  'fixedState': (string);
}
