/** Options of one call. */
export type CallOptions = {
  readonly signal?: AbortSignal
  readonly timeoutMs?: number
  readonly maxRetries?: number
  /** Key under which the server performs the request once. Default: a new key for each call, kept over its retries. */
  readonly idempotencyKey?: string
  readonly headers?: Readonly<Record<string, string>>
}

/** Content of a file to upload. */
export type FileContent = Blob | ArrayBuffer | Uint8Array<ArrayBuffer> | string

/** A file from the server: read it with `arrayBuffer()`, `blob()`, `text()` or `body`. */
export type FileResponse = Response
