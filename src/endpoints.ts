import { accountRoutes } from './accounts/routes.ts'
import { auditRoutes } from './audit/routes.ts'
import { callerRoutes } from './callers/routes.ts'
import { callRoutes } from './calls/routes.ts'
import { connectionRoutes } from './connections/routes.ts'
import { contactFileRoutes } from './contacts/files/routes.ts'
import { contactRoutes } from './contacts/routes.ts'
import { deviceRoutes } from './devices/routes.ts'
import { documentRoutes } from './documents/routes.ts'
import { eventRoutes } from './events/routes.ts'
import { healthRoutes } from './health/routes.ts'
import type { Endpoint } from './http/endpoint.ts'
import { ledgerRoutes } from './ledger/routes.ts'
import { asideRoutes } from './msgapp/aside/routes.ts'
import { channelRoutes } from './msgapp/channels/routes.ts'
import { checkRoutes } from './msgapp/checks/routes.ts'
import { groupRoutes } from './msgapp/groups/routes.ts'
import { messageRoutes } from './msgapp/messages/routes.ts'
import { pictureRoutes } from './msgapp/pictures/routes.ts'
import { importRoutes } from './numbers/imports/routes.ts'
import { stockRoutes } from './numbers/operator/routes.ts'
import { pricingRoutes } from './numbers/pricing/routes.ts'
import { registrationRoutes } from './numbers/registration-routes.ts'
import { numberRoutes } from './numbers/routes.ts'
import { operatorRoutes } from './operators/routes.ts'
import type { Parts } from './parts.ts'
import { possessionRoutes } from './possession/routes.ts'
import { priceRoutes } from './prices/routes.ts'
import { callSandboxRoutes } from './sandbox/call-routes.ts'
import { chatSandboxRoutes } from './sandbox/chat-routes.ts'
import { sandboxRoutes } from './sandbox/routes.ts'
import { smsRoutes } from './sms/routes.ts'
import { tokenRoutes } from './tokens/routes.ts'
import { userRoutes } from './users/routes.ts'
import { webhookRoutes } from './webhooks/routes.ts'

/** Every contract with the function that fulfils it. */
export const makeEndpoints = (parts: Parts): Endpoint[] => [
  ...accountRoutes(parts),
  ...possessionRoutes(parts),
  ...operatorRoutes(parts),
  ...auditRoutes(parts),
  ...userRoutes(parts),
  ...tokenRoutes(parts),
  ...deviceRoutes(parts),
  ...numberRoutes(parts),
  ...documentRoutes(parts),
  ...registrationRoutes(parts),
  ...importRoutes(parts),
  ...stockRoutes(parts),
  ...pricingRoutes(parts),
  ...smsRoutes(parts),
  ...callerRoutes(parts),
  ...callRoutes(parts),
  ...contactRoutes(parts),
  ...contactFileRoutes(parts),
  ...messageRoutes(parts),
  ...checkRoutes(parts),
  ...groupRoutes(parts),
  ...pictureRoutes(parts),
  ...webhookRoutes(parts),
  ...channelRoutes(parts),
  ...asideRoutes(parts),
  ...ledgerRoutes(parts),
  ...priceRoutes(parts),
  ...connectionRoutes(parts),
  ...(parts.config.sandbox
    ? [...sandboxRoutes(parts), ...callSandboxRoutes(parts), ...chatSandboxRoutes(parts), ...eventRoutes(parts)]
    : []),
  ...healthRoutes(parts),
]
