/** Settings of a WhatsApp business account at the Cloud API, as connections/kinds.ts has them. */
export type WhatsappCloudSettings = {
  readonly business_account_id: string
  readonly access_token: string
  readonly app_secret: string
  readonly verify_token: string
  readonly base_url?: string
  readonly version?: string
}

/** The address that every call begins with. */
export const graphOf = ({
  base_url = 'https://graph.facebook.com',
  version = 'v21.0',
}: Pick<WhatsappCloudSettings, 'base_url' | 'version'>): string => `${base_url.replace(/\/+$/, '')}/${version}`
