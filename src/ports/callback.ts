/** A request of an external system to our callback address. */
export type Callback = {
  readonly method: string
  /** The address as the external system has it: under our public URL, with the query. */
  readonly url: string
  /** IP address of the sender; the one that trusted proxies state. */
  readonly address: string
  readonly query: { readonly [name: string]: string }
  readonly headers: { readonly [name: string]: string | undefined }
  /** The body as received, unparsed. */
  readonly raw: Buffer
}

/** The reply to it. 401: the request is not genuine. */
export type CallbackReply = { readonly status: number; readonly body: string }
