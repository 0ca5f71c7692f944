// Original file: proto/billing.proto

import type { Long } from '@grpc/proto-loader';

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
}
