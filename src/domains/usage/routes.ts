import type { Endpoint } from '../../platform/http/endpoint.ts'
import type { Services } from '../../services.ts'
export const usageRoutes = (_services: Services): Endpoint[] => []
