import type { Endpoint } from '../../platform/http/endpoint.ts'
import type { Services } from '../../services.ts'
import { accountRoutes } from './account/routes.ts'
import { applicationRoutes } from './applications/routes.ts'
import { callRoutes } from './calls/routes.ts'
import { credentialRoutes } from './credentials.ts'
import { lookupRoutes } from './lookup/routes.ts'
import { messageRoutes } from './messages/routes.ts'
import { numberRoutes } from './numbers/routes.ts'
import { recordingRoutes } from './recordings/routes.ts'
import { streamRoutes } from './streams/routes.ts'

/** The endpoints of the interface; none if a setting turns it off. */
const compatRoutes = (services: Services): Endpoint[] =>
  services.config.compat === 'off'
    ? []
    : [
        ...accountRoutes(services),
        ...messageRoutes(services),
        ...callRoutes(services),
        ...recordingRoutes(services),
        ...streamRoutes(services),
        ...applicationRoutes(services),
        ...numberRoutes(services),
        ...lookupRoutes(services),
      ]

/** The endpoints of the interface in the shape of Twilio, and those of its credentials. */
export const twilioRoutes = (services: Services): Endpoint[] => [
  ...credentialRoutes(services),
  ...compatRoutes(services),
]
