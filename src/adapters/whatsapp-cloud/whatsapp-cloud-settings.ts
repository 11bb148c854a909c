/** Settings of a WhatsApp business account on the Cloud API, as defined in connections/connection-kinds.ts. */
export type WhatsappCloudSettings = {
  readonly business_account_id: string
  readonly access_token: string
  readonly app_secret: string
  readonly verify_token: string
  readonly base_url?: string
  readonly version?: string
}

/** Base URL of every request. */
export const graphOf = ({
  base_url = 'https://graph.facebook.com',
  version = 'v21.0',
}: Pick<WhatsappCloudSettings, 'base_url' | 'version'>): string => `${base_url.replace(/\/+$/, '')}/${version}`
