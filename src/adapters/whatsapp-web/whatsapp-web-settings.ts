/** Settings of numbers linked as WhatsApp Web, as defined in connections/connection-kinds.ts. */
export type WhatsappWebSettings = {
  readonly accept_notice?: boolean
  readonly linking?: 'qr' | 'code'
  readonly client_version?: string
  readonly websocket_url?: string
}
