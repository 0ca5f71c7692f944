// Original file: proto/billing.proto


export interface WatchCatalogRequest {
}

export interface WatchCatalogRequest__Output {
}
