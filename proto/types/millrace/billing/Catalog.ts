// Original file: proto/billing.proto

import type { CatalogModel as _millrace_billing_CatalogModel, CatalogModel__Output as _millrace_billing_CatalogModel__Output } from '../../millrace/billing/CatalogModel.ts';
import type { Long } from '@grpc/proto-loader';

export interface Catalog {
  'version'?: (number | string | Long);
  'models'?: (_millrace_billing_CatalogModel)[];
}

export interface Catalog__Output {
  'version': (string);
  'models': (_millrace_billing_CatalogModel__Output)[];
}
