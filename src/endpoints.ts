import { accountRoutes } from './domains/accounts/routes.ts'
import { applicationRoutes } from './domains/applications/routes.ts'
import { auditRoutes } from './domains/audit/routes.ts'
import { callerRoutes } from './domains/callers/routes.ts'
import { clipRoutes } from './domains/calls/clips/routes.ts'
import { callOrderRoutes } from './domains/calls/orders/routes.ts'
import { callRoutes } from './domains/calls/routes.ts'
import { connectionRoutes } from './domains/connections/routes.ts'
import { duplicateRoutes } from './domains/contacts/duplicates/routes.ts'
import { contactFileRoutes } from './domains/contacts/files/routes.ts'
import { contactPictureRoutes } from './domains/contacts/pictures/routes.ts'
import { contactRoutes } from './domains/contacts/routes.ts'
import { deviceRoutes } from './domains/devices/routes.ts'
import { documentRoutes } from './domains/documents/routes.ts'
import { eventLogRoutes } from './domains/events/log/routes.ts'
import { healthRoutes } from './domains/health/routes.ts'
import { bulkRoutes } from './domains/inbox/bulk/routes.ts'
import { draftRoutes } from './domains/inbox/drafts/routes.ts'
import { conversationMessageRoutes } from './domains/inbox/messages/routes.ts'
import { noteRoutes } from './domains/inbox/notes/routes.ts'
import { replyRoutes } from './domains/inbox/replies/routes.ts'
import { inboxRoutes } from './domains/inbox/routes.ts'
import { tagRoutes } from './domains/inbox/tags/routes.ts'
import { teamRoutes } from './domains/inbox/team/routes.ts'
import { viewRoutes } from './domains/inbox/views/routes.ts'
import { jobRoutes } from './domains/jobs/routes.ts'
import { ownLedgerRoutes } from './domains/ledger/own-routes.ts'
import { ledgerRoutes } from './domains/ledger/routes.ts'
import { mailRoutes } from './domains/mail/routes.ts'
import { channelRoutes } from './domains/msgapp/channels/routes.ts'
import { checkRoutes } from './domains/msgapp/checks/routes.ts'
import { deadLetterRoutes } from './domains/msgapp/dead-letters/routes.ts'
import { groupRoutes } from './domains/msgapp/groups/routes.ts'
import { uploadRoutes } from './domains/msgapp/media/uploads.ts'
import { messageRoutes } from './domains/msgapp/messages/routes.ts'
import { pictureRoutes } from './domains/msgapp/pictures/routes.ts'
import { messageTimelineRoutes } from './domains/msgapp/timeline/routes.ts'
import { importRoutes } from './domains/numbers/imports/routes.ts'
import { inventoryRoutes } from './domains/numbers/operator/routes.ts'
import { pricingRoutes } from './domains/numbers/pricing/routes.ts'
import { registrationRoutes } from './domains/numbers/registration/routes.ts'
import { numberRoutes } from './domains/numbers/routes.ts'
import { numberTimelineRoutes } from './domains/numbers/timeline/routes.ts'
import { operatorRoutes } from './domains/operators/routes.ts'
import { personRoutes } from './domains/persons/routes.ts'
import { possessionRoutes } from './domains/possession/routes.ts'
import { priceRoutes } from './domains/prices/routes.ts'
import { pushRoutes } from './domains/push/routes.ts'
import { requestRoutes } from './domains/requests/routes.ts'
import { callSandboxRoutes } from './domains/sandbox/handsets/call-routes.ts'
import { chatSandboxRoutes } from './domains/sandbox/handsets/chat-routes.ts'
import { sandboxRoutes } from './domains/sandbox/routes.ts'
import { triggerRoutes } from './domains/sandbox/trigger/routes.ts'
import { searchRoutes } from './domains/search/routes.ts'
import { optOutRoutes } from './domains/sms/opt-outs/routes.ts'
import { unparsedReceiptRoutes } from './domains/sms/receipts/routes.ts'
import { smsRoutes } from './domains/sms/routes.ts'
import { sendingRoutes } from './domains/sms/sendings/routes.ts'
import { smsTimelineRoutes } from './domains/sms/timeline/routes.ts'
import { tokenRoutes } from './domains/tokens/routes.ts'
import { usageRoutes } from './domains/usage/routes.ts'
import { userRoutes } from './domains/users/routes.ts'
import { webhookEndpointRoutes } from './domains/webhooks/endpoints/routes.ts'
import { eventTypeRoutes } from './domains/webhooks/event-types/routes.ts'
import { webhookHistoryRoutes } from './domains/webhooks/history/routes.ts'
import { webhookRoutes } from './domains/webhooks/routes.ts'
import { eventDocuments } from './event-payloads.ts'
import { twilioRoutes } from './interfaces/twilio/routes.ts'
import type { Endpoint } from './platform/http/endpoint.ts'
import type { Services } from './services.ts'

/** Returns all contracts with their handlers. */
export const makeEndpoints = (services: Services): Endpoint[] => [
  ...accountRoutes(services),
  ...possessionRoutes(services),
  ...operatorRoutes(services),
  ...auditRoutes(services),
  ...jobRoutes(services),
  ...personRoutes(services),
  ...pushRoutes(services),
  ...mailRoutes(services),
  ...userRoutes(services),
  ...tokenRoutes(services),
  ...deviceRoutes(services),
  ...numberRoutes(services),
  ...numberTimelineRoutes(services),
  ...documentRoutes(services),
  ...registrationRoutes(services),
  ...importRoutes(services),
  ...inventoryRoutes(services),
  ...pricingRoutes(services),
  ...smsRoutes(services),
  ...sendingRoutes(services),
  ...smsTimelineRoutes(services),
  ...unparsedReceiptRoutes(services),
  ...optOutRoutes(services),
  ...callerRoutes(services),
  ...callRoutes(services),
  ...callOrderRoutes(services),
  ...applicationRoutes(services),
  ...clipRoutes(services),
  ...contactRoutes(services),
  ...duplicateRoutes(services),
  ...contactPictureRoutes(services),
  ...contactFileRoutes(services),
  ...inboxRoutes(services),
  ...messageRoutes(services),
  ...messageTimelineRoutes(services),
  ...conversationMessageRoutes(services),
  ...noteRoutes(services),
  ...tagRoutes(services),
  ...replyRoutes(services),
  ...viewRoutes(services),
  ...draftRoutes(services),
  ...bulkRoutes(services),
  ...teamRoutes(services),
  ...uploadRoutes(services),
  ...checkRoutes(services),
  ...groupRoutes(services),
  ...pictureRoutes(services),
  ...webhookRoutes(services),
  ...eventLogRoutes(services),
  ...searchRoutes(services),
  ...channelRoutes(services),
  ...deadLetterRoutes(services),
  ...ledgerRoutes(services),
  ...ownLedgerRoutes(services),
  ...usageRoutes(services),
  ...webhookEndpointRoutes(services),
  ...webhookHistoryRoutes(services),
  ...eventTypeRoutes(eventDocuments),
  ...requestRoutes(services),
  ...priceRoutes(services),
  ...connectionRoutes(services),
  ...(services.config.sandbox
    ? [
        ...sandboxRoutes(services),
        ...callSandboxRoutes(services),
        ...chatSandboxRoutes(services),
        ...triggerRoutes(services),
      ]
    : []),
  ...twilioRoutes(services),
  ...healthRoutes(services),
]
