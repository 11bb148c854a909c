export type Patch = {
  readonly version?: { readonly version?: { toString(): string } | number | null } | null
  readonly mutations: readonly {
    readonly operation?: number | null
    readonly record: {
      readonly index: { readonly blob: Uint8Array }
      readonly value: { readonly blob: Uint8Array }
      readonly keyId: { readonly id: Uint8Array }
    }
  }[]
  readonly snapshotMac: Uint8Array
  readonly patchMac: Uint8Array
  readonly keyId: { readonly id: Uint8Array }
}

export type Action = {
  readonly index: Uint8Array
  readonly value?: { readonly contactAction?: Contact | null } | null
}

export type Contact = { readonly fullName?: string | null; readonly firstName?: string | null }
